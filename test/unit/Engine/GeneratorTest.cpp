//===- GeneratorTest.cpp - Text from prompts ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Engine/Generator.h"
#include "runtime/Text/ByteAlphabet.h"
#include "test/unit/Engine/FakeExecutor.h"
#include "test/unit/Plan/TestPlans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace gpt2rt;
using namespace gpt2rt::test;
using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<int32_t>;

namespace {

/// Tokens 0 to 255 are the bytes, 256 is <|endoftext|>.
constexpr int32_t eosToken = 256;

Tokenizer byteTokenizer() {
  TokenizerFiles files;
  for (int byte = 0; byte < 256; ++byte)
    files.vocab[alphabetSpelling(static_cast<uint8_t>(byte))] = byte;
  files.vocab["<|endoftext|>"] = eosToken;
  files.addedTokens["<|endoftext|>"] = eosToken;
  return *Tokenizer::build(files, "test");
}

class GeneratorTest : public testing::Test {
protected:
  static PlanSizes sizes() {
    PlanSizes sizes;
    sizes.batch = 4;
    sizes.chunk = 4;
    sizes.positions = 32;
    sizes.vocab = 257;
    sizes.paddedVocab = 384;
    sizes.eos = eosToken;
    return sizes;
  }

  GeneratorTest()
      : plan(*parsePlan(generatePlan(sizes()))), executor(plan),
        tokenizer(byteTokenizer()),
        generator(*Generator::create(plan, executor, &tokenizer)) {
    options.maxNewTokens = 8;
  }

  /// What the fake's rule makes of a prompt.
  static Ids expected(Ids sequence, size_t count) {
    size_t prompt = sequence.size();
    for (size_t i = 0; i < count; ++i)
      sequence.push_back(FakeExecutor::rule(sequence, sizes().vocab));
    return Ids(sequence.begin() + prompt, sequence.end());
  }

  GenerateResult one(const Ids &prompt) {
    auto results = generator.generate({prompt}, options, callbacks);
    EXPECT_TRUE(results.ok()) << results.status().message();
    return results.ok() ? (*results)[0] : GenerateResult();
  }
  std::string messageFor(const std::vector<Ids> &prompts) {
    return generator.generate(prompts, options).status().message();
  }
  /// Makes the model say `text` after a prompt of `length` tokens.
  void force(size_t length, std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i)
      executor.forced[int32_t(length + i)] = static_cast<uint8_t>(text[i]);
  }

  Plan plan;
  FakeExecutor executor;
  Tokenizer tokenizer;
  Generator generator;
  GenerateOptions options;
  GenerateCallbacks callbacks;
};

TEST_F(GeneratorTest, PromptsOfEveryLengthGiveTheirContinuation) {
  // Around the multiples of the chunk of 4.
  for (int32_t length = 1; length <= 13; ++length) {
    Ids prompt;
    for (int32_t i = 0; i < length; ++i)
      prompt.push_back(3 * i + length);
    GenerateResult result = one(prompt);
    EXPECT_EQ(result.outputIds, expected(prompt, 8)) << length;
    EXPECT_EQ(result.promptIds, prompt);
    EXPECT_EQ(result.finish, FinishReason::Length);
  }
}

TEST_F(GeneratorTest, RowsOfABatchEqualTheirOwnRuns) {
  std::vector<Ids> prompts;
  for (int32_t i = 0; i < 11; ++i) // groups of 4, 4 and 3
    prompts.push_back(Ids(size_t(i % 6 + 1), 10 + i));
  auto results = generator.generate(prompts, options);
  ASSERT_TRUE(results.ok()) << results.status().message();
  for (size_t i = 0; i < prompts.size(); ++i)
    EXPECT_EQ((*results)[i].outputIds, expected(prompts[i], 8)) << i;
}

TEST_F(GeneratorTest, UsesTheSmallestBucketAndStaysInIt) {
  options.maxNewTokens = 3;
  ASSERT_TRUE(generator.generate({{1}, {2}, {3}}, options).ok());
  EXPECT_THAT(executor.log, ElementsAre("prefill", "prefill", "prefill",
                                        "decode_b4", "decode_b4"));
  executor.log.clear();
  one({1});
  EXPECT_THAT(executor.log, ElementsAre("prefill", "decode_b1", "decode_b1"));
}

TEST_F(GeneratorTest, StopsAtEosUnlessToldOtherwise) {
  executor.forced[4] = eosToken;
  GenerateResult result = one({65, 66});
  EXPECT_EQ(result.finish, FinishReason::Eos);
  ASSERT_EQ(result.outputIds.size(), 3u);
  EXPECT_EQ(result.outputIds.back(), eosToken);
  EXPECT_THAT(result.text, testing::Not(HasSubstr("endoftext")));

  options.ignoreEos = true;
  result = one({65, 66});
  EXPECT_EQ(result.finish, FinishReason::Length);
  EXPECT_EQ(result.outputIds.size(), 8u);
}

TEST_F(GeneratorTest, ARowThatIsDoneLeavesTheOthersAlone) {
  executor.forced[3] = eosToken; // ends the second prompt at once
  auto results = generator.generate({{1, 2, 3, 4}, {5, 6, 7}}, options);
  ASSERT_TRUE(results.ok());
  EXPECT_EQ((*results)[0].outputIds, expected({1, 2, 3, 4}, 8));
  EXPECT_THAT((*results)[1].outputIds, ElementsAre(eosToken));
}

