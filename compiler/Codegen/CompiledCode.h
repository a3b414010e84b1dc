//===- CompiledCode.h - What a code generator hands over --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Both code generators return this; compiler/Target writes it into the plan's
// CodeModule and Kernel tables (runtime/Plan/plan.fbs) one to one.
//
//===----------------------------------------------------------------------===//
#ifndef GPT2C_CODEGEN_COMPILEDCODE_H
#define GPT2C_CODEGEN_COMPILEDCODE_H

#include <string>
#include <vector>

namespace mlir::gpt2c {

/// The values of gpt2rt::fb::CodeFormat.
enum class CodeFormat { Elf = 0, Cubin = 1, Ptx = 2 };

/// Machine code for one architecture: a shared object holding every kernel
/// (CPU) or a cubin or PTX text holding one (CUDA).
struct CodeModule {
  std::string arch; // "x86-64-v4", "sm_90", "sm_90a"
  CodeFormat format = CodeFormat::Elf;
  std::string bytes;
};

/// A kernel in one module and what the assembler said of it. The numbers are
/// zero for shared objects and PTX.
struct KernelImage {
  unsigned module = 0; // index into CompiledCode::modules
  unsigned registers = 0;
  unsigned staticSharedBytes = 0;
  unsigned spillBytes = 0; // local memory per thread
};

struct CompiledKernel {
  std::string name; // the plan.kernel's symbol and the entry's name
  std::vector<KernelImage> images;
  unsigned blockThreads = 0;       // CUDA
  unsigned dynamicSharedBytes = 0; // CUDA
  unsigned rowsGrain = 0;          // CPU: rows a call should at least get
};

struct CompiledCode {
  std::vector<CodeModule> modules;
  /// One for each plan.kernel, in the order of the plan module.
  std::vector<CompiledKernel> kernels;
};

} // namespace mlir::gpt2c

#endif // GPT2C_CODEGEN_COMPILEDCODE_H
