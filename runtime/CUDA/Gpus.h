//===- Gpus.h - What GPUs this machine has ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// For `gpt2-run doctor` and messages. No CUDA header is needed to include it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"

#include <vector>

namespace gpt2rt {

struct GpuInfo {
  std::string name;
  std::string arch; ///< "sm_90"
  uint64_t bytes = 0;
  /// Operations a second at most: products of 16-bit numbers and of TF32 on
  /// tensor cores, and fp32. 0 where the GPU is not known.
  double peakLow = 0, peakTf32 = 0, peakFull = 0;
};

struct GpuReport {
  std::string driver; ///< Newest CUDA that the driver supports: "13.0".
  std::string cublas; ///< Empty where cuBLASLt can be loaded, else the problem.
  std::vector<GpuInfo> gpus;
};

/// Unavailable, with the reason, where plans for CUDA cannot run at all.
Result<GpuReport> findGpus();

} // namespace gpt2rt
