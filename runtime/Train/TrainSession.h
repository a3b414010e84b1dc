//===- TrainSession.h - The state slots of a training plan ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// How a host drives `accumulate`, `update` and `validate`; the slots are
// described in docs/architecture.md. All decisions (clipping, skipping, the
// loss scale) fall on the device. A plan may have the first and the last for
// shorter sequences, too: the length of a micro-batch says which one runs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Executor.h"
#include "runtime/Train/Loader.h"

#include <array>

namespace gpt2rt {

/// AdamW's settings for one step.
struct StepParams {
  double learningRate = 0, weightDecay = 0, beta1 = 0, beta2 = 0, eps = 0;
  double maxNorm = 0;       ///< 0: no clipping
  double outlierLimit = 0;  ///< skip above this norm; 0: never
  uint64_t appliedStep = 1; ///< this step's number among the applied, from 1
  uint64_t scored = 0;      ///< labels of all micro-batches
};

/// What a step came to.
struct StepOutcome {
  double lossSum = 0;  ///< over all its labels
  double gradNorm = 0; ///< before clipping, without the loss scale
  bool skipped = false;
  double lossScale = 1, finiteSteps = 0; ///< after the step
};

class TrainSession {
public:
  /// Fails for plans of another mode. Both must outlive the session.
  static Result<TrainSession> create(const Plan &plan, Executor &executor);

  uint32_t batch() const { return sequences; }
  /// Tokens of the longest sequences.
  uint32_t tokens() const { return programs.back().tokens; }
  /// All lengths that the plan has programs for, ascending.
  std::vector<uint32_t> lengths() const;

  /// The scaler's state, and the counts of steps behind us.
  Status setState(double lossScale, double finiteSteps, uint64_t applied,
                  uint64_t skipped);
  /// The loss scale that a new run begins with.
  double initialLossScale() const;

  /// Seeds dropout: the seed of the run and the step's number.
  void seed(uint64_t runSeed, uint64_t step);
  Status beginStep(const StepParams &params);
  /// Forward and backward; `firstSample` counts the sequences of the step.
  Status accumulate(const MicroBatch &batch, uint64_t firstSample);
  Result<StepOutcome> update();

  /// The sum of a micro-batch's losses.
  Result<double> validate(const MicroBatch &batch);
  /// The sum of losses since the step or the validation's micro-batch began.
  Result<double> lossSum();

private:
  TrainSession(const Plan &plan, Executor &executor)
      : plan(&plan), executor(&executor) {}

  /// What runs sequences of one length.
  struct Programs {
    uint32_t tokens, accumulate, validate;
  };

  Status findPrograms();
  Result<Programs> programsFor(uint32_t accumulate) const;
  Result<Programs> programsFor(const MicroBatch &batch) const;
  Status findState();
  Status writeRows(const MicroBatch &batch);
  template <typename T, size_t N>
  Status writeSlot(uint32_t slot, const std::array<T, N> &values) {
    return executor->write(slot, 0, values.data(), sizeof(values));
  }

  const Plan *plan;
  Executor *executor;
  uint32_t sequences = 0, updateProgram = 0;
  std::vector<Programs> programs; // shortest first
  // Buffer indices of the state slots.
  uint32_t inputs = 0, targets = 0, order = 0, lossSumSlot = 0, stepParams = 0,
           rng = 0, trainState = 0;
  std::array<int32_t, 4> rngWords = {};
};

} // namespace gpt2rt
