//===- CudaExecutor.h - An executor on a given driver -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/Driver.h"
#include "runtime/Device/Executor.h"

namespace gpt2rt::cuda {

struct BlasLtTable;

/// createCudaExecutor() with the driver given, which must outlive it, and
/// perhaps cuBLASLt's functions: tests bring some that need no GPU.
Result<std::unique_ptr<Executor>>
createExecutor(const Driver &driver, const Plan &plan, const ExecutorOptions &,
               const BlasLtTable *products = nullptr);

} // namespace gpt2rt::cuda