TEST_F(GeneratorTest, StopStringEndsTheTextBeforeIt) {
  force(1, "one STOP two");
  options.maxNewTokens = 12;
  options.stop = {"never", "STOP"};
  std::string streamed;
  callbacks.onText = [&](size_t, std::string_view text) { streamed += text; };
  GenerateResult result = one({65});
  EXPECT_EQ(result.text, "one ");
  EXPECT_EQ(streamed, "one ");
  EXPECT_EQ(result.finish, FinishReason::Stop);
  EXPECT_EQ(result.outputIds.size(), 8u); // through the P
}

TEST_F(GeneratorTest, StreamsWholeCharactersOnly) {
  force(1, "\xc3\xa9\xf0\x9f\xa4\x97!\xf0\x9f");
  std::vector<std::string> pieces;
  callbacks.onText = [&](size_t, std::string_view text) {
    pieces.emplace_back(text);
  };
  options.maxNewTokens = 9;
  GenerateResult result = one({65});
  EXPECT_THAT(pieces,
              ElementsAre("\xc3\xa9", "\xf0\x9f\xa4\x97", "!", "\xef\xbf\xbd"));
  EXPECT_EQ(result.text, "\xc3\xa9\xf0\x9f\xa4\x97!\xef\xbf\xbd");
}

TEST_F(GeneratorTest, TheLastPositionCanBeReached) {
  options.maxNewTokens = 30;
  EXPECT_EQ(one({7, 8}).outputIds, expected({7, 8}, 30));
  options.maxNewTokens.reset();
  EXPECT_EQ(one({7, 8}).outputIds.size(), 30u);
}

TEST_F(GeneratorTest, RefusesWhatDoesNotFit) {
  options.maxNewTokens = 31;
  EXPECT_THAT(messageFor({{1}, {7, 8}}),
              HasSubstr("prompt 2 has 2 tokens and --max-new-tokens is 31, "
                        "together 33, but the model has 32 positions"));
  EXPECT_THAT(messageFor({Ids(33, 1)}),
              HasSubstr("prompt 1 has 33 tokens, but the model has 32"));
  options.maxNewTokens.reset();
  EXPECT_THAT(messageFor({Ids(32, 1)}), HasSubstr("fills all 32 positions"));
  EXPECT_TRUE(executor.log.empty()) << "nothing may run before all is checked";
}

TEST_F(GeneratorTest, RefusesBadIds) {
  EXPECT_THAT(messageFor({{1, 257}}), HasSubstr("has token id 257"));
  EXPECT_THAT(messageFor({{-1}}), HasSubstr("has token id -1"));
  EXPECT_THAT(messageFor({{}}), HasSubstr("prompt 1 has no tokens"));
}

TEST_F(GeneratorTest, ZeroNewTokensRunThePromptOnly) {
  options.maxNewTokens = 0;
  options.topLogits = 3;
  GenerateResult result = one({1, 2});
  EXPECT_TRUE(result.outputIds.empty());
  EXPECT_EQ(result.finish, FinishReason::Length);
  ASSERT_EQ(result.topLogits.size(), 3u);
  EXPECT_EQ(result.topLogits[0].token, expected({1, 2}, 1)[0]);
  EXPECT_EQ(result.topLogits[0].logit, 5);
  EXPECT_GT(result.topLogits[1].logit, result.topLogits[2].logit);
}

TEST_F(GeneratorTest, LogitsThatAreNotFiniteAreAnError) {
  executor.forced[5] = -1;
  EXPECT_THAT(messageFor({{1, 2}}),
              HasSubstr("logits for position 5 of prompt 1 are not finite"));
}

TEST_F(GeneratorTest, CancellingKeepsWhatIsThere) {
  int polls = 0;
  callbacks.cancelled = [&] { return ++polls > 4; };
  GenerateResult result = one({1, 2});
  EXPECT_EQ(result.finish, FinishReason::Cancelled);
  EXPECT_EQ(result.outputIds, expected({1, 2}, result.outputIds.size()));
  EXPECT_LT(result.outputIds.size(), 8u);
}

TEST_F(GeneratorTest, StopStringsNeedATokenizer) {
  Generator bare = *Generator::create(plan, executor, nullptr);
  EXPECT_EQ((*bare.generate({{9}}, options))[0].outputIds, expected({9}, 8));
  options.stop = {"x"};
  EXPECT_THAT(bare.generate({{9}}, options).status().message(),
              HasSubstr("tokenizer"));
}

TEST_F(GeneratorTest, RefusesEvalPlans) {
  Plan other = *parsePlan(evalPlan());
  FakeExecutor fake(other);
  EXPECT_THAT(Generator::create(other, fake, nullptr).status().message(),
              HasSubstr("--mode=generate"));
}

TEST(TextStream, HoldsBackTheBeginningOfAStopString) {
  std::vector<std::string> stops = {"abcd", "bx"};
  TextStream stream(stops);
  EXPECT_EQ(stream.push("zab"), "z");
  EXPECT_EQ(stream.push("c"), "");
  EXPECT_EQ(stream.push("e"), "abce");
  EXPECT_EQ(stream.push("ab"), "");
  EXPECT_EQ(stream.push("x"), "a");
  EXPECT_TRUE(stream.stopped());
  EXPECT_EQ(stream.push("more"), "");
  EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, FinishReleasesWhatWasHeld) {
  std::vector<std::string> stops = {"abcd"};
  TextStream stream(stops);
  EXPECT_EQ(stream.push("xabc"), "x");
  EXPECT_EQ(stream.finish(), "abc");
  EXPECT_FALSE(stream.stopped());
}

TEST(TextStream, TheEarliestStopStringWins) {
  std::vector<std::string> stops = {"late", "soon"};
  TextStream stream(stops);
  EXPECT_EQ(stream.push("x soon late"), "x ");
}

} // namespace
