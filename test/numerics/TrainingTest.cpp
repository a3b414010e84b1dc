//===- TrainingTest.cpp - Training plans against PyTorch ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiles the models of test/numerics/training for training on the CPU in
// fp32, feeds them the batches that PyTorch had, and compares every loss, norm,
// gradient and final parameter. The same for shared/models/variants/train, or
// "train" in the folder that GPT2_VARIANTS names.
//
//===----------------------------------------------------------------------===//
#include "TrainingRun.h"
#include "UnfusedPlan.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>

using namespace gpt2rt;
using namespace gpt2test;

namespace {

constexpr double tolerance = 1e-4;

std::string folderOf(const std::string &name) {
  if (name != "shared")
    return GPT2_SOURCE_DIR "/test/numerics/training/" + name;
  const char *variants = std::getenv("GPT2_VARIANTS");
  return std::string(variants ? variants : GPT2_SHARED_VARIANTS) + "/train";
}

class Training : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    std::string folder = folderOf(GetParam());
    if (!std::filesystem::is_directory(folder))
      GTEST_SKIP() << folder << " is not here";
    auto loaded = TrainingReference::load(folder);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    reference = std::move(*loaded);
    auto checkpoint = Checkpoint::open(folder);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    if (!checkpoint->find("transformer.h.0.attn.c_attn.bias"))
      GTEST_SKIP() << folder << "/model.safetensors lacks "
                   << "h.0.attn.c_attn.bias, so its reference cannot be "
                      "reproduced";
  }
  TrainingReference reference;
};

