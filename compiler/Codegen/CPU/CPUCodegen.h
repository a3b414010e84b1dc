//===- CPUCodegen.h - Machine code of a plan for the CPU --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2_COMPILER_CODEGEN_CPU_CPUCODEGEN_H
#define GPT2_COMPILER_CODEGEN_CPU_CPUCODEGEN_H

#include "compiler/Codegen/CompiledCode.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::gpt2c {

struct CpuCodegenOptions {
  /// One shared object each: "x86-64-v3" (AVX2, FMA, F16C) or "x86-64-v4"
  /// (AVX-512). Both give the same results to the bit.
  std::vector<std::string> archs = {"x86-64-v3", "x86-64-v4"};
};

/// Architectures that `archs` may name.
ArrayRef<StringRef> getCpuArchs();

/// Compiles every plan.kernel of `plan`, which it leaves as it is. The shared
/// objects need no symbol from outside. Equal plans give equal bytes. Errors
/// are reported at the kernel or at the module.
FailureOr<CompiledCode> compileForCpu(ModuleOp plan,
                                      const CpuCodegenOptions &options = {});

/// Dialect interfaces and translations that the code generator needs; the
/// context that holds the plan must be made from `registry`.
void registerCpuCodegen(DialectRegistry &registry);

} // namespace mlir::gpt2c

#endif // GPT2_COMPILER_CODEGEN_CPU_CPUCODEGEN_H
