//===- CUDACodegen.h - plan.kernel symbols to cubins ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Every plan.kernel of a plan module becomes one CUDA C++ translation unit:
// `row` and `matvec` kernels are printed from their regions, every other kind
// is a template (KernelTemplate.h). NVRTC compiles each for each architecture;
// no GPU is needed.
//
//===----------------------------------------------------------------------===//
#ifndef GPT2C_CODEGEN_CUDA_CUDACODEGEN_H
#define GPT2C_CODEGEN_CUDA_CUDACODEGEN_H

#include "compiler/Codegen/CompiledCode.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/LogicalResult.h"

namespace mlir::gpt2c {

struct CudaCodegenOptions {
  /// "sm_80", "sm_90", ...: each gets a cubin, the lowest also PTX.
  llvm::SmallVector<std::string> archs;
  /// Translation units that are compiled at the same time.
  unsigned threads = 2;
};

/// Compiles every kernel of the module. Errors (an unsupported kernel, no
/// NVRTC, NVRTC's own messages) are diagnostics on the kernel.
///
/// The PTX of an architecture below sm_90 holds no griddepcontrol.wait, so a
/// runtime that falls back to it must not use programmatic edges.
llvm::FailureOr<CompiledCode> compileForCuda(ModuleOp planModule,
                                             const CudaCodegenOptions &options);

/// The translation units of all kernels, one after another, for --emit=cuda.
/// A kernel that cannot be printed leaves a diagnostic and a comment.
std::string emitCudaSource(ModuleOp planModule);

} // namespace mlir::gpt2c

#endif // GPT2C_CODEGEN_CUDA_CUDACODEGEN_H
