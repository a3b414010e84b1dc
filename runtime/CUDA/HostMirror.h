//===- HostMirror.h - Host access to state buffers --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/GraphProgram.h"

#include <optional>

namespace gpt2rt::cuda {

/// Page-locked staging for write() and read(), and the copy of `tokens` that
/// programs leave on the host.
class HostMirror {
public:
  static Result<HostMirror> create(const Context &context, const Plan &plan,
                                   const DeviceArenas &arenas);

  /// The copy that a program which writes `tokens` ends with; null for others.
  const HostCopy *copyFor(const fb::Program &program) const;

  /// The stream is idle: staging is free, and `copied` says whether the last
  /// program left its tokens here.
  void afterRun(bool copied);

  Status write(uint32_t buffer, CUdeviceptr to, const void *data,
               uint64_t bytes);
  Status read(uint32_t buffer, uint64_t offset, CUdeviceptr from, void *data,
              uint64_t bytes);

private:
  HostMirror(const Context &context, const Plan &plan, PinnedMemory memory)
      : context(context), plan(plan), memory(std::move(memory)) {}
  /// Whether a buffer is the `tokens` slot or a prefix of it.
  bool isTokens(uint32_t buffer) const;

  const Context &context;
  const Plan &plan;
  PinnedMemory memory; // staging, then the tokens
  uint64_t used = 0;   // staging that copies in flight may still read
  std::optional<uint32_t> tokens;
  HostCopy tokensCopy;
  bool tokensValid = false;
};

} // namespace gpt2rt::cuda
