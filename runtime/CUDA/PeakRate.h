//===- PeakRate.h - Operations a second that a GPU can reach ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/Arch.h"
#include "runtime/Plan/Plan.h"

namespace gpt2rt::cuda {

/// What the driver says of a GPU.
struct GpuSpeed {
  std::string_view name; ///< "NVIDIA GeForce RTX 4090"
  Arch arch;
  int multiprocessors = 0;
  double clock = 0; ///< the highest, in Hz
};

/// Dense products with sums in fp32: on tensor cores, for fp32 on the others.
/// 0 for a GPU that is not in the table.
double peakFlops(const GpuSpeed &gpu, fb::Precision precision);

} // namespace gpt2rt::cuda
