//===- EvaluatorTest.cpp - Windows, strides and benchmarks ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Engine/Evaluator.h"
#include "runtime/Engine/Bench.h"
#include "runtime/Engine/EvalBench.h"
#include "test/unit/Engine/FakeExecutor.h"
#include "test/unit/Plan/TestPlans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

using namespace gpt2rt;
using namespace gpt2rt::test;
using testing::HasSubstr;
using Ids = std::vector<int32_t>;

namespace {

Ids countingText(size_t length) {
  Ids text;
  for (size_t i = 0; i < length; ++i)
    text.push_back(static_cast<int32_t>(i * 13 % 100));
  return text;
}

/// The definition, token by token: each is scored once, by the first window
/// that has it and a token before it.
EvalResult reference(const Ids &text, size_t window, size_t stride) {
  EvalResult result;
  double sum = 0;
  size_t scored = 0;
  for (size_t begin = 0; begin < text.size(); begin += stride) {
    size_t end = std::min(begin + window, text.size());
    for (size_t at = std::max(scored, begin + 1); at < end; ++at) {
      Ids context(text.begin() + begin, text.begin() + at);
      sum += FakeExecutor::loss(context, text[at]);
      ++result.tokens;
    }
    scored = end;
    if (end == text.size())
      break;
  }
  result.meanLoss = sum / double(result.tokens);
  return result;
}

class EvaluatorTest : public testing::Test {
protected:
  static PlanSizes sizes() {
    PlanSizes sizes;
    sizes.batch = 3;
    sizes.chunk = 8;
    return sizes;
  }
  EvaluatorTest()
      : plan(*parsePlan(evalPlan(sizes()))), executor(plan),
        evaluator(*Evaluator::create(plan, executor)) {}

