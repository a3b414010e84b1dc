//===- SamplingTest.cpp - The sampling algorithm --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Device/Sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

using namespace gpt2rt;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

SamplingParams sampled(float temperature, int32_t topK = 0, float topP = 1,
                       uint64_t seed = 1) {
  SamplingParams params;
  params.temperature = temperature;
  params.topK = topK;
  params.topP = topP;
  params.seedLow = static_cast<uint32_t>(seed);
  params.seedHigh = static_cast<uint32_t>(seed >> 32);
  return params;
}

std::vector<float> randomLogits(std::mt19937 &random, size_t count) {
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> logits(count);
  for (float &logit : logits)
    logit = normal(random);
  // Repeated values, so that thresholds meet ties.
  for (size_t i = 0; i + 7 < count; i += 11)
    logits[i] = logits[i + 7];
  return logits;
}

/// Hugging Face's order in doubles and with a sort: what each token's
/// probability is after temperature, top-k and top-p.
std::vector<double> referenceProbabilities(const std::vector<float> &logits,
                                           const SamplingParams &params) {
  std::vector<float> sorted = logits;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  float kth = params.topK > 0 && size_t(params.topK) < sorted.size()
                  ? sorted[params.topK - 1]
                  : -infinity;
  auto weight = [&](float logit) {
    return logit < kth ? 0.0
                       : std::exp((double(logit) - sorted[0]) /
                                  double(params.temperature));
  };
  double total = 0;
  for (float logit : logits)
    total += weight(logit);
  float lowest = kth;
  double sum = 0;
  for (size_t i = 0; params.topP < 1 && i < sorted.size(); ++i) {
    sum += weight(sorted[i]);
    lowest = sorted[i];
    if (sum >= double(params.topP) * total)
      break;
  }
  double kept = 0;
  std::vector<double> result;
  for (float logit : logits)
    kept += result.emplace_back(logit < lowest ? 0.0 : weight(logit));
  for (double &value : result)
    value /= kept;
  return result;
}

TEST(SamplingMath, PhiloxMatchesItsPublishedTestVector) {
  EXPECT_EQ(philoxDraw(0, 0, 0), 0xe169c58d6627e8d5u);
}

TEST(SamplingMath, ExpTwoIsWithinOneUnitAndExactAtWholePowers) {
  for (uint32_t whole = 0; whole <= 40; ++whole)
    EXPECT_EQ(expTwo(whole << 23), uint64_t(1) << (40 - whole));
  EXPECT_EQ(expTwo(126u << 23), 0u);
  for (uint32_t units = 0; units < (42u << 23); units += 9973) {
    double expected = std::exp2(40 - units / 8388608.0);
    ASSERT_NEAR(double(expTwo(units)), expected, 1 + 2e-9 * expected) << units;
  }
}

TEST(SamplingMath, WeightsNeverRiseAsLogitsFall) {
  uint64_t previous = expTwo(0);
  for (uint32_t units = 1; units < (3u << 23); ++units) {
    uint64_t weight = expTwo(units);
    ASSERT_LE(weight, previous) << units;
    previous = weight;
  }
}

TEST(SamplingMath, KeysOrderLikeFloats) {
  auto key = detail::samplingKey;
  const float values[] = {-infinity, -3e38f, -1,    -1e-45f, 0,
                          1e-45f,    1,      3e38f, infinity};
  for (size_t i = 1; i < std::size(values); ++i)
    EXPECT_LT(key(values[i - 1]), key(values[i])) << values[i];
  EXPECT_EQ(key(-0.0f), key(0.0f));
  EXPECT_EQ(key(-infinity), keyOfMinusInfinity);
  EXPECT_EQ(key(infinity), keyOfInfinity);
  EXPECT_GT(key(std::nanf("")), keyOfInfinity);
  EXPECT_GT(key(-std::nanf("")), keyOfInfinity);
}

TEST(SamplingMath, MultiplyHighEqualsWideMultiplication) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000; ++i) {
    uint64_t a = random(), b = random() >> (i % 64);
    ASSERT_EQ(multiplyHigh(a, b), uint64_t((unsigned __int128)a * b >> 64));
  }
}

TEST(SamplingMath, NucleusWeightRoundsUp) {
  EXPECT_EQ(nucleusWeight(uint64_t(1) << 40, 0.5f), uint64_t(1) << 39);
  EXPECT_EQ(nucleusWeight((uint64_t(1) << 40) + 1, 0.5f),
            (uint64_t(1) << 39) + 1);
  EXPECT_EQ(nucleusWeight(12345, 1e-20f), 1u);
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    uint64_t total = random() >> 1;
    float topP = float(random() >> 40) / float(1 << 24);
    auto product = (unsigned __int128)total * uint64_t(topP * 4294967296.0f);
    auto expected = uint64_t((product + 0xffffffffu) >> 32);
    ASSERT_EQ(nucleusWeight(total, topP), std::max<uint64_t>(expected, 1));
  }
}

