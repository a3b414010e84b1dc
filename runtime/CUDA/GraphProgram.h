//===- GraphProgram.h - A program as a CUDA Graph ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/Steps.h"

#include <span>

namespace gpt2rt::cuda {

/// A few bytes of state that a program copies to the host as its last node, so
/// that reading them after a run costs no call to the driver.
struct HostCopy {
  CUdeviceptr from = 0;
  std::byte *to = nullptr; ///< page-locked
  uint64_t bytes = 0;
};

/// Captured once when the plan is loaded, then replayed.
class GraphProgram {
public:
  /// `runs`: of each step, the run of independent ones that it belongs to
  /// (findIndependentRuns). `copy` may be null.
  static Result<GraphProgram> capture(const Context &context,
                                      const Steps &steps,
                                      const std::vector<int> &runs,
                                      const HostCopy *copy);
  GraphProgram(GraphProgram &&other) noexcept;
  GraphProgram &operator=(GraphProgram &&) = delete;
  ~GraphProgram();

  Status launch() const;

private:
  explicit GraphProgram(const Context &context) : context(context) {}

  const Context &context;
  CUgraphExec executable = nullptr;
};

/// Puts steps on the stream one after another.
Status enqueueAll(const Context &context, const Steps &steps);

} // namespace gpt2rt::cuda
