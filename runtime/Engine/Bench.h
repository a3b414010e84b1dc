//===- Bench.h - Speed of prefill and decode --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Engine/Session.h"

namespace gpt2rt {

struct BenchOptions {
  uint32_t batch = 1; ///< sequences at a time, at most the plan's batch
  uint32_t promptTokens = 512;
  uint32_t newTokens = 128;
  uint32_t repeats = 5;
  bool profile = false;
};

/// Medians over the repeats, after one run that is not counted.
struct BenchResult {
  double firstTokenSeconds = 0; ///< the first prefill of all, cold
  double prefillSeconds = 0;    ///< of all prompts
  double prefillTokensPerSecond = 0;
  double decodeStepSeconds = 0; ///< one token of every sequence
  double decodeTokensPerSecond = 0;
  /// With `profile`: seconds by instruction of one prefill chunk and of one
  /// decode step after the prompt.
  std::vector<InstructionTime> prefillProfile, decodeProfile;
};

Result<BenchResult> runBench(const Plan &plan, Executor &executor,
                             const BenchOptions &options);

} // namespace gpt2rt
