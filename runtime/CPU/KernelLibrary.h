//===- KernelLibrary.h - A plan's native kernels ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Plan/Plan.h"
#include "runtime/Support/UniqueFd.h"

#include <memory>
#include <vector>

namespace gpt2rt::cpu {

using KernelFunction = void (*)(void *const *buffers, int64_t rowBegin,
                                int64_t rowEnd);

/// The shared object of the best architecture that the plan carries and this
/// CPU runs, loaded from memory.
class KernelLibrary {
public:
  /// FailedPrecondition where the plan has no code for this CPU.
  static Result<KernelLibrary> load(const Plan &plan);

  KernelFunction kernel(uint32_t index) const { return functions[index]; }
  const std::string &arch() const { return level; }

private:
  struct Close {
    void operator()(void *handle) const;
  };

  /// Open as long as the library is: dlopen takes another one whose path in
  /// /proc is the same for one that it has loaded.
  UniqueFd file;
  std::unique_ptr<void, Close> handle; // null where the plan has no kernels
  std::vector<KernelFunction> functions;
  std::string level;
};

} // namespace gpt2rt::cpu
