//===- StepBench.h - Speed of a training step -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Executor.h"

namespace gpt2rt {

/// Medians over the repeats, after one step that is not counted.
struct StepBenchResult {
  uint32_t batch = 0, tokens = 0; ///< sequences of a step, and their length
  double accumulateSeconds = 0;   ///< forward and backward
  double updateSeconds = 0;
  double stepSeconds = 0, tokensPerSecond = 0;
  /// Mean losses of all steps, in their order: every step learns the same
  /// tokens, so they fall.
  std::vector<double> losses;
  uint32_t skipped = 0; ///< steps whose gradients were not finite
  /// Where asked for: seconds by instruction.
  std::vector<InstructionTime> accumulateProfile, updateProfile;
};

/// Trains a plan's model on one made-up micro-batch, `repeats` + 1 steps.
Result<StepBenchResult> runStepBench(const Plan &plan, Executor &executor,
                                     uint32_t repeats, bool profile);

} // namespace gpt2rt
