//===- TrainerState.h - Where a run stands ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What trainer.json of a checkpoint holds: with the weights and the moments
// beside it, all that a run needs to go on as if it had never stopped. Nothing
// in it depends on the clock, so two equal runs write equal files.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Plan/Plan.h"

namespace gpt2rt {

/// The parts of a plan that a checkpoint is bound to.
struct PlanIdentity {
  std::string target, precision;
  uint64_t batch = 0, sequence = 0;
  uint64_t layers = 0, width = 0, heads = 0, inner = 0, positions = 0,
           vocab = 0;
  std::vector<uint64_t> shorter; ///< other lengths of sequences, ascending
  /// A digest of the algorithms that `gpt2-run tune` wrote; empty without.
  std::string algorithms;

  static PlanIdentity of(const Plan &plan);
  /// "128, 256, 1024": all lengths of sequences.
  std::string describeLengths() const;
  bool operator==(const PlanIdentity &) const = default;
};

struct TrainerState {
  uint64_t step = 0; ///< steps behind us, applied or skipped
  uint64_t applied = 0, skipped = 0, skippedInRow = 0;
  uint64_t nextSample = 0; ///< position in the data's order
  uint64_t tokens = 0;     ///< labels trained on
  /// Of the scaler: the loss scale, and the finite steps since it changed.
  double lossScale = 1, finiteSteps = 0;
  std::vector<double> recentNorms; ///< of the outlier guard
  uint64_t seed = 0;
  std::string data; ///< Dataset::identity() and order
  PlanIdentity plan;
  std::optional<double> loss, valLoss; ///< the last ones
  std::string config;                  ///< configText() of the run

  bool operator==(const TrainerState &) const = default;
};

std::string trainerStateText(const TrainerState &state);

/// The inverse; `what` names the text in errors.
Result<TrainerState> parseTrainerState(std::string_view text,
                                       std::string_view what);

/// Whether a run of this plan may go on from a checkpoint of that one: the
/// model, precision and sequence must be the same.
Status checkSamePlan(const PlanIdentity &saved, const PlanIdentity &now);

} // namespace gpt2rt
