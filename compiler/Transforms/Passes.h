// Passes over the gpt2 dialect.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_COMPILER_TRANSFORMS_PASSES_H
#define GPT2C_COMPILER_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::gpt2c {

/// What `--precision` takes.
enum class Precision { FP32, TF32, FP16, BF16 };

/// What `--remat` takes.
enum class RematMode { None, Block, Auto };

#define GEN_PASS_DECL
#include "compiler/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Passes.h.inc"

} // namespace mlir::gpt2c

#endif // GPT2C_COMPILER_TRANSFORMS_PASSES_H
