//===- DropoutMathTest.cpp - The hash that decides what is dropped --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/Device/DropoutMath.h"

#include <cmath>
#include <gtest/gtest.h>

namespace gpt2rt {
namespace {

// Runs resume and targets agree only while these numbers stand (computed apart
// from the header, with Python's integers).
TEST(DropoutMath, HashesAsWrittenDown) {
  EXPECT_EQ(dropoutMix(0), 0u);
  EXPECT_EQ(dropoutMix(1), 0x688990c0u);
  EXPECT_EQ(dropoutMix(0x80000000u), 0xcc4b4124u);
  EXPECT_EQ(dropoutMix(0xffffffffu), 0x6768824au);

  struct {
    int32_t rng[4];
    uint32_t id, key, sample, row, query, element, weight;
  } vectors[] = {
      {{1, 2, 3, 4},
       0,
       0x3f8f8e9a,
       0x80604059,
       0x15e2a4ef,
       0x633318b6,
       0x3f100898,
       0x2b79cc64},
      {{-123456789, 42, 17, 5},
       7,
       0xe1fdd41a,
       0x95afe8cf,
       0xd77305c3,
       0xa6389e41,
       0x4b6f939a,
       0xa0f6ff7a},
      {{0, -1, 100000, 0x7fffffff},
       0xffffffff,
       0xe4ee7135,
       0x5112e412,
       0xed63ddfd,
       0x58695d90,
       0xb747e6b7,
       0x42e000b7},
  };
  for (const auto &v : vectors) {
    EXPECT_EQ(dropoutKey(v.rng, v.id), v.key);
    EXPECT_EQ(dropoutSample(v.key, v.rng, 3), v.sample);
    EXPECT_EQ(dropoutRow(v.sample, 9), v.row);
    EXPECT_EQ(dropoutQuery(v.sample, 9, 2), v.query);
    EXPECT_EQ(dropoutMix(v.row ^ 100), v.element);
    EXPECT_EQ(dropoutMix(v.query ^ 100), v.weight);
    EXPECT_TRUE(dropoutKeeps(v.row, 100, v.element));
    EXPECT_FALSE(dropoutKeeps(v.row, 100, v.element + 1));
  }
}

TEST(DropoutMath, ThresholdsAndScalesComeFromDouble) {
  EXPECT_EQ(dropoutThreshold(0), 0u);
  EXPECT_EQ(dropoutThreshold(0.5f), 0x80000000u);
  EXPECT_EQ(dropoutThreshold(0.1f), 429496736u); // of the float nearest to 0.1
  EXPECT_EQ(dropoutThreshold(std::nextafter(1.0f, 0.0f)), 0xffffff00u);
  EXPECT_EQ(dropoutScale(0), 1.0f);
  EXPECT_EQ(dropoutScale(0.2f), 1.25f);
}

// Shares over neighbouring counters within four standard deviations, and the
// masks of neighbours no more alike than chance makes them.
TEST(DropoutMath, DropsTheShareThatWasAskedFor) {
  const int32_t rng[] = {42, 0, 1, 0};
  constexpr int rows = 256, columns = 1024;
  for (float p : {0.1f, 0.5f}) {
    uint32_t threshold = dropoutThreshold(p), key = dropoutKey(rng, 3);
    int dropped = 0, both = 0;
    auto drops = [&](uint32_t row, uint32_t column) {
      uint32_t sample = dropoutSample(key, rng, row / 64);
      return !dropoutKeeps(dropoutRow(sample, row % 64), column, threshold);
    };
    for (uint32_t i = 0; i < rows; ++i)
      for (uint32_t j = 0; j < columns; ++j) {
        dropped += drops(i, j);
        both += drops(i, j) && drops(i + 1, j);
      }
    double n = double(rows) * columns, q = double(p) * p;
    EXPECT_NEAR(dropped, n * p, 4 * std::sqrt(n * p * (1 - p)));
    EXPECT_NEAR(both, n * q, 4 * std::sqrt(n * q * (1 - q)) * 1.5);
  }
}

} // namespace
} // namespace gpt2rt
