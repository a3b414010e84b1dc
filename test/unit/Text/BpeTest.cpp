//===- BpeTest.cpp - The merge loop ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Text/Bpe.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

using namespace gpt2rt;

namespace {

/// Merges among the tokens of a small alphabet, drawn at random: ranks,
/// overlaps and merges that undo others' chances in every combination.
struct RandomBpe {
  std::map<std::pair<int32_t, int32_t>, Merge> merges;
  std::array<int32_t, 256> bytes;

  explicit RandomBpe(std::mt19937 &random) {
    for (int i = 0; i < 256; ++i)
      bytes[i] = i;
    int32_t next = 256;
    for (uint32_t rank = 0; rank < 80; ++rank) {
      auto token = [&] {
        size_t pick = random() % (4 + next - 256);
        return pick < 4 ? int32_t('a' + pick) : int32_t(252 + pick);
      };
      if (merges.emplace(std::pair(token(), token()), Merge{rank, next}).second)
        ++next;
    }
  }

  Bpe make() const {
    MergeTable table(merges.size());
    for (auto &[pair, merge] : merges)
      EXPECT_TRUE(table.insert(pair.first, pair.second, merge));
    return Bpe(std::move(table), bytes);
  }

  /// The definition: merge the leftmost pair of lowest rank until none is left.
  std::vector<int32_t> reference(std::string_view word) const {
    std::vector<int32_t> tokens;
    for (unsigned char byte : word)
      tokens.push_back(bytes[byte]);
    for (;;) {
      const Merge *best = nullptr;
      size_t where = 0;
      for (size_t i = 0; i + 1 < tokens.size(); ++i) {
        auto found = merges.find({tokens[i], tokens[i + 1]});
        if (found != merges.end() && (!best || found->second.rank < best->rank))
          best = &found->second, where = i;
      }
      if (!best)
        return tokens;
      tokens[where] = best->result;
      tokens.erase(tokens.begin() + where + 1);
    }
  }
};

TEST(Bpe, EqualsItsDefinition) {
  std::mt19937 random(17);
  size_t merged = 0;
  for (int round = 0; round < 40; ++round) {
    RandomBpe tables(random);
    Bpe bpe = tables.make();
    // Around and far beyond the length where the heap takes over.
    for (size_t length : {1, 2, 3, 10, 63, 64, 65, 66, 150, 400}) {
      std::string word(length, 'a');
      for (char &letter : word)
        letter = "abcd"[random() % 4];
      std::vector<int32_t> tokens = {-7}; // appended to, not replaced
      bpe.encodeWord(word, tokens);
      std::vector<int32_t> expected = tables.reference(word);
      merged += length - expected.size();
      expected.insert(expected.begin(), -7);
      ASSERT_EQ(tokens, expected) << word;
    }
  }
  EXPECT_GT(merged, 5'000u); // the tables do merge
}

TEST(Bpe, AnEmptyWordHasNoTokens) {
  std::mt19937 random(1);
  std::vector<int32_t> tokens;
  RandomBpe(random).make().encodeWord("", tokens);
  EXPECT_TRUE(tokens.empty());
}

TEST(MergeTable, KeepsTheFirstOfEqualPairs) {
  MergeTable table(2);
  EXPECT_EQ(table.find(1, 2), nullptr);
  EXPECT_TRUE(table.insert(1, 2, {5, 9}));
  EXPECT_FALSE(table.insert(1, 2, {6, 10}));
  EXPECT_TRUE(table.insert(2, 1, {7, 11}));
  EXPECT_EQ(table.find(1, 2)->rank, 5u);
  EXPECT_EQ(table.find(2, 1)->result, 11);
}

} // namespace
