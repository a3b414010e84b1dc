//===- Passes.h - Passes that lower row kernels -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2_COMPILER_CODEGEN_CPU_PASSES_H
#define GPT2_COMPILER_CODEGEN_CPU_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::gpt2c {

#define GEN_PASS_DECL
#include "compiler/Codegen/CPU/Passes.h.inc"

/// plan.kernel ops of kind `row` to LLVM dialect functions with the runtime's
/// signature; what `gpt2c --target=cpu` runs.
void buildCpuKernelPipeline(OpPassManager &pm);

/// Makes the pipeline known as `cpu-kernels`.
void registerCpuKernelPipeline();

#define GEN_PASS_REGISTRATION
#include "compiler/Codegen/CPU/Passes.h.inc"

} // namespace mlir::gpt2c

#endif // GPT2_COMPILER_CODEGEN_CPU_PASSES_H
