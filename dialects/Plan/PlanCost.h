//===- PlanCost.h - What the op behind an instruction costs -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

namespace mlir::plan {

/// A dictionary of `key`, `rows`, `flops` and `bytes` at the first of the
/// instructions that an op becomes.
inline constexpr llvm::StringLiteral costAttrName = "plan.cost";

} // namespace mlir::plan
