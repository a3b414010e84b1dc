//===- CudaExecutor.h - An executor on a given driver -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/Driver.h"
#include "runtime/Device/Executor.h"

namespace gpt2rt::cuda {

/// createCudaExecutor() with the driver given, which must outlive it: tests
/// bring one that needs no GPU.
Result<std::unique_ptr<Executor>>
createExecutor(const Driver &driver, const Plan &plan, const ExecutorOptions &);

} // namespace gpt2rt::cuda
