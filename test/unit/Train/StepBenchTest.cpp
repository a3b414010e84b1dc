//===- StepBenchTest.cpp - The benchmark of a training step ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/StepBench.h"
#include "runtime/Train/InitialWeights.h"
#include "test/unit/Train/FakeTrainExecutor.h"
#include "test/unit/Train/TrainSupport.h"

using namespace gpt2rt;
using namespace gpt2rt::test;
using testing::Each;
using testing::HasSubstr;

namespace {

class StepBenchTest : public testing::Test {
protected:
  StepBenchTest() : plan(smallTrainPlan()), executor(plan) {
    auto weights = InitialWeights::make(plan, 1);
    EXPECT_TRUE(weights.ok() &&
                executor.bindWeights(weights->checkpoint()).ok());
  }
  Plan plan;
  FakeTrainExecutor executor;
};

TEST_F(StepBenchTest, LearnsOneMicroBatch) {
  auto result = runStepBench(plan, executor, 40, /*profile=*/false);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(executor.batches.size(), 41u); // one more than is counted
  EXPECT_THAT(executor.batches, Each(executor.batches[0]));
  EXPECT_EQ(executor.batches[0].size(), 8u);
  EXPECT_EQ(result->batch, 2u);
  EXPECT_EQ(result->tokens, 4u);
  ASSERT_EQ(result->losses.size(), 41u);
  EXPECT_LT(result->losses.back(), result->losses.front());
  EXPECT_GE(result->stepSeconds, result->accumulateSeconds);
  EXPECT_GT(result->tokensPerSecond, 0);
  EXPECT_EQ(result->skipped, 0u);
}

TEST_F(StepBenchTest, CountsSkippedSteps) {
  executor.poisoned = {1, 3};
  auto result = runStepBench(plan, executor, 5, /*profile=*/false);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->skipped, 2u);
}

TEST_F(StepBenchTest, RefusesOtherPlansAndNoSteps) {
  EXPECT_THAT(runStepBench(plan, executor, 0, false).status().message(),
              HasSubstr("--repeat"));
  Plan other = *parsePlan(generatePlan());
  EXPECT_THAT(runStepBench(other, executor, 1, false).status().message(),
              HasSubstr("--mode=train"));
}

} // namespace
