// Dropout's mask against the hash that every target shares.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Device/DropoutMath.h"
#include "test/unit/GPT2/RegionEvaluator.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace gpt2test;

namespace {

constexpr double probability = 0.25;
constexpr int64_t columns = 32;

using Rng = std::array<int32_t, 4>;

bool isKept(const Rng &rng, uint32_t id, uint32_t tokens, uint32_t row,
            uint32_t column) {
  uint32_t sample = gpt2rt::dropoutSample(gpt2rt::dropoutKey(rng.data(), id),
                                          rng.data(), row / tokens);
  return gpt2rt::dropoutKeeps(gpt2rt::dropoutRow(sample, row % tokens), column,
                              gpt2rt::dropoutThreshold(probability));
}

Matrix drop(RegionEvaluator &evaluator, const Matrix &x, const Rng &rng,
            int32_t id, int64_t batch) {
  Matrix slot(4, 1);
  for (int64_t i = 0; i < 4; ++i)
    slot.at(i) = rng[i];
  Matrix key = evaluator.run(
      "func.func @k(%rng: tensor<4xi32>) -> tensor<1xi32> {\n  %k:2 = "
      "gpt2.dropout_keys %rng ids [99, " +
          std::to_string(id) +
          "] : tensor<1xi32>, tensor<1xi32>\n  return %k#1 : "
          "tensor<1xi32>\n}",
      {slot}, 1)[0];
  std::string type = "tensor<" + std::to_string(x.rows) + "x32xf32>";
  std::string text =
      "func.func @k(%x: " + type +
      ", %rng: tensor<4xi32>, %key: tensor<1xi32>) -> " + type +
      " {\n  %y = gpt2.dropout %x, %rng, %key probability 0.25 batch " +
      std::to_string(batch) + " : " + type + "\n  return %y : " + type + "\n}";
  return evaluator.run(text, {x, slot, key}, x.rows)[0];
}

TEST(Dropout, FollowsTheHash) {
  RegionEvaluator evaluator;
  constexpr int64_t rows = 6, batch = 2;
  Matrix x = randomMatrix(rows, columns, 1);
  for (const Rng &rng :
       {Rng{1, 2, 3, 4}, Rng{-16, std::numeric_limits<int32_t>::min(), 0, 0},
        Rng{12345, 0, 999, 0x7fffffff}})
    for (int32_t id : {0, 7, 2000}) {
      Matrix y = drop(evaluator, x, rng, id, batch);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          double kept = isKept(rng, id, rows / batch, i, j) ? x.at(i, j) : 0;
          ASSERT_NEAR(y.at(i, j), kept / (1 - probability),
                      1e-7 * std::abs(kept));
        }
    }
}

// The second sample of a micro-batch is the first of one that starts there.
TEST(Dropout, DoesNotDependOnTheMicroBatch) {
  RegionEvaluator evaluator;
  Matrix x = randomMatrix(6, columns, 1), second(3, columns);
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < columns; ++j)
      second.at(i, j) = x.at(3 + i, j);
  Matrix both = drop(evaluator, x, {1, 2, 3, 10}, 5, 2);
  Matrix alone = drop(evaluator, second, {1, 2, 3, 11}, 5, 1);
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < columns; ++j)
      ASSERT_EQ(alone.at(i, j), both.at(3 + i, j));
}

// Every input of the key changes the mask, and masks drop what they should:
// 8192 draws have a standard deviation of 39.
TEST(Dropout, MasksDifferAndHitTheProbability) {
  RegionEvaluator evaluator;
  Matrix ones(256, columns, 1.0);
  Matrix first = drop(evaluator, ones, {1, 2, 3, 4}, 5, 16);
  const std::pair<Rng, int32_t> others[] = {{{2, 2, 3, 4}, 5},
                                            {{1, 3, 3, 4}, 5},
                                            {{1, 2, 4, 4}, 5},
                                            {{1, 2, 3, 20}, 5},
                                            {{1, 2, 3, 4}, 6}};
  for (const auto &[rng, id] : others) {
    Matrix other = drop(evaluator, ones, rng, id, 16);
    int dropped = 0, both = 0;
    for (size_t i = 0; i < ones.data.size(); ++i) {
      dropped += other.data[i] == 0;
      both += other.data[i] == 0 && first.data[i] == 0;
    }
    EXPECT_NEAR(dropped, 8192 * probability, 5 * 39);
    EXPECT_NEAR(both, 8192 * probability * probability, 5 * 22);
  }
}

} // namespace
