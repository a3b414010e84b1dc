//===- RunDirectory.h - The checkpoints of a run ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// RUN/checkpoint-STEP is a Hugging Face model directory (model.safetensors in
// F32, config.json, the tokenizer's files) with two files more:
// optimizer.safetensors (NAME.exp_avg, NAME.exp_avg_sq) and trainer.json. It
// is written under a hidden name, synced and renamed, so one that can be seen
// is whole, whatever happened meanwhile; an error leaves nothing behind.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Executor.h"
#include "runtime/Train/Parameters.h"
#include "runtime/Train/TrainerState.h"

namespace gpt2rt {

/// A small file that goes along with the weights.
struct ModelFile {
  std::string name, text;
};

/// config.json, as it has to be beside the weights that a run saves, and the
/// tokenizer's files of the model directory `source`. Without one (""), it is
/// the plan's config.json alone. Read once, for the directory may be a
/// checkpoint that the run itself removes later.
Result<std::vector<ModelFile>> readModelFiles(const Plan &plan,
                                              const std::string &source);

/// The parts of a plan and its device that checkpoints hold.
struct TrainedModel {
  Executor *executor;
  std::vector<Parameter> parameters;
  std::vector<ModelFile> files;
};

/// Writes RUN/checkpoint-STEP and gives its path.
Result<std::string> saveCheckpoint(const std::string &run,
                                   const TrainedModel &model,
                                   const TrainerState &state);

/// Removes all but the newest `keep` checkpoints, and what a killed process
/// left half-written.
Status pruneCheckpoints(const std::string &run, uint64_t keep);

struct FoundCheckpoint {
  std::string path;
  TrainerState state;
  /// Newer ones that are not complete, and why, a line each.
  std::vector<std::string> refused;
};

/// The steps of RUN's checkpoints, in rising order.
std::vector<uint64_t> checkpointSteps(const std::string &run);

/// The newest complete checkpoint. Fails where there is none, saying why the
/// newest is none.
Result<FoundCheckpoint> findCheckpoint(const std::string &run);

/// Copies the moments of a checkpoint into the plan's buffers.
Status restoreMoments(const std::string &checkpoint, const TrainedModel &model);

} // namespace gpt2rt
