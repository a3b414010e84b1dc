//===- EvalBench.h - Speed of an evaluation ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Executor.h"

namespace gpt2rt {

/// Medians over the repeats, after one run that is not counted.
struct EvalBenchResult {
  uint32_t batch = 0, tokens = 0; ///< the plan's windows, and their length
  double seconds = 0;             ///< of one run of all windows
  double tokensPerSecond = 0;
  double meanLoss = 0;
  std::vector<InstructionTime> profile; ///< where asked for
};

/// Runs an evaluation plan over made-up tokens.
Result<EvalBenchResult> runEvalBench(const Plan &plan, Executor &executor,
                                     uint32_t repeats, bool profile);

} // namespace gpt2rt
