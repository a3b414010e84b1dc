//===- TrainerTest.cpp - The loop: steps, stops and resumes ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/unit/Train/TestRun.h"

#include <cmath>

using namespace gpt2rt;
using namespace gpt2rt::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TEST(Trainer, Learns) {
  TempDir data, run;
  TestRun a(data);
  a.validate = true;
  a.config.steps = 60;
  a.config.lr = 5e-2;
  ASSERT_OK(a.train(run));
  ASSERT_EQ(a.reports.size(), 60u);
  EXPECT_LT(a.reports.back().loss, 0.3 * a.reports.front().loss);
  EXPECT_LT(*a.reports.back().valLoss, 0.3 * a.reports.front().loss);
  EXPECT_EQ(a.reports[0].step, 1u);
  EXPECT_EQ(a.reports[0].tokens, 16u);
  EXPECT_GT(a.reports[0].tokensPerSecond, 0);
  EXPECT_DOUBLE_EQ(a.reports[0].epoch, 4.0 / 30);
  EXPECT_THAT(a.messages, HasSubstr("before training: validation loss"));
  EXPECT_TRUE(fileExists(run.file("loss.svg")));
  // Saved every 4 steps, and 3 kept.
  EXPECT_THAT(checkpointSteps(run.path()), ElementsAre(52u, 56u, 60u));
}

TEST(Trainer, AStoppedRunGoesOnBitForBit) {
  TempDir data, whole, parts;
  TestRun undisturbed(data);
  ASSERT_OK(undisturbed.train(whole));
  TestRun first(data);
  first.stopAt = 7;
  ASSERT_OK(first.train(parts));
  EXPECT_EQ(first.reports.size(), 7u);
  EXPECT_THAT(first.messages, HasSubstr("stopped by SIGTERM after step 7"));
  EXPECT_EQ(checkpointSteps(parts.path()).back(), 7u);
  TestRun second(data);
  ASSERT_OK(second.train(parts));
  EXPECT_EQ(second.reports.size(), 13u);
  EXPECT_EQ(contents(parts.file("checkpoint-20")),
            contents(whole.file("checkpoint-20")));
}

TEST(Trainer, AStopBetweenStepsIsSavedToo) {
  TempDir data, run;
  TestRun a(data);
  a.stopAfter = 7;
  ASSERT_OK(a.train(run));
  EXPECT_THAT(a.messages, HasSubstr("stopped by SIGINT after step 7"));
  EXPECT_EQ(checkpointSteps(run.path()).back(), 7u);
}

TEST(Trainer, AKilledRunGoesOnBitForBit) {
  for (fb::Precision precision : {fb::Precision::FP32, fb::Precision::FP16}) {
    TempDir data, whole, parts;
    TestRun undisturbed(data, 2, precision);
    undisturbed.executor.poisoned = {2, 9, 10};
    undisturbed.config.outlierGuard = 3;
    ASSERT_OK(undisturbed.train(whole));
    // A kill -9 during step 11: the newest checkpoint is that of step 8, and
    // half of another lies about.
    TestRun first(data, 2, precision);
    first.executor.poisoned = {2, 9, 10};
    first.config.outlierGuard = 3;
    first.stopAt = 11;
    ASSERT_OK(first.train(parts));
    std::filesystem::rename(parts.file("checkpoint-11"),
                            parts.file(".checkpoint-11.tmp"));
    TestRun second(data, 2, precision);
    second.executor.poisoned = {1, 2};
    second.config.outlierGuard = 3;
    ASSERT_OK(second.train(parts));
    EXPECT_EQ(second.reports.size(), 12u);
    EXPECT_EQ(contents(parts.file("checkpoint-20")),
              contents(whole.file("checkpoint-20")));
    EXPECT_FALSE(fileExists(parts.file(".checkpoint-11.tmp")));
    EXPECT_EQ(second.reports.back().lossScale,
              precision == fb::Precision::FP16 ? 8192 : 1);
  }
}

TEST(Trainer, SkippedStepsDoNotMoveTheSchedule) {
  TempDir data, run;
  TestRun a(data);
  a.executor.poisoned = {1, 5};
  ASSERT_OK(a.train(run));
  Schedule schedule = *scheduleOf(a.config);
  uint64_t applied = 0;
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_FLOAT_EQ(a.executor.rates[i], float(schedule.at(applied))) << i;
    EXPECT_EQ(a.reports[i].skipped, i == 1 || i == 5);
    applied += !a.reports[i].skipped;
  }
  EXPECT_EQ(a.reports.back().skippedSteps, 2u);
  EXPECT_THAT(a.messages,
              HasSubstr("step 2: skipped, the gradients are not finite"));
}

