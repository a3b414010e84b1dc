//===- GpuReserve.h - What a GPU holds beside a plan's arenas ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Measured on an H200 (143771 MiB by its data sheet): 616 MiB that the driver
// keeps before any process runs, 524 MiB for a process's context, and 12 MiB
// for the code and graphs of gpt2's training plan. `gpt2-run bench` and `train`
// print the last two. Smaller GPUs have smaller contexts.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpt2rt {

/// Code, graphs and libraries' kernels of any plan.
inline constexpr uint64_t codeReserveBytes = uint64_t(64) << 20;

/// All that is not left to arenas of a GPU that is sold as having `bytes`.
constexpr uint64_t gpuReserveBytes(uint64_t bytes) {
  constexpr uint64_t context = uint64_t(524) << 20;
  constexpr uint64_t mostOfDriver = uint64_t(616) << 20;
  // Of 12 and 24 GiB the driver keeps about a fiftieth.
  return std::min(bytes / 50, mostOfDriver) + context + codeReserveBytes;
}

} // namespace gpt2rt
