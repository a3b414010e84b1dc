//===- Branches.h - Kernels that may run side by side -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// An update is hundreds of small kernels that have nothing to do with one
// another: one after another, each would wait for the last block of the one
// before it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/Steps.h"
#include "runtime/Plan/Plan.h"

#include <span>

namespace gpt2rt::cuda {

/// Of each instruction, the run that it belongs to, numbered from 0: longest
/// stretches of kernels that write no byte which another one of them touches.
/// -1 for what is in none of at least `least` kernels.
std::vector<int> findIndependentRuns(const Plan &plan,
                                     const fb::Program &program, size_t least);

/// Streams beside the context's own, for a capture.
class Branches {
public:
  static Result<Branches> open(const Context &context);
  Branches(Branches &&other) noexcept = default;
  Branches &operator=(Branches &&) = delete;
  ~Branches();

  /// Puts kernels on all streams in turn; the context's waits for all of them.
  /// `isProgrammatic`: one may start before the one before it has ended.
  Status enqueue(std::span<const std::unique_ptr<Step>> kernels,
                 bool afterKernel, bool isProgrammatic);

private:
  explicit Branches(const Context &context) : context(context) {}
  /// Lets `to` go on when `from` is where it is now.
  Status join(CUstream from, CUstream to);

  const Context &context;
  std::vector<CUstream> streams;
  std::vector<CUevent> events;
};

} // namespace gpt2rt::cuda
