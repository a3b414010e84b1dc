//===- HeapTest.cpp - Replay takes nothing from the heap ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// With malloc hooked, the released plan generates on the real executor.
//
//===----------------------------------------------------------------------===//

#include "runtime/Engine/Generator.h"
#include "test/unit/Engine/HeapHook.h"

#include <gtest/gtest.h>

#include <memory>

using namespace gpt2rt;
using namespace gpt2rt::test;

namespace {

class HeapTest : public testing::Test {
protected:
  void SetUp() override {
    auto loaded =
        Plan::load(GPT2_SOURCE_DIR "/test/fixtures/plans/generate-1.0.plan");
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    plan = std::make_unique<Plan>(std::move(*loaded));
    ExecutorOptions executorOptions;
    executorOptions.threads = 2; // OpenMP's workers are hooked too
    auto created = createCpuExecutor(*plan, executorOptions);
    if (created.status().code() == ErrorCode::FailedPrecondition)
      GTEST_SKIP() << created.status().message(); // an older CPU
    ASSERT_TRUE(created.ok()) << created.status().message();
    executor = std::move(*created);
    ASSERT_TRUE(executor->bindRandomWeights({7}).ok());
    options.maxNewTokens = 40;
    options.ignoreEos = true;
    options.sampling.temperature = 1;
  }

  /// Generates, and returns the allocations of each pass through the token
  /// loop: the second pass on decodes a token for every row.
  std::vector<uint64_t> allocationsOfSteps(const Tokenizer *tokenizer) {
    std::vector<uint64_t> polls;
    polls.reserve(100);
    GenerateCallbacks callbacks;
    callbacks.onText = [&](size_t, std::string_view text) {
      textBytes += text.size();
    };
    // Polled before each row's prefill and before each pass.
    callbacks.cancelled = [&] {
      if (polls.size() == prompts.size() + 1)
        watchHeap();
      polls.push_back(heapCounts().allocations);
      return false;
    };
    uint64_t end = 0;
    callbacks.onDone = [&](size_t, const GenerateResult &) {
      end = heapCounts().allocations;
    };
    Generator generator = *Generator::create(*plan, *executor, tokenizer);
    auto results = generator.generate(prompts, options, callbacks);
    EXPECT_TRUE(results.ok()) << results.status().message();
    polls.push_back(end);
    std::vector<uint64_t> steps;
    for (size_t i = prompts.size() + 1; i < polls.size(); ++i)
      steps.push_back(polls[i] - polls[i - 1]);
    return steps;
  }

  void expectNoAllocations(const Tokenizer *tokenizer) {
    std::vector<uint64_t> steps = allocationsOfSteps(tokenizer);
    ASSERT_EQ(steps.size(), *options.maxNewTokens);
    EXPECT_EQ(steps, std::vector<uint64_t>(steps.size()));
    if (HasFailure())
      printFirstAllocation();
  }

  std::unique_ptr<Plan> plan;
  std::unique_ptr<Executor> executor;
  GenerateOptions options;
  std::vector<std::vector<int32_t>> prompts = {{1, 2, 3}, {4}};
  size_t textBytes = 0;
};

TEST_F(HeapTest, TheHookCounts) {
  HeapCounts before = heapCounts();
  auto block = std::make_unique<std::vector<int>>(1000);
  HeapCounts during = heapCounts();
  EXPECT_EQ(during.allocations, before.allocations + 2);
  EXPECT_GE(during.liveBytes, before.liveBytes + 4000);
  block.reset();
  EXPECT_EQ(heapCounts().liveBytes, before.liveBytes);
}

TEST_F(HeapTest, DecodingTokensAllocatesNothing) {
  expectNoAllocations(nullptr);
}

TEST_F(HeapTest, StreamingTextAllocatesNothing) {
  auto tokenizer =
      Tokenizer::load(GPT2_SOURCE_DIR "/test/fixtures/tokenizer/files");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  expectNoAllocations(&*tokenizer);
  EXPECT_GT(textBytes, 0u);
  // Text that could begin a stop string is held back.
  options.stop = {"a stop string that no one will meet", "e\n"};
  expectNoAllocations(&*tokenizer);
}

TEST_F(HeapTest, PrefillGivesBackWhatItTakes) {
  Session session = *Session::create(*plan, *executor);
  std::vector<int32_t> prompt = {1, 2, 3}, tokens(1);
  ASSERT_TRUE(session.begin(1, SamplingParams()).ok());
  auto generate = [&] {
    Status status = session.prefill(0, prompt);
    for (int i = 0; i < 40 && status.ok(); ++i) {
      status = session.decode(1);
      if (status.ok())
        status = session.readTokens(tokens);
    }
    return status.ok();
  };
  bool ok = generate(); // oneDNN makes its primitives on first use
  int64_t before = heapCounts().liveBytes;
  for (int round = 0; round < 10; ++round)
    ok &= generate();
  int64_t after = heapCounts().liveBytes;
  EXPECT_TRUE(ok);
  EXPECT_EQ(after, before);
}

} // namespace
