//===- Kernels.h - The plan's machine code on a GPU -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/Context.h"
#include "runtime/Plan/Plan.h"

namespace gpt2rt::cuda {

/// A kernel of the plan, ready to launch.
struct LoadedKernel {
  CUfunction function = nullptr;
  unsigned blockThreads = 0;
  unsigned sharedBytes = 0;
  /// Its code waits for its predecessor by itself.
  bool waitsItself = false;
};

/// Every kernel of a plan, each in the best form that the device runs.
class Kernels {
public:
  /// FailedPrecondition, naming both sides, where the plan has no code for the
  /// device.
  static Result<std::unique_ptr<Kernels>> load(const Context &context,
                                               const Plan &plan);
  ~Kernels();
  Kernels(const Kernels &) = delete;
  Kernels &operator=(const Kernels &) = delete;

  const LoadedKernel &operator[](uint32_t index) const {
    return kernels[index];
  }

private:
  explicit Kernels(const Context &context) : context(context) {}
  Status loadKernel(const Plan &plan, const fb::Kernel &kernel);
  Result<CUmodule> loadModule(const Plan &plan, uint32_t index);

  const Context &context;
  std::vector<CUmodule> modules; // by the plan's index; null: not loaded
  std::vector<LoadedKernel> kernels;
};

} // namespace gpt2rt::cuda