  Plan plan;
  FakeExecutor executor;
  Evaluator evaluator;
};

TEST_F(EvaluatorTest, EveryStrideScoresWhatTheDefinitionSays) {
  for (size_t length : {2, 7, 8, 9, 16, 17, 61})
    for (uint32_t stride : {1, 3, 4, 7, 8}) {
      Ids text = countingText(length);
      auto result = evaluator.evaluate(text, stride);
      ASSERT_TRUE(result.ok()) << result.status().message();
      EvalResult wanted = reference(text, 8, stride);
      EXPECT_EQ(result->tokens, wanted.tokens) << length << " " << stride;
      EXPECT_NEAR(result->meanLoss, wanted.meanLoss, 1e-12 * wanted.meanLoss)
          << length << " " << stride;
    }
}

TEST_F(EvaluatorTest, HalfStridesLoseTheFirstTokenOnly) {
  EXPECT_EQ(evaluator.evaluate(countingText(61), 4)->tokens, 60u);
  // Eight windows of 8 tokens, each without its first.
  EXPECT_EQ(evaluator.evaluate(countingText(61), 8)->tokens, 53u);
}

TEST_F(EvaluatorTest, PerplexityIsTheExponentOfTheMean) {
  EvalResult result;
  result.meanLoss = 2;
  EXPECT_DOUBLE_EQ(result.perplexity(), std::exp(2.0));
}

TEST_F(EvaluatorTest, RunsABatchOfWindowsAtATime) {
  std::vector<size_t> progress;
  ASSERT_TRUE(evaluator
                  .evaluate(countingText(61), 8,
                            [&](size_t done) { progress.push_back(done); })
                  .ok());
  EXPECT_EQ(executor.log.size(), 3u); // 8 windows, 3 a run
  EXPECT_THAT(progress, testing::ElementsAre(24u, 48u, 61u));
}

TEST_F(EvaluatorTest, RefusesStridesAndTextsThatScoreNothing) {
  auto message = [&](size_t length, uint32_t stride) {
    return evaluator.evaluate(countingText(length), stride).status().message();
  };
  EXPECT_THAT(message(20, 0), HasSubstr("--stride is 0"));
  EXPECT_THAT(message(20, 9), HasSubstr("it must be in [1, 8]"));
  EXPECT_THAT(message(1, 4), HasSubstr("the text has 1 tokens"));
  EXPECT_THAT(message(0, 4), HasSubstr("the text has 0 tokens"));
  EXPECT_THAT(evaluator.evaluate(Ids{1, 100}, 4).status().message(),
              HasSubstr("token 1 has id 100"));
}

TEST_F(EvaluatorTest, LogitsLeaveOutThePadding) {
  Ids ids = {5, 6, 7};
  auto rows = evaluator.logits(ids);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(rows->size(), 3u * sizes().vocab);
  EXPECT_EQ((*rows)[0], FakeExecutor::rule({5}, 1000));
  EXPECT_EQ((*rows)[2 * sizes().vocab], FakeExecutor::rule(ids, 1000));
  EXPECT_THAT(evaluator.logits(Ids(9, 1)).status().message(),
              HasSubstr("--ids has 9 ids"));
  EXPECT_THAT(evaluator.logits(Ids()).status().message(),
              HasSubstr("--ids has 0 ids"));
}

TEST_F(EvaluatorTest, RefusesPlansForGeneration) {
  Plan other = *parsePlan(generatePlan());
  FakeExecutor fake(other);
  EXPECT_THAT(Evaluator::create(other, fake).status().message(),
              HasSubstr("--mode=eval"));
}

TEST_F(EvaluatorTest, BenchRunsWhatItCounts) {
  auto result = runEvalBench(plan, executor, 3, /*profile=*/true);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(std::count(executor.log.begin(), executor.log.end(), "eval"), 4);
  EXPECT_EQ(result->tokens, 8u);
  EXPECT_GT(result->tokensPerSecond, 0);
  EXPECT_FALSE(result->profile.empty());
  EXPECT_THAT(runEvalBench(plan, executor, 0, false).status().message(),
              HasSubstr("--repeat"));
}

class BenchTest : public testing::Test {
protected:
  BenchTest() : plan(*parsePlan(generatePlan())), executor(plan) {
    options.batch = 2;
    options.promptTokens = 6;
    options.newTokens = 4;
    options.repeats = 2;
  }
  Plan plan;
  FakeExecutor executor;
  BenchOptions options;
};

TEST_F(BenchTest, RunsWhatItCounts) {
  options.profile = true;
  auto result = runBench(plan, executor, options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  // Three runs (one to warm up) and the profile's prompt, of two prompts with
  // two chunks; three steps a run.
  EXPECT_EQ(std::count(executor.log.begin(), executor.log.end(), "prefill"),
            4 * 2 * 2);
  EXPECT_EQ(std::count(executor.log.begin(), executor.log.end(), "decode_b2"),
            3 * 3);
  EXPECT_GT(result->prefillTokensPerSecond, 0);
  EXPECT_GT(result->decodeTokensPerSecond, 0);
  ASSERT_EQ(result->decodeProfile.size(), 2u);
  EXPECT_EQ(result->decodeProfile[0].what, "matmul");
  EXPECT_EQ(result->decodeProfile[0].seconds, 5);
  EXPECT_EQ(result->decodeProfile[0].count, 2u);
}

TEST_F(BenchTest, RefusesSizesThatDoNotFit) {
  auto message = [&] {
    return runBench(plan, executor, options).status().message();
  };
  options.batch = 3;
  EXPECT_THAT(message(), HasSubstr("--batch is 3"));
  options.batch = 1;
  options.newTokens = 11;
  EXPECT_THAT(message(), HasSubstr("at most 16"));
  options.newTokens = 0;
  EXPECT_THAT(message(), HasSubstr("must be positive"));
  options.newTokens = 1;
  options.repeats = 0;
  EXPECT_THAT(message(), HasSubstr("--repeat"));
}

} // namespace
