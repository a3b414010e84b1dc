//===- Profiler.h - Where a plan's time goes --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Executor.h"

namespace gpt2rt {

/// Instructions of one op at one shape; numbers are sums over all of them.
struct ProfileGroup {
  std::string what; ///< "row_kernel" or "a + b", or the product's sizes
  const fb::Cost *op = nullptr; ///< what the compiler says of it, if it does
  bool isMatmul = false, isRow = false;
  uint64_t count = 0; ///< ops
  double seconds = 0, flops = 0, bytes = 0;

  /// Seconds that it takes at least; 0 where the rates are not known.
  double floor(const DeviceRates &rates) const;
};

struct ProgramProfile {
  const fb::Program *program = nullptr;
  double replay = 0;                ///< seconds of the program run as a whole
  double seconds = 0;               ///< sum over instructions
  std::vector<ProfileGroup> groups; ///< longest first
};

/// Times every instruction of every program but `init`, medians over `repeats`
/// after one run that is not counted. Weights must be bound.
Result<std::vector<ProgramProfile>>
profilePlan(const Plan &plan, Executor &executor, unsigned repeats);

/// Rates that programs reach: of products, and of row kernels.
DeviceRates reachedRates(const std::vector<ProgramProfile> &profiles);

} // namespace gpt2rt
