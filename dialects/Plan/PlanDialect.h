//===- PlanDialect.h - The plan dialect and its enums -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"

#include "dialects/Plan/PlanDialect.h.inc"
#include "dialects/Plan/PlanEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttrs.h.inc"

namespace mlir::plan {

// Attributes of the module that a plan is made from.
inline constexpr llvm::StringLiteral targetAttrName = "plan.target";
inline constexpr llvm::StringLiteral precisionAttrName = "plan.precision";
inline constexpr llvm::StringLiteral modeAttrName = "plan.mode";
inline constexpr llvm::StringLiteral batchAttrName = "plan.batch";
inline constexpr llvm::StringLiteral modelAttrName = "plan.model";
/// Most micro-batches (i64) of a training step; any number where absent.
inline constexpr llvm::StringLiteral maxAccumulationAttrName =
    "plan.max_accumulation";

} // namespace mlir::plan
