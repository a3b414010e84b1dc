//===- PlanVerify.h - Checks that verifiers of ops share --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Plan/PlanOps.h"

namespace mlir::plan::detail {

MemRefType typeOf(Value buffer);

bool isFloat(Value buffer);

/// Checks that a named operand has a shape; -1 matches any size.
LogicalResult checkShape(Operation *op, StringRef what, Value buffer,
                         ArrayRef<int64_t> shape);

LogicalResult checkElementType(Operation *op, StringRef what, Value buffer,
                               Type type);

/// An optional i32 slot with one element.
LogicalResult checkSlot(Operation *op, StringRef what, Value buffer);

/// starts[batch]: the position of each sequence's first token.
LogicalResult checkStarts(Operation *op, Value starts, int64_t batch);

} // namespace mlir::plan::detail
