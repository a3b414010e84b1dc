//===- WatchingTest.cpp - Validations and texts of a run ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Support/Json.h"
#include "test/unit/Train/TestRun.h"

#include <cmath>

using namespace gpt2rt;
using namespace gpt2rt::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Of the documents, in micro-batches of `batch`, before the first step.
double validationLoss(uint32_t batch, int64_t valSteps) {
  TempDir data, run;
  TextDataset texts = unevenTexts(data);
  TestRun a(data, batch);
  a.config.valSteps = valSteps;
  a.config.steps = 1;
  a.config.warmup = 0;
  EXPECT_EQ(a.trainOn(run, texts, &texts).message(), "");
  uint64_t all = (texts.count() + batch - 1) / batch;
  EXPECT_EQ(a.validated[0],
            std::pair(uint64_t(0),
                      valSteps ? std::min<uint64_t>(valSteps, all) : all));
  std::string line = *readTextFile(run.file("metrics.jsonl"));
  return parseJson(line.substr(0, line.find('\n')), "")->at("val_loss");
}

TEST(Trainer, ValidatesOnAllOfTheData) {
  // 8 documents: the last micro-batch of 3 has a row of padding.
  double one = validationLoss(1, 0);
  EXPECT_NEAR(validationLoss(3, 0), one, 1e-6 * one);
  EXPECT_NEAR(validationLoss(8, 0), one, 1e-6 * one);
  EXPECT_NEAR(validationLoss(3, 100), one, 1e-6 * one);
  // The first 6.
  EXPECT_NEAR(validationLoss(3, 2), validationLoss(1, 6), 1e-6 * one);
  EXPECT_GT(std::abs(validationLoss(3, 2) - one), 1e-3 * one);
}

TEST(Trainer, AStopCutsAValidationShort) {
  TempDir data, whole, parts;
  TestRun undisturbed(data);
  undisturbed.validate = true;
  undisturbed.config.valEvery = 5;
  ASSERT_OK(undisturbed.train(whole));
  EXPECT_EQ(undisturbed.validated.back(), std::pair(14ul, 15ul));
  TestRun before(data);
  before.validate = true;
  before.stopInValidation = 3;
  ASSERT_OK(before.train(parts));
  EXPECT_EQ(before.validated.back().first, 3u);
  EXPECT_THAT(before.messages,
              HasSubstr("stopped by SIGTERM before the first step"));
  EXPECT_TRUE(before.reports.empty());
  TestRun first(data);
  first.validate = true;
  first.config.valEvery = 5;
  first.stopAt = 10;
  ASSERT_OK(first.train(parts));
  EXPECT_THAT(first.messages, HasSubstr("stopped by SIGTERM after step 10"));
  EXPECT_TRUE(first.reports[4].valLoss);
  EXPECT_FALSE(first.reports[9].valLoss);
  TestRun second(data);
  second.validate = true;
  second.config.valEvery = 5;
  ASSERT_OK(second.train(parts));
  EXPECT_EQ(contents(parts.file("checkpoint-20")),
            contents(whole.file("checkpoint-20")));
}

SampleSettings twoPrompts() {
  SampleSettings settings;
  settings.prompts = {{"a", {7}}, {"b", {3, 40}}};
  settings.tokens = 2;
  return settings;
}

TEST(Trainer, SamplesDisturbNothing) {
  TempDir data, without, with;
  TestRun quiet(data);
  ASSERT_OK(quiet.train(without));
  for (uint64_t stopAt : {uint64_t(6), uint64_t(0)}) {
    TestRun a(data);
    a.config.sampleEvery = 6;
    a.settings = twoPrompts();
    a.stopAt = stopAt;
    ASSERT_OK(a.train(with));
    // Not at step 6, where it was told to stop; at 12, 18 and the last.
    EXPECT_EQ(a.samples.size(), stopAt ? 0u : 6u);
    if (!stopAt) {
      EXPECT_EQ(a.samples[1].step, 12u);
      EXPECT_EQ(a.samples[5].step, 20u);
      EXPECT_EQ(a.samples[5].prompt, 1u);
    }
  }
  for (const char *name : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_EQ(contents(with.file("checkpoint-20"))[name],
              contents(without.file("checkpoint-20"))[name]);
}

TEST(Trainer, SamplesAreWhatTheModelHasLearned) {
  TempDir data, run;
  TestRun a(data);
  a.config.steps = 400;
  a.config.lr = 5e-2;
  a.config.weightDecay = 0;
  a.config.sampleEvery = 400;
  a.settings = twoPrompts();
  ASSERT_OK(a.train(run));
  ASSERT_EQ(a.samples.size(), 2u);
  // 37 more each time.
  EXPECT_THAT(a.samples[0].result.outputIds, ElementsAre(44, 81));
  EXPECT_THAT(a.samples[1].result.outputIds, ElementsAre(77, 14));
  EXPECT_EQ(a.samples[0].result.finish, FinishReason::Length);
  std::string lines = *readTextFile(run.file("metrics.jsonl"));
  EXPECT_THAT(lines, HasSubstr("\"output_ids\":[77,14],\"prompt\":null,"
                               "\"prompt_ids\":[3,40],\"step\":400,"
                               "\"text\":null}\n"));
}

TEST(Trainer, SamplesEndWithTheText) {
  TempDir data, run;
  TestRun a(data);
  a.config.sampleEvery = 20;
  a.settings = twoPrompts();
  a.executor.beforeUpdate = [&](uint64_t) {
    a.executor.floats("wte")[7 * 8] = 0.5f; // 50 is the end of a text
  };
  ASSERT_OK(a.train(run));
  EXPECT_THAT(a.samples[0].result.outputIds, ElementsAre(50));
  EXPECT_EQ(a.samples[0].result.finish, FinishReason::Eos);
}

TEST(Trainer, UselessLogitsEndNoRun) {
  TempDir data, run;
  TestRun a(data);
  a.config.sampleEvery = 20;
  a.settings = twoPrompts();
  a.executor.unsampled = true;
  ASSERT_OK(a.train(run));
  EXPECT_TRUE(a.samples.empty());
  EXPECT_THAT(a.messages, HasSubstr("no sample at step 20: the logits for "
                                    "position 1 are not finite"));
}

TEST(TextSampler, RefusesWhatItCannotDraw) {
  Plan plan = smallTrainPlan();
  FakeTrainExecutor executor(plan);
  auto after = [&](auto change) {
    SampleSettings settings = twoPrompts();
    change(settings);
    return TextSampler::create(plan, executor, settings).status();
  };
  ASSERT_OK(after([](SampleSettings &) {}));
  EXPECT_ERROR(after([](SampleSettings &s) { s.prompts[1].ids[0] = 100; }),
               ErrorCode::OutOfRange,
               "--sample-prompt 2 has token id 100, but the model's ids are 0 "
               "to 99");
  EXPECT_ERROR(after([](SampleSettings &s) { s.prompts[0].ids.resize(4); }),
               ErrorCode::OutOfRange,
               "--sample-prompt 1 has 4 tokens, but it must have 1 to 3");
  EXPECT_ERROR(after([](SampleSettings &s) { s.tokens = 3; }),
               ErrorCode::OutOfRange, "together 5, but the plan's sequences");
  Plan older = *parsePlan(olderTrainPlan());
  FakeTrainExecutor olderExecutor(older);
  EXPECT_ERROR(TextSampler::create(older, olderExecutor, twoPrompts()),
               ErrorCode::FailedPrecondition,
               "of an older gpt2c: compile it again with gpt2c --mode=train");
  ASSERT_OK(TrainSession::create(older, olderExecutor).status());
}

} // namespace
