//===- Unavailable.cpp - The CUDA target where it is not built ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Gpus.h"
#include "runtime/Device/Executor.h"

using namespace gpt2rt;

static Status notBuilt() {
  return unavailable("this gpt2-run was built without the CUDA backend: "
                     "install the CUDA toolkit's headers and build again, or "
                     "compile the plan with --target=cpu");
}

Result<std::unique_ptr<Executor>>
gpt2rt::createCudaExecutor(const Plan &, const ExecutorOptions &) {
  return notBuilt();
}

Result<GpuReport> gpt2rt::findGpus() { return notBuilt(); }
