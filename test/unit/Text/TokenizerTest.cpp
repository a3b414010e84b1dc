//===- TokenizerTest.cpp - Encoding and decoding --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/unit/Support/TestSupport.h"

#include "runtime/Support/Json.h"
#include "runtime/Text/Tokenizer.h"
#include "runtime/Text/Utf8.h"

#include <chrono>
#include <random>
#include <thread>

using namespace gpt2rt;

namespace {

/// The fixture's tokenizer, from both forms of files.
class TokenizerFixture : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    ASSERT_ASSIGN(Tokenizer loaded, Tokenizer::load(test::fixture(GetParam())));
    tokenizer.emplace(std::move(loaded));
  }
  std::vector<int32_t> encode(std::string_view text, bool special = true) {
    Result<std::vector<int32_t>> ids =
        tokenizer->encode(text, {.parseSpecial = special});
    EXPECT_TRUE(ids.ok()) << ids.status().message();
    return ids.ok() ? *ids : std::vector<int32_t>();
  }
  std::optional<Tokenizer> tokenizer;
};

INSTANTIATE_TEST_SUITE_P(Files, TokenizerFixture,
                         testing::Values("tokenizer/files", "tokenizer/json"),
                         [](const auto &info) {
                           return std::string(info.index ? "json" : "files");
                         });

TEST_P(TokenizerFixture, MatchesTheReferenceImplementation) {
  ASSERT_ASSIGN(Json vectors,
                readJsonFile(test::fixture("tokenizer/vectors.json")));
  ASSERT_GT(vectors.size(), 100u);
  for (const Json &vector : vectors) {
    auto text = vector["text"].get<std::string>();
    std::vector<int32_t> ids = encode(text);
    ASSERT_EQ(Json(ids), vector["ids"]) << text;
    ASSERT_EQ(tokenizer->decode(ids), text);
    ASSERT_EQ(Json(encode(text, false)), vector["plain_ids"]) << text;
  }
}

TEST_P(TokenizerFixture, SpecialTokens) {
  std::optional<int32_t> end = tokenizer->specialToken("<|endoftext|>");
  ASSERT_TRUE(end.has_value());

  EXPECT_EQ(tokenizer->specialToken("<|end|>"), std::nullopt);
  EXPECT_EQ(tokenizer->specialToken(""), std::nullopt);
  EXPECT_THAT(encode("<|endoftext|>"), testing::ElementsAre(*end));
  EXPECT_GT(encode("<|endoftext|>", false).size(), 1u);
  // The longest added token wins, whatever order they were added in.
  EXPECT_THAT(encode("<padding>"),
              testing::ElementsAre(*tokenizer->specialToken("<padding>")));
  EXPECT_EQ(tokenizer->vocabSize(), 1759);
}

TEST_P(TokenizerFixture, AnyBytesRoundTrip) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char &byte : bytes)
      byte = static_cast<char>(round % 2 ? random() : random() % 12 * 23);
    EXPECT_EQ(tokenizer->decode(encode(bytes)), bytes);
    EXPECT_EQ(tokenizer->decode(encode(bytes, false)), bytes);
  }
}

TEST_P(TokenizerFixture, InvalidBytesAreWordsOfTheirOwn) {
  std::vector<int32_t> the = encode(" the");
  ASSERT_EQ(the.size(), 1u);
  std::vector<int32_t> ids = encode(" the\xff the\xe2\x82 the");
  ASSERT_EQ(ids.size(), 6u);
  EXPECT_EQ(ids[0], the[0]);
  EXPECT_EQ(ids[2], the[0]);
  EXPECT_EQ(ids[5], the[0]);
  EXPECT_EQ(tokenizer->tokenBytes(ids[1]), "\xff");
  EXPECT_EQ(tokenizer->tokenBytes(ids[3]), "\xe2");
}

TEST_P(TokenizerFixture, IdsWithoutATokenDecodeToNothing) {
  std::vector<int32_t> ids = {-1, 1 << 30, tokenizer->vocabSize()};
  EXPECT_EQ(tokenizer->decode(ids), "");
  EXPECT_EQ(tokenizer->tokenBytes(-5), "");
}