INSTANTIATE_TEST_SUITE_P(, Training,
                         testing::Values("tied", "untied", "shared"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

/// |ours - theirs| over |theirs|, both Euclidean, of elements [begin, end).
double relativeDistance(const std::vector<float> &ours,
                        const std::vector<float> &theirs, size_t begin,
                        size_t end) {
  double distance = 0, size = 0;
  for (size_t i = begin; i < end; ++i) {
    distance += std::pow(double(ours[i]) - theirs[i], 2);
    size += std::pow(double(theirs[i]), 2);
  }
  return std::sqrt(distance / size);
}

/// A key bias adds the same to all scores of a query, which softmax takes out
/// again: its gradient is zero but for rounding, and AdamW divides what is left
/// of it by its own size. Keys are the middle third of c_attn.bias.
struct KeyBias {
  KeyBias(const Parameter &parameter, size_t size) {
    if (parameter.name.ends_with("attn.c_attn.bias")) {
      begin = size / 3;
      end = 2 * begin;
    }
  }
  size_t begin = 0, end = 0;
};

void expectNear(const std::string &what, const std::vector<float> &ours,
                const std::vector<float> &theirs, const KeyBias &noise) {
  ASSERT_EQ(ours.size(), theirs.size()) << what;
  if (noise.end == 0) {
    EXPECT_LE(relativeDistance(ours, theirs, 0, ours.size()), tolerance)
        << what;
    return;
  }
  EXPECT_LE(relativeDistance(ours, theirs, 0, noise.begin), tolerance) << what;
  EXPECT_LE(relativeDistance(ours, theirs, noise.end, ours.size()), tolerance)
      << what;
}

void checkGradients(TrainingRun &run, const TrainingReference &reference) {
  for (const Parameter &p : run.parameters()) {
    std::vector<float> ours = run.read(p, ".grad");
    std::vector<float> theirs = reference.tensor("grad0." + p.name);
    KeyBias noise(p, ours.size());
    expectNear("gradient of " + p.name, ours, theirs, noise);
    double size = 0;
    for (float g : theirs)
      size += double(g) * g;
    for (size_t i = noise.begin; i < noise.end; ++i)
      EXPECT_LE(std::fabs(ours[i]), tolerance * std::sqrt(size)) << p.name;
  }
}

void checkParameters(TrainingRun &run, const TrainingReference &reference) {
  // AdamW moves an element by at most its rate a step, whatever the gradient;
  // the correction of the moments adds less than a thousandth to that.
  double reach = 0;
  for (double rate : reference.rates)
    reach += 1.001 * rate;
  for (const Parameter &p : run.parameters()) {
    std::vector<float> ours = run.read(p);
    KeyBias noise(p, ours.size());
    expectNear(p.name, ours, reference.tensor("final." + p.name), noise);
    if (noise.end == 0)
      continue;
    std::vector<float> initial = reference.initial(p.name);
    for (size_t i = noise.begin; i < noise.end; ++i)
      EXPECT_LE(std::fabs(ours[i] - initial[i]), reach) << p.name;
  }
}

TEST_P(Training, EqualsPyTorch) {
  TrainingRun run(reference, compileTraining(reference));
  ASSERT_TRUE(run.ok());
  for (uint32_t step = 0; step < reference.steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    run.beginStep(step);
    run.accumulate(step);
    if (step == 0)
      checkGradients(run, reference);
    StepOutcome outcome = run.update();
    double loss = outcome.lossSum / double(reference.scored(step));
    EXPECT_NEAR(loss, reference.losses[step],
                tolerance * reference.losses[step]);
    EXPECT_NEAR(outcome.gradNorm, reference.norms[step],
                tolerance * reference.norms[step]);
    EXPECT_FALSE(outcome.skipped);
  }
  checkParameters(run, reference);
}

TEST_P(Training, AllocatesWhatItPredicts) {
  TrainingRun run(reference, compileTraining(reference));
  ASSERT_TRUE(run.ok());
  uint64_t predicted = 0;
  for (const ArenaUse &use : run.memory().arenas) {
    EXPECT_EQ(use.predicted, use.allocated) << use.name;
    predicted += use.predicted;
  }
  EXPECT_EQ(predicted, run.plan().totalBytes());
}

/// The state after some steps.
TrainingSnapshot train(const TrainingReference &reference,
                       const std::string &plan, int threads, uint32_t steps) {
  TrainingRun run(reference, plan, threads);
  if (!run.ok())
    return {};
  for (uint32_t step = 0; step < steps; ++step)
    run.step(step);
  return run.snapshot();
}

// Dropout, so that masks are compared, too.
constexpr const char *dropout = "--dropout=0.2 ";

TEST_P(Training, TwoThreadsGiveTheBitsOfOne) {
  std::string plan = compileTraining(reference, dropout);
  EXPECT_TRUE(train(reference, plan, 1, 4) == train(reference, plan, 2, 4));
}

TEST_P(Training, DropoutChangesTheSteps) {
  EXPECT_FALSE(train(reference, compileTraining(reference), 1, 1) ==
               train(reference, compileTraining(reference, dropout), 1, 1));
}

uint64_t plannedBytes(const std::string &plan) {
  auto loaded = Plan::load(plan);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? loaded->totalBytes() : 0;
}

TEST_P(Training, RecomputationGivesTheBitsOfKeeping) {
  std::string flags = dropout;
  std::string all = compileTraining(reference, flags);
  std::string block = compileTraining(reference, flags + "--remat=block");
  uint64_t most = plannedBytes(all), least = plannedBytes(block);
  ASSERT_LT(least, most);
  uint64_t between = least + (most - least) / 2;
  std::string budget = compileTraining(
      reference, flags + "--memory-budget=" + std::to_string(between));
  EXPECT_LE(plannedBytes(budget), between);
  TrainingSnapshot kept = train(reference, all, 1, 4);
  EXPECT_TRUE(kept == train(reference, block, 1, 4));
  EXPECT_TRUE(kept == train(reference, budget, 1, 4));
}

uint64_t instructions(const std::string &plan) {
  auto loaded = Plan::load(plan);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? loaded->program(*loaded->findProgram("accumulate"))
                           .instructions()
                           ->size()
                     : 0;
}

TEST_P(Training, FusionGivesTheBitsOfSingleOps) {
  std::string fused = compileTraining(reference, dropout);
  std::string unfused = testing::TempDir() + "/unfused-" + GetParam() + ".plan";
  ASSERT_EQ(compileUnfused(reference.folder, reference.batch, reference.tokens,
                           0.2, unfused),
            "");
  EXPECT_LT(instructions(fused), instructions(unfused));
  EXPECT_TRUE(train(reference, fused, 1, 4) == train(reference, unfused, 1, 4));
}

TEST_P(Training, GoesOnFromASnapshotBitForBit) {
  std::string plan = compileTraining(reference, dropout);
  TrainingSnapshot halfway = train(reference, plan, 1, 3);
  TrainingRun resumed(reference, plan);
  ASSERT_TRUE(resumed.ok());
  // A step of its own, of which nothing may be left.
  resumed.step(5);
  resumed.restore(halfway);
  for (uint32_t step = 3; step < 6; ++step)
    resumed.step(step);
  EXPECT_TRUE(resumed.snapshot() == train(reference, plan, 1, 6));
}

} // namespace
