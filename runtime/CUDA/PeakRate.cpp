//===- PeakRate.cpp - Operations a second that a GPU can reach ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Rate = multiprocessors * clock * operations of a multiprocessor and clock, a
// multiply-add being two. Sources: NVIDIA's whitepapers on the architectures
// (A100: 312 TFLOP/s of 108 at 1410 MHz; GA102: RTX 3090, 71 of 82 at 1695;
// AD102: RTX 4090, 165.2 of 128 at 2520; H100 SXM5: 989.4 of 132 at 1830, PCIe:
// 756 of 114 at 1620; RTX Blackwell: RTX 5090, 209.5 of 170 at 2407) and the
// CUDA C++ programming guide's table of fp32 instructions a clock. An sm_100
// issues one tcgen05.mma of 128x256x16 in 128 clocks; NVIDIA's own figure for
// B200, 2250, is at a clock that the driver does not tell.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/PeakRate.h"

using namespace gpt2rt;
using namespace gpt2rt::cuda;

namespace {

struct Rates {
  int major, minor;
  int low, tf32, full; ///< 16 bits and TF32 on tensor cores, fp32 elsewhere
  /// Tensor cores of these boards add up in fp32 at half the rate.
  bool halvesGeForce;
  /// The tensor cores' highest clock over the one that the driver tells.
  double tensorClock;
};

// H100's whitepaper has clocks of its own for tensor cores: 1830 where the
// others reach 1980 MHz (SXM5), and 1620 where they reach 1755 (PCIe).
constexpr double hopperTensorClock = 1830.0 / 1980.0;

constexpr Rates table[] = {
    {8, 0, 2048, 1024, 128, false, 1},
    {8, 6, 1024, 512, 256, true, 1},
    {8, 9, 1024, 512, 256, true, 1},
    {9, 0, 4096, 2048, 256, false, hopperTensorClock},
    {10, 0, 8192, 4096, 256, false, 1},
    {12, 0, 1024, 512, 256, true, 1},
};

double perClock(const Rates &rates, const GpuSpeed &gpu,
                fb::Precision precision) {
  if (precision == fb::Precision::FP32)
    return rates.full;
  bool isGeForce = gpu.name.find("GeForce") != std::string_view::npos;
  double rate = precision == fb::Precision::TF32 ? rates.tf32 : rates.low;
  return rate * rates.tensorClock *
         (rates.halvesGeForce && isGeForce ? 0.5 : 1);
}

} // namespace

double cuda::peakFlops(const GpuSpeed &gpu, fb::Precision precision) {
  for (const Rates &rates : table)
    if (rates.major == gpu.arch.major && rates.minor == gpu.arch.minor)
      return perClock(rates, gpu, precision) * gpu.multiprocessors * gpu.clock;
  return 0;
}