TEST(Trainer, SkipsOutliersOnly) {
  TempDir data, run;
  TestRun a(data);
  a.config.steps = 40;
  a.config.outlierGuard = 8;
  a.executor.huge = {30};
  ASSERT_OK(a.train(run));
  EXPECT_EQ(a.reports.back().skippedSteps, 1u);
  EXPECT_TRUE(a.reports[30].skipped);
  EXPECT_THAT(a.messages, HasSubstr("step 31: skipped, the gradient norm"));
}

TEST(Trainer, StopsWhereEveryStepIsSkipped) {
  TempDir data, run;
  TestRun a(data, 2, fb::Precision::FP16);
  a.config.maxSkips = 4;
  for (uint64_t i = 6; i < 20; ++i)
    a.executor.poisoned.insert(i);
  EXPECT_ERROR(a.train(run), ErrorCode::DataLoss,
               "4 steps in a row were skipped");
  EXPECT_EQ(a.reports.size(), 10u);
  EXPECT_EQ(checkpointSteps(run.path()).back(), 10u);
  EXPECT_THAT(a.messages, HasSubstr("the loss scale is 32768 now"));
}

TEST(Trainer, EveryLabelOfAStepWeighsTheSame) {
  TempDir data, oneRun, twoRun;
  TextDataset texts = unevenTexts(data);
  // One micro-batch of 4 rows, and two of 2: the same step.
  TestRun one(data, 4), two(data, 2);
  one.config.accumulate = 1;
  for (TestRun *run : {&one, &two}) {
    run->config.steps = 3;
    run->config.noShuffle = true;
  }
  ASSERT_OK(one.trainOn(oneRun, texts, nullptr));
  ASSERT_OK(two.trainOn(twoRun, texts, nullptr));
  for (size_t i = 0; i < 3; ++i) {
    uint64_t labels = one.reports[i].tokens;
    EXPECT_EQ(two.reports[i].tokens, labels);
    EXPECT_FLOAT_EQ(one.executor.weights[i], 1 / float(labels));
    EXPECT_EQ(two.executor.weights[2 * i], one.executor.weights[i]);
    EXPECT_EQ(two.executor.weights[2 * i + 1], one.executor.weights[i]);
    EXPECT_NEAR(two.reports[i].loss, one.reports[i].loss,
                1e-6 * one.reports[i].loss);
    EXPECT_NEAR(two.reports[i].gradNorm, one.reports[i].gradNorm,
                1e-5 * one.reports[i].gradNorm);
  }
  EXPECT_NE(one.reports[0].tokens, one.reports[1].tokens);
}

/// Texts of 1 to 4 labels; most are short.
class ShortTexts : public Dataset {
public:
  std::vector<uint64_t> groupSizes() const override { return {60}; }
  uint64_t scoredTokens(uint64_t sample) const override {
    return sample % 5 == 0 ? 4 : 1 + mixBits(sample) % 2;
  }
  Status fill(uint64_t sample, std::span<int32_t> inputs,
              std::span<int32_t> targets) override {
    for (size_t i = 0; i < inputs.size(); ++i) {
      bool isText = i < scoredTokens(sample);
      inputs[i] = isText ? static_cast<int32_t>((sample * 7 + i) % 100) : 0;
      targets[i] = isText ? inputs[i] / 2 : ignoredTarget;
    }
    return {};
  }
  std::string identity() const override { return "short texts"; }
};

/// `shorter` has programs for 1 and 2 tokens, too.
struct BucketRun {
  explicit BucketRun(std::vector<uint32_t> shorter, bool grouped = false)
      : session(data, 2, fb::Precision::FP32, std::move(shorter)) {
    session.config.groupByLength = grouped;
  }
  Status train() { return session.trainOn(run, texts, &texts); }
  uint64_t computed() const {
    uint64_t sum = 0;
    for (const StepReport &report : session.reports)
      sum += report.computedTokens;
    return sum;
  }
  TempDir data, run;
  ShortTexts texts;
  TestRun session;
};

TEST(Trainer, ShortTextsRunInShortPrograms) {
  BucketRun whole({}), shorter({1, 2});
  ASSERT_OK(whole.train());
  ASSERT_OK(shorter.train());
  // The executor adds up rows in one order, so nothing else may differ.
  EXPECT_EQ(shorter.session.executor.trained(),
            whole.session.executor.trained());
  for (size_t i = 0; i < 20; ++i) {
    const StepReport &a = whole.session.reports[i];
    const StepReport &b = shorter.session.reports[i];
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.valLoss, b.valLoss);
    EXPECT_EQ(a.computedTokens, 16u);
    EXPECT_LE(b.computedTokens, 16u);
    EXPECT_DOUBLE_EQ(b.padding(),
                     1 - double(b.tokens) / double(b.computedTokens));
    EXPECT_LE(b.flops, a.flops);
  }
  EXPECT_LT(shorter.computed(), whole.computed());
  EXPECT_THAT(whole.session.executor.lengths, testing::Each(4u));
  std::set<uint32_t> used(shorter.session.executor.lengths.begin(),
                          shorter.session.executor.lengths.end());
  EXPECT_THAT(used, ElementsAre(1u, 2u, 4u));
}

