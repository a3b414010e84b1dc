//===- TestRun.h - A run on the fake executor -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Train/InitialWeights.h"
#include "runtime/Train/TextDataset.h"
#include "runtime/Train/Trainer.h"
#include "test/unit/Train/FakeTrainExecutor.h"
#include "test/unit/Train/TrainSupport.h"

namespace gpt2rt::test {

/// A run that can be stopped, broken and started again.
class TestRun {
public:
  explicit TestRun(const TempDir &data, uint32_t batch = 2,
                   fb::Precision precision = fb::Precision::FP32,
                   std::vector<uint32_t> shorter = {})
      : plan(smallTrainPlan(batch, precision, std::move(shorter))),
        executor(plan) {
    config.steps = 20;
    config.lr = 1e-2;
    config.warmup = 3;
    config.accumulate = 2;
    config.saveEvery = 4;
    config.seed = 5;
    for (const char *name : {"a.bin", "b.bin"})
      shards.push_back(data.write(
          name, shardOf(countingTokens(61, name[0] == 'a' ? 0 : 500))));
    executor.beforeUpdate = [this](uint64_t update) {
      if (stopAt && update + 1 == stopAt)
        stop = SIGTERM;
    };
  }

  /// Trains in `run`, from its newest checkpoint where there is one.
  Status train(const TempDir &run) {
    GPT2_ASSIGN_OR_RETURN(TokenShards data, TokenShards::open(shards, 4, 100));
    return trainOn(run, data, validate ? &data : nullptr);
  }
  Status trainOn(const TempDir &run, Dataset &data, Dataset *validation) {
    bool resume = !checkpointSteps(run.path()).empty();
    TrainerSetup setup;
    setup.plan = &plan;
    setup.executor = &executor;
    setup.config = config;
    setup.run = run.path();
    GPT2_ASSIGN_OR_RETURN(setup.files, readModelFiles(plan, ""));
    setup.train = &data;
    setup.validation = validation;
    setup.hooks.onStep = [this](const StepReport &r) {
      reports.push_back(r);
      if (stopAfter == r.step)
        stop = SIGINT;
    };
    setup.hooks.onValidation = [this](uint64_t done, uint64_t all) {
      validated.emplace_back(done, all);
      if (done == stopInValidation)
        stop = SIGTERM;
    };
    setup.hooks.onSample = [this](const SampleReport &r) {
      samples.push_back(r);
    };
    std::optional<TextSampler> sampler;
    if (config.sampleEvery) {
      GPT2_ASSIGN_OR_RETURN(sampler,
                            TextSampler::create(plan, executor, settings));
      setup.sampler = &*sampler;
    }
    setup.hooks.onMessage = [this](auto &line) { messages += line + "\n"; };
    setup.hooks.stop = &stop;
    GPT2_ASSIGN_OR_RETURN(Trainer trainer, Trainer::create(std::move(setup)));
    if (!resume) {
      GPT2_ASSIGN_OR_RETURN(InitialWeights weights,
                            InitialWeights::make(plan, 1));
      GPT2_RETURN_IF_ERROR(executor.bindWeights(weights.checkpoint()));
    } else {
      GPT2_ASSIGN_OR_RETURN(FoundCheckpoint found, findCheckpoint(run.path()));
      GPT2_ASSIGN_OR_RETURN(Checkpoint weights, Checkpoint::open(found.path));
      GPT2_RETURN_IF_ERROR(executor.bindWeights(weights));
      GPT2_RETURN_IF_ERROR(trainer.resume(found));
    }
    return trainer.run();
  }

  Plan plan;
  FakeTrainExecutor executor;
  RunConfig config;
  std::vector<std::string> shards;
  uint64_t stopAt = 0;    // a SIGTERM comes during this step of the session
  uint64_t stopAfter = 0; // a SIGINT comes when this step is told of
  bool validate = false;
  uint64_t stopInValidation = UINT64_MAX; // a SIGTERM, at this micro-batch
  SampleSettings settings;
  std::vector<StepReport> reports;
  std::vector<std::pair<uint64_t, uint64_t>> validated;
  std::vector<SampleReport> samples;
  std::string messages;
  volatile std::sig_atomic_t stop = 0;
};

/// All bytes of a checkpoint's files.
inline std::map<std::string, std::string>
contents(const std::string &checkpoint) {
  std::map<std::string, std::string> files;
  for (auto &entry : std::filesystem::directory_iterator(checkpoint))
    files[entry.path().filename()] = *readTextFile(entry.path());
  EXPECT_EQ(files.size(), 4u);
  return files;
}

/// Documents of unequal length, as wide as the plan's rows.
inline TextDataset unevenTexts(const TempDir &dir) {
  TextOptions options;
  options.sequence = 4;
  options.vocab = 100;
  Tokenizer tokenizer = *Tokenizer::load(fixture("tokenizer/files"));
  return *TextDataset::load({dir.write("t.txt", "0123\n45\n678\n90\n12345\n"
                                                "3456\n78\n1234\n")},
                            tokenizer, options);
}

} // namespace gpt2rt::test
