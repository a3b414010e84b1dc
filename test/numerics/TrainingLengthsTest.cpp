//===- TrainingLengthsTest.cpp - Programs for shorter sequences -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A micro-batch of short texts gives the same losses, gradients and steps in a
// program for shorter sequences as padded in the whole one, dropout's masks
// included. Products and sums over rows have fewer terms there, in blocks of
// other sizes: in fp32 that is a relative rounding of 6e-8 a sum, of which the
// longest here have some hundred terms and stand some dozen behind another.
// 1e-5 leaves an order of magnitude above what was measured (1e-7 of a loss,
// 6e-7 of a gradient), and is far below what a mask, a row or a position of
// another place does.
//
//===----------------------------------------------------------------------===//
#include "TrainingRun.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace gpt2rt;
using namespace gpt2test;

namespace {

constexpr double tolerance = 1e-5;
constexpr uint32_t steps = 4;
constexpr uint32_t shorter[] = {8, 17};
const std::string flags = "--dropout=0.2 ";
const std::string buckets = flags + "--seq-buckets=8,17 ";

/// The first `kept` tokens of each sequence, in rows of `length`: what is
/// behind them is padding.
MicroBatch cut(const TrainingReference &reference, const MicroBatch &whole,
               uint32_t kept, uint32_t length) {
  MicroBatch micro;
  for (uint32_t row = 0; row < reference.batch * length; ++row) {
    uint32_t from = row / length * reference.tokens + row % length;
    bool isText = row % length < kept;
    micro.inputs.push_back(isText ? whole.inputs[from] : 0);
    micro.targets.push_back(isText ? whole.targets[from] : ignoredTarget);
  }
  micro.order.resize(micro.inputs.size());
  std::iota(micro.order.begin(), micro.order.end(), 0);
  std::stable_sort(
      micro.order.begin(), micro.order.end(),
      [&](int32_t a, int32_t b) { return micro.inputs[a] < micro.inputs[b]; });
  return micro;
}

/// Texts of 5, 13 and all tokens in turn, each in rows of its own length or all
/// in the longest.
std::vector<MicroBatch> textsOf(const TrainingReference &reference,
                                uint32_t step, bool padded) {
  uint32_t kept[] = {5, 13, reference.tokens};
  uint32_t lengths[] = {shorter[0], shorter[1], reference.tokens};
  std::vector<MicroBatch> texts;
  for (uint32_t i = 0; i < reference.microBatches; ++i) {
    uint32_t kind = (step + i) % 3;
    texts.push_back(cut(reference, reference.microBatch(step, i), kept[kind],
                        padded ? reference.tokens : lengths[kind]));
  }
  return texts;
}

void accumulate(TrainingRun &run, uint32_t step,
                const std::vector<MicroBatch> &texts, uint32_t batch) {
  uint64_t scored = 0;
  for (const MicroBatch &text : texts)
    scored += std::count_if(text.targets.begin(), text.targets.end(),
                            [](int32_t target) { return target >= 0; });
  run.beginStep(step, scored);
  for (uint32_t i = 0; i < texts.size(); ++i)
    run.accumulate(texts[i], i * batch);
}

double validate(TrainingRun &run, const std::vector<MicroBatch> &texts) {
  double sum = 0;
  for (const MicroBatch &text : texts)
    sum += run.validate(text);
  return sum;
}

class TrainingLengths : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    auto loaded = TrainingReference::load(
        std::string(GPT2_SOURCE_DIR "/test/numerics/training/") + GetParam());
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    reference = std::move(*loaded);
  }

  /// The state after some steps of a plan with programs for shorter sequences.
  TrainingSnapshot train(const std::string &plan, int threads = 1) {
    TrainingRun run(reference, plan, threads);
    if (!run.ok())
      return {};
    for (uint32_t step = 0; step < steps; ++step) {
      accumulate(run, step, textsOf(reference, step, /*padded=*/false),
                 reference.batch);
      run.update();
    }
    return run.snapshot();
  }

  TrainingReference reference;
};

INSTANTIATE_TEST_SUITE_P(, TrainingLengths, testing::Values("tied", "untied"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

void expectSameGradients(TrainingRun &ours, TrainingRun &theirs) {
  for (const Parameter &p : ours.parameters()) {
    std::vector<float> a = ours.read(p, ".grad"), b = theirs.read(p, ".grad");
    double distance = 0, size = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      distance += std::pow(double(a[i]) - b[i], 2);
      size += std::pow(double(b[i]), 2);
    }
    EXPECT_GT(size, 0) << p.name;
    EXPECT_LE(std::sqrt(distance / size), tolerance) << p.name;
  }
}

TEST_P(TrainingLengths, EqualPadding) {
  TrainingRun padded(reference, compileTraining(reference, flags));
  TrainingRun run(reference, compileTraining(reference, buckets));
  ASSERT_TRUE(padded.ok() && run.ok());
  for (uint32_t step = 0; step < steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    std::vector<MicroBatch> whole = textsOf(reference, step, true);
    std::vector<MicroBatch> texts = textsOf(reference, step, false);
    double theirLoss = validate(padded, whole), loss = validate(run, texts);
    EXPECT_NEAR(loss, theirLoss, tolerance * theirLoss);
    accumulate(padded, step, whole, reference.batch);
    accumulate(run, step, texts, reference.batch);
    if (step == 0)
      expectSameGradients(run, padded);
    StepOutcome theirs = padded.update(), ours = run.update();
    EXPECT_NEAR(ours.lossSum, theirs.lossSum, tolerance * theirs.lossSum);
    EXPECT_NEAR(ours.gradNorm, theirs.gradNorm, tolerance * theirs.gradNorm);
  }
}

TEST_P(TrainingLengths, AreDeterministicAndRecomputeBitForBit) {
  TrainingSnapshot once = train(compileTraining(reference, buckets));
  EXPECT_TRUE(once == train(compileTraining(reference, buckets), 2));
  std::string block = compileTraining(reference, buckets + "--remat=block");
  EXPECT_TRUE(once == train(block));
  EXPECT_FALSE(once == train(compileTraining(
                           reference, "--dropout=0.1 --seq-buckets=8,17")));
}

uint64_t activationsOf(const std::string &path) {
  auto plan = Plan::load(path);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? plan->arenaBytes(fb::ArenaKind::Activations) : 0;
}

TEST_P(TrainingLengths, ShareTheMemoryOfTheLongest) {
  std::string plan = compileTraining(reference, buckets);
  EXPECT_EQ(activationsOf(plan),
            activationsOf(compileTraining(reference, flags)));
  TrainingRun run(reference, plan);
  ASSERT_TRUE(run.ok());
  for (const ArenaUse &use : run.memory().arenas)
    EXPECT_EQ(use.predicted, use.allocated) << use.name;
}

TEST_P(TrainingLengths, KeepABudget) {
  auto bytesOf = [&](const std::string &more) {
    auto plan = Plan::load(compileTraining(reference, buckets + more));
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return plan.ok() ? plan->totalBytes() : 0;
  };
  uint64_t most = bytesOf(""), least = bytesOf("--remat=block");
  ASSERT_LT(least, most);
  uint64_t budget = least + (most - least) / 2;
  std::string flag = "--memory-budget=" + std::to_string(budget);
  EXPECT_LE(bytesOf(flag), budget);
  EXPECT_TRUE(train(compileTraining(reference, buckets + flag)) ==
              train(compileTraining(reference, buckets)));
}

} // namespace
