//===- GpuKernel.h - One kernel on a GPU, checked and timed -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/CUDA/Templates/TemplateGeometry.h"
#include "runtime/CUDA/Timing.h"
#include "runtime/Support/Convert.h"
#include "test/gpu/KernelCases.h"

#include <functional>
#include <random>

namespace gpt2rt::gputest {

using mlir::gpt2c::cuda::LaunchShape;

/// Ends the program with the message: a test machine has no caller to tell.
void require(const Status &status);
template <typename T>
T require(Result<T> result) {
  require(result.status());
  return *std::move(result);
}

/// The GPU and the folder of cubins.
struct Bench {
  cuda::Context &context;
  std::string cubins;
  int failures = 0;

  /// Prints one line of the table and counts a failure.
  void report(const std::string &what, bool passed, const std::string &detail);
};

/// A device array that the host fills and reads back whole.
class DeviceArray {
public:
  DeviceArray(Bench &bench, std::span<const std::byte> bytes);
  template <typename T>
  DeviceArray(Bench &bench, const std::vector<T> &values)
      : DeviceArray(bench, std::as_bytes(std::span(values))) {}

  template <typename T>
  std::vector<T> read() const {
    std::vector<T> values(bytes / sizeof(T));
    readBytes(values.data());
    return values;
  }
  CUdeviceptr address() const { return memory.address(); }

private:
  void readBytes(void *to) const;

  Bench &bench;
  uint64_t bytes;
  cuda::DeviceMemory memory;
};

/// A loaded cubin with its one kernel.
class GpuKernel {
public:
  GpuKernel(Bench &bench, const KernelCase &kernelCase);
  /// The kernel `entry` of the cubin at `path`.
  GpuKernel(Bench &bench, const std::string &path, const std::string &entry);
  ~GpuKernel();
  GpuKernel(const GpuKernel &) = delete;

  using Arguments = std::vector<CUdeviceptr>;

  /// Runs once and waits.
  void run(const LaunchShape &shape, const Arguments &arguments, int rows);

  /// Median microseconds of one launch among `launches` in a graph with
  /// programmatic edges, launch i with the arguments that `of(i)` gives.
  double time(const LaunchShape &shape, int rows, int launches,
              const std::function<Arguments(int)> &of);

private:
  Bench &bench;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
};

/// Values as the element type stores them, and back.
std::vector<std::byte> encode(DType dtype, const std::vector<float> &values);
std::vector<float> decode(DType dtype, const std::vector<std::byte> &bytes);

/// N(0, 1) values, already rounded to the type.
std::vector<float> randomValues(DType dtype, size_t count, uint64_t seed);

/// What a correct kernel stays below: a rounding of the type that it multiplies
/// in (TrainingKernelChecks.cpp), and for f32 the error of ex2.approx.
double tolerance(DType dtype, bool tf32 = false);

mlir::gpt2c::cuda::AttentionShape shapeOf(const KernelCase &c);

/// Parts of a line of the table.
std::string percent(double error);
std::string microseconds(const char *what, double time);

void checkDecodeAttention(Bench &bench, const KernelCase &c);
void checkFlashAttention(Bench &bench, const KernelCase &c);
void checkCacheAppend(Bench &bench, const KernelCase &c);
void checkSample(Bench &bench, const KernelCase &c);
/// `c` is flash_forward's; runs the other two kernels of its kind as well.
void checkTraining(Bench &bench, const KernelCase &c);

} // namespace gpt2rt::gputest
