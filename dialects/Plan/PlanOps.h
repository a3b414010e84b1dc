//===- PlanOps.h - Operations of the plan dialect ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Plan/PlanDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Plan/PlanInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.h.inc"

namespace mlir::plan {

/// Bytes of a buffer or row-major tensor with static shape.
int64_t bytesOf(ShapedType type);

/// "512x768xf32", for messages.
std::string shapeText(ShapedType type);

/// Where a memory effect of an instruction touches a buffer.
struct BufferAccess {
  OpOperand *operand;
  bool reads;
  bool writes;
};

/// The buffers an instruction touches, in operand order.
SmallVector<BufferAccess> getAccesses(InstructionOpInterface op);

} // namespace mlir::plan
