//===- FakeGpu.h - A CUDA driver that runs on host memory -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Device memory is host memory, graphs are lists of closures, and a kernel
// does what the test says. What it counts tells a leak or a needless call.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/Driver.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gpt2rt::test {

struct FakeLaunch {
  std::string kernel;
  unsigned grid[3];
  unsigned threads;
  bool programmatic;
  CUstream stream;
};

struct FakeGpu {
  // What the test sets.
  int major = 9, minor = 0;
  std::string name = "Fake GPU";
  uint64_t freeBytes = uint64_t(80) << 30;
  /// What a context takes; nothing: that cannot be seen.
  std::optional<uint64_t> contextBytes = std::nullopt;
  /// Milliseconds from one event to the next, beside what the work between
  /// them adds to `clock`.
  double tick = 2;
  /// Called when a launch is enqueued or captured; returns what it does when
  /// it runs. `arguments` are only valid during the call.
  std::function<std::function<void()>(const std::string &kernel,
                                      void **arguments)>
      onLaunch;

  // What the test looks at.
  std::vector<uint64_t> allocations; ///< sizes, in order
  std::map<void *, uint64_t> device; ///< live
  int pinned = 0, streams = 0, events = 0, modules = 0, graphs = 0,
      contexts = 0;
  std::vector<FakeLaunch> launches;
  double clock = 0; ///< milliseconds
  std::map<CUevent, double> times;
  int copiesToHost = 0, synchronizations = 0, graphLaunches = 0;

  /// A driver table over this object. One FakeGpu at a time.
  cuda::Driver driver();
  FakeGpu();
  ~FakeGpu();

  /// Runs or records work.
  void enqueue(std::function<void()> work);

  bool capturing = false;
  std::vector<std::function<void()>> recording;
};

} // namespace gpt2rt::test
