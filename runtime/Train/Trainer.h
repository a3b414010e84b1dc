//===- Trainer.h - The training loop ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs steps, validates, writes metrics and checkpoints, and stops where it is
// told to. The order of samples, dropout and the learning rate follow from the
// seed and from counters that a checkpoint holds, so a run that was stopped or
// killed goes on bit for bit.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Train/Metrics.h"
#include "runtime/Train/OutlierGuard.h"
#include "runtime/Train/RunConfig.h"
#include "runtime/Train/RunDirectory.h"
#include "runtime/Train/TextSampler.h"
#include "runtime/Train/TrainSession.h"

#include <csignal>
#include <functional>

namespace gpt2rt {

/// How the loop talks to whoever started it.
struct TrainerHooks {
  std::function<void(const StepReport &)> onStep;
  /// Skips, validations, checkpoints: a line each, without its end.
  std::function<void(const std::string &)> onMessage;
  /// Micro-batches of a validation: how many are done, and of how many.
  std::function<void(uint64_t done, uint64_t all)> onValidation;
  std::function<void(const SampleReport &)> onSample;
  /// Set by a signal handler to the signal's number: finish the step, save.
  const volatile std::sig_atomic_t *stop = nullptr;
};

struct TrainerSetup {
  const Plan *plan = nullptr;
  Executor *executor = nullptr; ///< with weights
  RunConfig config;
  std::string run;              ///< directory, which exists
  std::vector<ModelFile> files; ///< of every checkpoint
  Dataset *train = nullptr;
  Dataset *validation = nullptr;  ///< may be null
  TextSampler *sampler = nullptr; ///< may be null
  TrainerHooks hooks;
};

class Trainer {
public:
  static Result<Trainer> create(TrainerSetup setup);

  /// Goes on from a checkpoint whose weights the executor has: restores the
  /// moments and all counters. Fails where plan, data or seed are others.
  Status resume(const FoundCheckpoint &checkpoint);

  /// Trains until --steps, a stop, or an error. Where steps were made since
  /// the last checkpoint, one is written before it returns, unless the device
  /// itself failed.
  Status run();

  const TrainerState &state() const { return now; }

private:
  explicit Trainer(TrainerSetup setup, TrainSession session, Schedule schedule,
                   TrainedModel model)
      : setup(std::move(setup)), session(std::move(session)),
        schedule(schedule), model(std::move(model)),
        guard(this->setup.config.outlierGuard) {}

  Status loop(Loader &loader, MetricsLog &metrics);
  Status runStep(Loader &loader, StepReport &report);
  Result<StepOutcome> computeStep(Loader &loader, StepParams &params,
                                  StepReport &report);
  void countWork(const MicroBatch &batch, StepReport &report) const;
  void count(const StepOutcome &outcome, const StepParams &params);
  void explainSkip(const StepOutcome &outcome, const StepParams &params) const;
  void describe(StepReport &report, double seconds) const;
  /// Nothing where a stop came meanwhile.
  Result<std::optional<double>> validate();
  Status drawSamples(MetricsLog &metrics);
  /// Whether something that comes every so many steps, and last, is due.
  bool isDue(int64_t every) const {
    return now.step == static_cast<uint64_t>(setup.config.steps) ||
           (every && now.step % static_cast<uint64_t>(every) == 0);
  }
  Status save();
  Status saveAfter(const Status &error);
  bool stopped() const { return setup.hooks.stop && *setup.hooks.stop; }
  const char *stopName() const {
    return *setup.hooks.stop == SIGINT ? "SIGINT" : "SIGTERM";
  }
  void say(const std::string &line) const {
    if (setup.hooks.onMessage)
      setup.hooks.onMessage(line);
  }
  LoaderOptions loaderOptions() const;
  SampleOrder sampleOrder() const;
  std::string dataIdentity() const;

  TrainerSetup setup;
  TrainSession session;
  Schedule schedule;
  TrainedModel model;
  OutlierGuard guard;
  TrainerState now;
  uint64_t accumulate = 1;
  uint64_t firstStep = 0;  // steps behind this session
  uint64_t savedStep = 0;  // of the newest checkpoint
  double trainSeconds = 0; // of this session's steps
};

} // namespace gpt2rt