TEST(Trainer, GroupingByLengthPadsLessAndResumes) {
  BucketRun loose({1, 2}), grouped({1, 2}, true), parts({1, 2}, true);
  ASSERT_OK(loose.train());
  ASSERT_OK(grouped.train());
  EXPECT_LT(grouped.computed(), loose.computed());
  parts.session.stopAt = 7;
  ASSERT_OK(parts.train());
  TestRun second(parts.data, 2, fb::Precision::FP32, {1, 2});
  second.config.groupByLength = true;
  ASSERT_OK(second.trainOn(parts.run, parts.texts, &parts.texts));
  EXPECT_EQ(contents(parts.run.file("checkpoint-20")),
            contents(grouped.run.file("checkpoint-20")));
  // Another order is other data.
  BucketRun stopped({1, 2});
  stopped.session.stopAt = 7;
  ASSERT_OK(stopped.train());
  stopped.session.config.groupByLength = true;
  EXPECT_ERROR(stopped.train(), ErrorCode::FailedPrecondition,
               "grouped by length for batches of 2");
}

TEST(Trainer, SaysWhereAResumedPlanHasOtherLengths) {
  BucketRun first({1});
  first.session.stopAt = 7;
  ASSERT_OK(first.train());
  TestRun second(first.data, 2, fb::Precision::FP32, {1, 2});
  ASSERT_OK(second.trainOn(first.run, first.texts, nullptr));
  EXPECT_THAT(second.messages, HasSubstr("the checkpoint's (CPU, batch 2, 1, 4 "
                                         "tokens): sums are made in another"));
}

TEST(Trainer, TheSeedShufflesTheData) {
  TempDir data, first, second, third;
  TestRun a(data), b(data), c(data);
  c.config.seed = 6;
  ASSERT_OK(a.train(first));
  ASSERT_OK(b.train(second));
  ASSERT_OK(c.train(third));
  EXPECT_EQ(a.executor.batches, b.executor.batches);
  EXPECT_NE(a.executor.batches, c.executor.batches);
  EXPECT_EQ(a.executor.trained(), b.executor.trained());
}

TEST(Trainer, ABadShardHalfwayStopsWithACheckpoint) {
  TempDir data, run;
  TestRun a(data);
  a.config.noShuffle = true; // the second shard begins with sample 15
  std::vector<uint16_t> tokens = countingTokens(61);
  tokens[33] = 7777;
  data.write("b.bin", shardOf(tokens));
  EXPECT_ERROR(a.train(run), ErrorCode::OutOfRange,
               "b.bin': token 33 has id 7777");
  // Sample 15 + 8 is the 4th of step 6.
  EXPECT_EQ(a.reports.size(), 5u);
  EXPECT_EQ(checkpointSteps(run.path()).back(), 5u);
  data.write("b.bin", shardOf(countingTokens(61, 500)));
  TestRun b(data);
  b.config.noShuffle = true;
  ASSERT_OK(b.train(run));
  EXPECT_EQ(b.reports.front().step, 6u);
}

TEST(Trainer, RefusesToResumeSomethingElse) {
  TempDir data, run;
  TestRun a(data);
  a.stopAt = 5;
  ASSERT_OK(a.train(run));
  TestRun precision(data, 2, fb::Precision::BF16);
  EXPECT_ERROR(precision.train(run), ErrorCode::FailedPrecondition,
               "a run in FP32, but the plan computes in BF16");
  TestRun seed(data);
  seed.config.seed = 9;
  EXPECT_ERROR(seed.train(run), ErrorCode::FailedPrecondition, "--seed is 9");
  TestRun done(data);
  done.config.steps = 5;
  EXPECT_ERROR(done.train(run), ErrorCode::InvalidArgument,
               "the run is at step 5 and --steps is 5");
  TestRun shards(data);
  data.write("b.bin", shardOf(countingTokens(65)));
  EXPECT_ERROR(shards.train(run), ErrorCode::FailedPrecondition,
               "the data is not what");
}

TEST(Trainer, RefusesOtherPlans) {
  Plan plan = *parsePlan(evalPlan());
  FakeTrainExecutor executor(plan);
  EXPECT_ERROR(TrainSession::create(plan, executor),
               ErrorCode::FailedPrecondition,
               "the plan was compiled for evaluation; compile it with "
               "--mode=train");
}

} // namespace
