//===- Passes.h - Memory planning -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::gpt2c {

#define GEN_PASS_DECL
#include "compiler/Memory/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Memory/Passes.h.inc"

} // namespace mlir::gpt2c