TEST(Sampling, GreedyTakesTheLowestIndexOfTheLargest) {
  std::vector<float> logits = {1, 4, -2, 4, 3};
  EXPECT_EQ(sampleToken(logits, sampled(0), 5), 1);
  EXPECT_EQ(sampleToken(logits, sampled(1, /*topK=*/1), 5), 1);
  std::vector<float> zeros = {-infinity, -0.0f, 0.0f};
  EXPECT_EQ(sampleToken(zeros, sampled(0), 5), 1);
}

TEST(Sampling, RefusesNaNAndInfiniteLogits) {
  std::vector<float> logits = {1, std::nanf(""), 2};
  EXPECT_EQ(sampleToken(logits, sampled(0), 0), invalidToken);
  EXPECT_EQ(sampleToken(logits, sampled(1), 0), invalidToken);
  logits[1] = infinity;
  EXPECT_EQ(sampleToken(logits, sampled(0), 0), invalidToken);
  std::vector<float> nothing(4, -infinity);
  EXPECT_EQ(sampleToken(nothing, sampled(0.7f), 0), invalidToken);
}

TEST(Sampling, NeverDrawsMinusInfinity) {
  std::vector<float> logits = {-infinity, 0, -infinity, 0, -infinity};
  for (uint32_t position = 0; position < 200; ++position)
    EXPECT_EQ(sampleToken(logits, sampled(100), position) % 2, 1);
}

TEST(Sampling, TinyTopPKeepsExactlyTheLargest) {
  std::mt19937 random(5);
  std::vector<float> logits = randomLogits(random, 50257);
  logits[40000] = 20.25f;
  for (uint32_t position = 0; position < 20; ++position)
    for (float temperature : {0.01f, 1.0f, 1000.0f})
      EXPECT_EQ(sampleToken(logits, sampled(temperature, 0, 1e-8f), position),
                40000);
}

TEST(Sampling, TinyTemperatureIsGreedy) {
  std::vector<float> logits = {1, 1.5f, 1.25f};
  for (float temperature : {1e-3f, 1e-20f, 1e-45f})
    EXPECT_EQ(sampleToken(logits, sampled(temperature), 3), 1);
}

TEST(Sampling, TopKBeyondTheVocabularyKeepsAll) {
  std::vector<float> logits = {0.5f, 0.25f, 0.125f};
  for (uint32_t position = 0; position < 50; ++position)
    EXPECT_EQ(sampleToken(logits, sampled(1, 1000), position),
              sampleToken(logits, sampled(1), position));
}

TEST(Sampling, DependsOnSeedAndPositionOnly) {
  std::mt19937 random(9);
  std::vector<float> logits = randomLogits(random, 500);
  SamplingParams params = sampled(4, 0, 1, 42);
  EXPECT_EQ(sampleToken(logits, params, 8), sampleToken(logits, params, 8));
  int differ = 0;
  for (uint32_t position = 0; position < 64; ++position)
    differ += sampleToken(logits, params, position) !=
              sampleToken(logits, sampled(4, 0, 1, 43), position);
  EXPECT_GT(differ, 32);
}

/// The token must lie where the reference's cumulative probability meets the
/// same random number, up to the rounding of the weights.
TEST(Sampling, AgreesWithASortingReference) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> unit(0.01f, 1.0f);
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<float> logits = randomLogits(random, 40 + random() % 1000);
    auto topK = static_cast<int32_t>(trial % 3 ? random() % 60 : 0);
    SamplingParams params = sampled(2 * unit(random), topK,
                                    trial % 2 ? unit(random) : 1.0f, random());
    uint32_t position = random() % 1024;
    int32_t token = sampleToken(logits, params, position);
    ASSERT_GE(token, 0);
    if (params.topK == 1)
      continue;
    std::vector<double> probabilities = referenceProbabilities(logits, params);
    ASSERT_GT(probabilities[token], 0) << "trial " << trial;
    double drawn =
        double(philoxDraw(position, params.seedLow, params.seedHigh)) * 0x1p-64;
    double below = std::accumulate(probabilities.begin(),
                                   probabilities.begin() + token, 0.0);
    EXPECT_GE(drawn, below - 1e-6) << "trial " << trial;
    EXPECT_LE(drawn, below + probabilities[token] + 1e-6) << "trial " << trial;
  }
}

TEST(Sampling, DrawsFollowTheDistribution) {
  std::vector<float> logits = {2, 1, 0, -1, 1};
  SamplingParams params = sampled(0.8f, 4, 0.9f);
  std::vector<double> expected = referenceProbabilities(logits, params);
  std::vector<int> counts(logits.size());
  constexpr int draws = 20000;
  for (int i = 0; i < draws; ++i)
    ++counts[sampleToken(logits, params, i)];
  for (size_t i = 0; i < logits.size(); ++i)
    EXPECT_NEAR(counts[i], draws * expected[i], 4 * std::sqrt(draws * 0.25));
}

} // namespace
