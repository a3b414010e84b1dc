//===- Nvrtc.h - The run-time compiler, loaded with dlopen ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2C_CODEGEN_CUDA_NVRTC_H
#define GPT2C_CODEGEN_CUDA_NVRTC_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::gpt2c {

/// What NVRTC made of one translation unit, or why it made nothing.
struct CudaBinary {
  std::string cubin;
  std::string ptx;
  unsigned registers = 0;
  unsigned staticSharedBytes = 0;
  /// Local memory per thread: spills and arrays with run-time indices.
  unsigned localBytes = 0;
  /// Empty on success; else one line, then NVRTC's own messages.
  std::string error;
};

/// Compiles `source` (one entry named `name`) for "sm_90" or "sm_90a". Equal
/// arguments give equal bytes. Results are kept for the life of the process;
/// threads may call it at the same time.
const CudaBinary &compileCudaSource(llvm::StringRef name,
                                    llvm::StringRef source,
                                    llvm::StringRef arch);

/// One translation unit for one architecture.
struct CudaJob {
  llvm::StringRef name;
  llvm::StringRef source;
  std::string arch;
  const CudaBinary *binary = nullptr; // set by compileCudaJobs
};

/// Runs compileCudaSource on every job, `threads` at a time.
void compileCudaJobs(llvm::MutableArrayRef<CudaJob> jobs, unsigned threads);

/// Empty where NVRTC can be loaded, else what is missing and how to get it.
std::string missingNvrtc();

} // namespace mlir::gpt2c

#endif // GPT2C_CODEGEN_CUDA_NVRTC_H
