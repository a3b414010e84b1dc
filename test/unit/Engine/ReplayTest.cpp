//===- ReplayTest.cpp - Frozen plans on the CPU ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The released plans of test/fixtures on the real executor: they still run, and
// allocate what they predict.
//
//===----------------------------------------------------------------------===//

#include "runtime/Engine/Evaluator.h"
#include "runtime/Engine/Generator.h"

#include <gtest/gtest.h>

using namespace gpt2rt;

namespace {

class ReplayTest : public testing::Test {
protected:
  void open(const std::string &name) {
    auto loaded = Plan::load(GPT2_SOURCE_DIR "/test/fixtures/plans/" + name);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    plan = std::make_unique<Plan>(std::move(*loaded));
    ExecutorOptions options;
    options.threads = 1;
    auto created = createCpuExecutor(*plan, options);
    if (created.status().code() == ErrorCode::FailedPrecondition)
      GTEST_SKIP() << created.status().message(); // an older CPU
    ASSERT_TRUE(created.ok()) << created.status().message();
    executor = std::move(*created);
    ASSERT_TRUE(executor->bindRandomWeights({7}).ok());
  }

  std::unique_ptr<Plan> plan;
  std::unique_ptr<Executor> executor;
};

TEST_F(ReplayTest, AllocatesWhatItPredicts) {
  open("generate-1.0.plan");
  uint64_t predicted = 0;
  for (const ArenaUse &use : executor->memory().arenas) {
    EXPECT_EQ(use.predicted, use.allocated) << use.name;
    predicted += use.predicted;
  }
  EXPECT_EQ(predicted, plan->totalBytes());
}

TEST_F(ReplayTest, RowsOfABatchEqualTheirOwnRuns) {
  open("generate-1.0.plan");
  Generator generator = *Generator::create(*plan, *executor, nullptr);
  GenerateOptions options;
  options.maxNewTokens = 20;
  options.ignoreEos = true;
  options.sampling.temperature = 0.9f;
  options.sampling.topK = 40;
  std::vector<std::vector<int32_t>> prompts = {{5, 6, 7, 8, 9}, {10}};
  auto together = generator.generate(prompts, options);
  ASSERT_TRUE(together.ok()) << together.status().message();
  for (size_t i = 0; i < prompts.size(); ++i) {
    auto alone = generator.generate({prompts[i]}, options);
    ASSERT_TRUE(alone.ok()) << alone.status().message();
    EXPECT_EQ((*together)[i].outputIds, (*alone)[0].outputIds);
  }
}

TEST_F(ReplayTest, EvaluationScoresEveryTokenButTheFirst) {
  open("eval-1.0.plan");
  Evaluator evaluator = *Evaluator::create(*plan, *executor);
  std::vector<int32_t> text;
  for (int32_t i = 0; i < 150; ++i)
    text.push_back(i * 11 % 200);
  auto half = evaluator.evaluate(text, evaluator.window() / 2);
  ASSERT_TRUE(half.ok()) << half.status().message();
  EXPECT_EQ(half->tokens, 149u);
  EXPECT_GT(half->meanLoss, 0);
}

} // namespace
