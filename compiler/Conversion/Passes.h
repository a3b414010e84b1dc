//===- Passes.h - From the gpt2 dialect to the plan dialect -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Plan/PlanDialect.h"
#include "mlir/Pass/Pass.h"

namespace mlir::gpt2c {

#define GEN_PASS_DECL
#include "compiler/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Conversion/Passes.h.inc"

} // namespace mlir::gpt2c
