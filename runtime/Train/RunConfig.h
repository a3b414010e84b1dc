//===- RunConfig.h - How a model is trained ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The settings of a run, by the names that flags, --config files and the run's
// run.json share (--weight-decay is weight_decay in a file).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Train/Schedule.h"

#include <string>
#include <variant>
#include <vector>

namespace gpt2rt {

struct RunConfig {
  // Data
  std::string model; ///< directory; empty: random weights
  std::vector<std::string> data, val;
  double split = 0;
  int64_t maxLength = 0;
  bool randomWeights = false, noShuffle = false, groupByLength = false;
  int64_t seed = 42;
  // Length
  int64_t steps = 0;
  int64_t accumulate = 0, tokensPerStep = 0; ///< 0: follows from the other
  // Optimizer
  double lr = 3e-4, minLr = 0;
  std::string schedule = "cosine";
  int64_t warmup = 0, decaySteps = 0;
  double weightDecay = 0.1, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, clip = 1;
  // Guards
  double outlierGuard = 0;
  int64_t maxSkips = 25;
  // Validation and checkpoints
  int64_t valEvery = 250, valSteps = 20;
  int64_t saveEvery = 0, keep = 3;
  // Texts; a sampler's settings
  int64_t sampleEvery = 0;
  std::vector<std::string> samplePrompt;
  int64_t sampleTokens = 0; ///< 0: SampleSettings::defaultTokens, or room
  double sampleTemperature = 0.8, sampleTopP = 1;
  int64_t sampleTopK = 200, sampleSeed = 0;
};

/// One setting, for everything that goes over all of them.
struct ConfigField {
  const char *name;
  std::variant<std::string *, std::vector<std::string> *, double *, int64_t *,
               bool *>
      value;
  const char *help;

  /// "--weight-decay".
  std::string flag() const;
};
std::vector<ConfigField> configFields(RunConfig &config);

/// Sets what a JSON object names; unknown names and wrong types are errors.
/// `what` names the text.
Status readConfig(std::string_view text, std::string_view what,
                  RunConfig &config);

/// All settings as a JSON object.
std::string configText(const RunConfig &config);

/// Every number in its range, with the flag's name where it is not.
Status checkConfig(const RunConfig &config);

/// Micro-batches of a step, from --accumulate or --tokens-per-step and the
/// tokens of a micro-batch. Fails where the one does not divide the other.
Result<uint64_t> accumulationOf(const RunConfig &config, uint64_t batch,
                                uint64_t tokens);

/// The learning rates that the settings ask for.
Result<Schedule> scheduleOf(const RunConfig &config);

} // namespace gpt2rt