/// A run of one kind of character is one word: merging it must not take
/// quadratic time, which would be hours here.
TEST_P(TokenizerFixture, LongRunsAreFast) {
  auto start = std::chrono::steady_clock::now();
  for (std::string run :
       {std::string(1 << 20, 'a'), std::string(1 << 20, ' '),
        std::string(1 << 20, '\n') + "x", std::string(1 << 20, '\x80')})
    EXPECT_EQ(tokenizer->decode(encode(run)), run);
  std::string letters;
  for (unsigned i = 0; i < 1u << 20; ++i)
    letters.push_back(static_cast<char>('a' + i * i % 23));
  EXPECT_EQ(tokenizer->decode(encode(letters)), letters);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(1));
}

TEST_P(TokenizerFixture, ThreadsMayShareOne) {
  std::string text = "The quality of mercy is not strained. 'Tis\n\n 1234";
  std::vector<int32_t> expected = encode(text);
  std::vector<std::thread> threads;
  std::array<bool, 4> same{};
  for (bool &result : same)
    threads.emplace_back([&] {
      result = true;
      for (int i = 0; i < 200; ++i)
        result = result && *tokenizer->encode(text) == expected;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_THAT(same, testing::Each(true));
}

TEST(Tokenizer, MatchesGpt2) {
  REQUIRE_SHARED(shared);
  ASSERT_ASSIGN(Tokenizer tokenizer,
                Tokenizer::load(shared + "/models/gpt2-mini"));
  EXPECT_EQ(tokenizer.vocabSize(), 50257);
  EXPECT_EQ(tokenizer.specialToken("<|endoftext|>"), 50256);
  ASSERT_ASSIGN(Json vectors,
                readJsonFile(shared + "/data/tokenizer_vectors.json"));
  ASSERT_GE(vectors.size(), 20u);
  for (const Json &vector : vectors) {
    auto text = vector["text"].get<std::string>();
    ASSERT_ASSIGN(std::vector<int32_t> ids,
                  tokenizer.encode(text, {.parseSpecial = false}));
    EXPECT_EQ(Json(ids), vector["ids"]) << text;
    EXPECT_EQ(tokenizer.decode(ids), text);
  }
}

/// Tokens that end inside a code point are what the stream is for.
TEST(Tokenizer, StreamsWholeCodePoints) {
  REQUIRE_SHARED(shared);
  ASSERT_ASSIGN(Tokenizer tokenizer,
                Tokenizer::load(shared + "/models/gpt2-mini"));
  std::string text = "\xf0\x9f\xa4\x97 na\xc3\xafve \xe4\xb8\xad\xe6\x96\x87";
  ASSERT_ASSIGN(std::vector<int32_t> ids, tokenizer.encode(text));
  Utf8Stream stream;
  std::string streamed;
  size_t split = 0;
  for (int32_t id : ids) {
    split += !validUtf8(tokenizer.tokenBytes(id));
    std::string piece = stream.push(tokenizer.tokenBytes(id));
    EXPECT_TRUE(validUtf8(piece));
    streamed += piece;
  }
  EXPECT_GT(split, 0u);
  EXPECT_EQ(streamed + stream.finish(), text);
}

/// nanoGPT's and llm.c's counts for this file.
TEST(Tokenizer, CountsTinyShakespeare) {
  REQUIRE_SHARED(shared);
  ASSERT_ASSIGN(Tokenizer tokenizer,
                Tokenizer::load(shared + "/models/gpt2-mini"));
  ASSERT_ASSIGN(std::string text,
                readTextFile(shared + "/data/tinyshakespeare.txt"));
  ASSERT_ASSIGN(std::vector<int32_t> ids, tokenizer.encode(text));
  EXPECT_EQ(ids.size(), 338'025u);
  EXPECT_EQ(tokenizer.decode(ids), text);
}

} // namespace
