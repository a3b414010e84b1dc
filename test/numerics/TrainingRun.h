//===- TrainingRun.h - A reference of PyTorch's training, and our run -----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Train/Parameters.h"
#include "runtime/Train/TrainSession.h"

#include <gtest/gtest.h>
#include <memory>

namespace gpt2test {

/// What PyTorch computed (make_training_references.py describes the file).
/// Copies of shared/models/variants/train are read, too.
struct TrainingReference {
  std::string folder;
  uint32_t steps = 0, microBatches = 0, batch = 0, tokens = 0;
  std::vector<int32_t> inputs,
      targets; ///< [steps, microBatches, batch, tokens]
  std::vector<double> rates, losses, norms;
  gpt2rt::StepParams adamw; ///< what all steps share
  gpt2rt::SafetensorsFile file;

  static gpt2rt::Result<TrainingReference> load(const std::string &folder);

  /// Labels that count in a step.
  uint64_t scored(uint32_t step) const;
  gpt2rt::MicroBatch microBatch(uint32_t step, uint32_t index) const;
  /// "grad0." or "final." and a parameter's name; fails the test without it.
  std::vector<float> tensor(const std::string &name) const;
  /// Where its weights were before the first step.
  std::vector<float> initial(const std::string &name) const;
};

/// Compiles the reference's model for its micro-batches with the gpt2c of this
/// build and returns the plan's path; empty, with a failure, if it cannot.
/// Equal calls compile once.
std::string compileTraining(const TrainingReference &reference,
                            const std::string &flags = "");

/// Everything that goes on from one step to the next.
struct TrainingSnapshot {
  std::vector<std::vector<std::byte>> globals; ///< values and moments
  std::array<float, 8> trainState = {};

  bool operator==(const TrainingSnapshot &) const = default;
};

/// A training plan on the CPU that is fed the reference's batches.
class TrainingRun {
public:
  /// Failures are of the test; `ok` says whether there is something to run.
  TrainingRun(const TrainingReference &reference, const std::string &plan,
              int threads = 1);
  bool ok() const { return session.has_value(); }

  void beginStep(uint32_t step) { beginStep(step, reference.scored(step)); }
  void accumulate(uint32_t step);
  /// The same for other micro-batches, with `scored` labels in all.
  void beginStep(uint32_t step, uint64_t scored);
  void accumulate(const gpt2rt::MicroBatch &batch, uint64_t firstSample);
  gpt2rt::StepOutcome update();
  /// All three.
  gpt2rt::StepOutcome step(uint32_t step);

  /// The sum of losses, forward alone.
  double validate(const gpt2rt::MicroBatch &batch);

  /// In the file's layout; `suffix` ".grad" for a gradient, "" for the value.
  std::vector<float> read(const gpt2rt::Parameter &parameter,
                          const std::string &suffix = "");
  /// The value, from the file's layout.
  void write(const gpt2rt::Parameter &parameter,
             const std::vector<float> &values);
  /// Over the labels since beginStep().
  double lossSum();
  const std::vector<gpt2rt::Parameter> &parameters() const { return trained; }
  const gpt2rt::Plan &plan() const { return *loaded; }
  gpt2rt::MemoryReport memory() const { return executor->memory(); }

  TrainingSnapshot snapshot();
  void restore(const TrainingSnapshot &snapshot);

private:
  std::vector<uint32_t> savedBuffers() const;
  uint32_t globalNamed(const std::string &name) const;

  const TrainingReference &reference;
  std::unique_ptr<gpt2rt::Plan> loaded; // the executor keeps its address
  std::unique_ptr<gpt2rt::Executor> executor;
  std::optional<gpt2rt::TrainSession> session;
  std::vector<gpt2rt::Parameter> trained;
  uint64_t applied = 0;
};

} // namespace gpt2test
