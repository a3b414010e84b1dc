//===- BothTargets.h - Kernels of one module on both targets ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2_TEST_UNIT_CODEGENCUDA_BOTHTARGETS_H
#define GPT2_TEST_UNIT_CODEGENCUDA_BOTHTARGETS_H

#include "HostKernels.h"
#include "test/unit/CodegenCPU/KernelHarness.h"

#include <optional>

namespace gpt2test {

/// One module, compiled for the CPU and printed as CUDA that runs on the host.
class BothTargets {
public:
  explicit BothTargets(const std::string &text);

  /// Runs `kernel` on both; the outputs have the shapes of `outputs`.
  void run(const std::string &kernel, Tensors inputs, const Tensors &outputs,
           int64_t rows);

  /// Equal bits; of a NaN only that both are.
  void expectEqualBits(const std::string &what) const;

  /// Equal bits in f32 outputs. In 16-bit ones CUDA may round another value of
  /// the last bits of f32: hardly any element then differs, by one unit.
  void expectEqualRounding(const std::string &what) const;

  Tensors onCuda, onCpu;

private:
  std::optional<HostKernels> cuda;
  std::optional<LoadedKernels> cpu;
};

} // namespace gpt2test

#endif // GPT2_TEST_UNIT_CODEGENCUDA_BOTHTARGETS_H
