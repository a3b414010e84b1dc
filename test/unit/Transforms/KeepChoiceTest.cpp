// The dynamic programming behind rematerialize, against all choices.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/KeepChoice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

using namespace mlir::gpt2c;

namespace {

KeepProblem randomProblem(std::mt19937 &random) {
  auto number = [&](int64_t most) {
    return static_cast<int64_t>(random() % (most + 1));
  };
  KeepProblem problem;
  problem.layers.resize(1 + number(3));
  for (auto &layer : problem.layers)
    for (int64_t i = 0; i <= number(4); ++i) {
      int64_t kept = number(20);
      layer.push_back({kept, kept + number(20), double(number(30))});
    }
  problem.middle = number(15);
  problem.outside = number(30);
  return problem;
}

/// Calls `use` with every choice of one candidate a layer.
template <typename Use>
void forEachChoice(const KeepProblem &problem, Use use) {
  std::vector<size_t> choice(problem.layers.size());
  while (true) {
    use(choice);
    size_t layer = 0;
    while (layer < choice.size() &&
           ++choice[layer] == problem.layers[layer].size())
      choice[layer++] = 0;
    if (layer == choice.size())
      return;
  }
}

double secondsOf(const KeepProblem &problem,
                 const std::vector<size_t> &choice) {
  double seconds = 0;
  for (size_t layer = 0; layer < choice.size(); ++layer)
    seconds += problem.layers[layer][choice[layer]].seconds;
  return seconds;
}

TEST(KeepChoice, IsTheCheapestThatFits) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    KeepProblem problem = randomProblem(random);
    int64_t budget = 10 + static_cast<int64_t>(random() % 100);
    std::optional<double> best;
    int64_t least = std::numeric_limits<int64_t>::max();
    forEachChoice(problem, [&](const std::vector<size_t> &choice) {
      int64_t peak = peakOf(problem, choice);
      least = std::min(least, peak);
      double seconds = secondsOf(problem, choice);
      if (peak <= budget && (!best || seconds < *best))
        best = seconds;
    });
    EXPECT_EQ(leastPeak(problem), least);
    std::optional<KeepChoice> found = chooseKept(problem, budget);
    ASSERT_EQ(found.has_value(), best.has_value()) << "round " << round;
    if (!found)
      continue;
    EXPECT_EQ(found->seconds, *best);
    EXPECT_EQ(found->seconds, secondsOf(problem, found->candidates));
    EXPECT_EQ(found->peak, peakOf(problem, found->candidates));
    EXPECT_LE(found->peak, budget);
  }
}

TEST(KeepChoice, PeakCountsLayersBelow) {
  // Layer 1 works while 5 bytes of layer 0 wait; between the halves 12 do.
  KeepProblem problem = {{{{5, 8, 0}}, {{7, 9, 0}}}, 3, 4};
  size_t first[] = {0, 0};
  EXPECT_EQ(peakOf(problem, first), 12 + 3);
  problem.layers[1][0].need = 20;
  EXPECT_EQ(peakOf(problem, first), 5 + 20);
  problem.outside = 40;
  EXPECT_EQ(peakOf(problem, first), 40);
}

TEST(KeepChoice, LeavesOutWhatIsBeaten) {
  std::vector<KeepCandidate> candidates = {{10, 12, 0}, {5, 12, 2}, {5, 11, 2},
                                           {5, 11, 2},  {6, 11, 3}, {1, 20, 9}};
  // In order of bytes kept; of equal ones the first stays.
  EXPECT_EQ(paretoOptimal(candidates), (std::vector<size_t>{5, 2, 0}));
}

TEST(KeepChoice, DeepModelsStayExactAndQuick) {
  // 48 equal layers of 17 candidates, bytes in multiples of one unit.
  KeepProblem problem;
  std::vector<KeepCandidate> layer;
  for (int64_t i = 0; i < 17; ++i)
    layer.push_back({17 - i, 17, double(i * i)});
  problem.layers.assign(48, layer);
  std::optional<KeepChoice> choice = chooseKept(problem, 48 * 10);
  ASSERT_TRUE(choice);
  // The last layer drops nothing, for its own 17 bytes are live anyway. The
  // others must drop 47 * 17 - (480 - 17) = 336 bytes, and costs are convex: 7
  // of them drop 8 and 40 drop 7.
  EXPECT_EQ(choice->seconds, 7 * 8 * 8 + 40 * 7 * 7);
}

TEST(KeepChoice, ManySumsKeepASolution) {
  // Bytes without a common unit make more sums than are told apart.
  std::mt19937 random(2);
  KeepProblem problem;
  problem.layers.resize(24);
  int64_t least = 0;
  for (auto &layer : problem.layers) {
    for (int i = 0; i < 8; ++i) {
      int64_t kept = 1000000 + static_cast<int64_t>(random() % 1000000);
      layer.push_back({kept, kept, 1e6 / static_cast<double>(kept)});
    }
    least += std::min_element(layer.begin(), layer.end(), [](auto &a, auto &b) {
               return a.kept < b.kept;
             })->kept;
  }
  EXPECT_EQ(leastPeak(problem), least);
  EXPECT_TRUE(chooseKept(problem, least));
  EXPECT_FALSE(chooseKept(problem, least - 1));
}

} // namespace
