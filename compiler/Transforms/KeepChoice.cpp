// Which candidate each layer of a training program takes.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/KeepChoice.h"

#include <algorithm>
#include <limits>
#include <tuple>

using namespace mlir::gpt2c;

std::vector<size_t>
mlir::gpt2c::paretoOptimal(std::span<const KeepCandidate> candidates) {
  auto key = [&](size_t i) {
    return std::tuple(candidates[i].kept, candidates[i].need,
                      candidates[i].seconds, i);
  };
  std::vector<size_t> order(candidates.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return key(a) < key(b); });
  // Whatever beats a candidate stands before it.
  std::vector<size_t> best;
  for (size_t i : order)
    if (std::none_of(best.begin(), best.end(), [&](size_t other) {
          return candidates[other].need <= candidates[i].need &&
                 candidates[other].seconds <= candidates[i].seconds;
        }))
      best.push_back(i);
  return best;
}

int64_t mlir::gpt2c::peakOf(const KeepProblem &problem,
                            std::span<const size_t> candidates) {
  int64_t kept = 0, peak = problem.outside;
  for (size_t layer = 0; layer < problem.layers.size(); ++layer) {
    const KeepCandidate &candidate = problem.layers[layer][candidates[layer]];
    peak = std::max(peak, kept + candidate.need);
    kept += candidate.kept;
  }
  return std::max(peak, kept + problem.middle);
}

namespace {

/// The cheapest way to have kept `bytes` in the layers so far.
struct State {
  int64_t bytes = 0;
  double seconds = 0;
  size_t previous = 0; ///< state of the layer before
  size_t candidate = 0;
};

/// Keeps the cheapest states: fewer bytes or fewer seconds than any other.
void prune(std::vector<State> &states) {
  std::sort(states.begin(), states.end(), [](const State &a, const State &b) {
    return std::tie(a.bytes, a.seconds) < std::tie(b.bytes, b.seconds);
  });
  double least = std::numeric_limits<double>::infinity();
  std::erase_if(states, [&](const State &state) {
    bool isBeaten = state.seconds >= least;
    least = std::min(least, state.seconds);
    return isBeaten;
  });
  // Beyond the limit every n-th goes on, and with it the fewest bytes.
  size_t stride = (states.size() + maxKeepStates - 1) / maxKeepStates;
  if (stride < 2)
    return;
  for (size_t i = 0; i * stride < states.size(); ++i)
    states[i] = states[i * stride];
  states.resize((states.size() + stride - 1) / stride);
}

std::vector<State> extend(const std::vector<State> &states,
                          std::span<const KeepCandidate> candidates,
                          int64_t budget) {
  std::vector<State> next;
  for (size_t i = 0; i < states.size(); ++i)
    for (size_t j = 0; j < candidates.size(); ++j)
      if (states[i].bytes + candidates[j].need <= budget)
        next.push_back({states[i].bytes + candidates[j].kept,
                        states[i].seconds + candidates[j].seconds, i, j});
  prune(next);
  return next;
}

} // namespace

std::optional<KeepChoice> mlir::gpt2c::chooseKept(const KeepProblem &problem,
                                                  int64_t budget) {
  if (problem.outside > budget)
    return std::nullopt;
  std::vector<std::vector<State>> stages = {{State()}};
  for (const auto &candidates : problem.layers)
    stages.push_back(extend(stages.back(), candidates, budget));
  // States are sorted by bytes, and the more bytes the cheaper.
  const std::vector<State> &last = stages.back();
  size_t at = last.size();
  while (at > 0 && last[at - 1].bytes + problem.middle > budget)
    --at;
  if (at == 0)
    return std::nullopt;
  KeepChoice choice;
  choice.seconds = last[at - 1].seconds;
  choice.candidates.resize(problem.layers.size());
  size_t state = at - 1;
  for (size_t layer = problem.layers.size(); layer-- > 0;) {
    const State &taken = stages[layer + 1][state];
    choice.candidates[layer] = taken.candidate;
    state = taken.previous;
  }
  choice.peak = peakOf(problem, choice.candidates);
  return choice;
}

/// Whether some choice stays within `budget`. Keeping less in a layer never
/// hurts a later one, so that each may take the least that fits.
static bool fits(const KeepProblem &problem, int64_t budget) {
  int64_t kept = 0;
  for (const auto &candidates : problem.layers) {
    std::optional<int64_t> least;
    for (const KeepCandidate &candidate : candidates)
      if (kept + candidate.need <= budget)
        least = std::min(least.value_or(candidate.kept), candidate.kept);
    if (!least)
      return false;
    kept += *least;
  }
  return kept + problem.middle <= budget && problem.outside <= budget;
}

int64_t mlir::gpt2c::leastPeak(const KeepProblem &problem) {
  int64_t low = 0, high = problem.outside + problem.middle;
  for (const auto &candidates : problem.layers)
    if (!candidates.empty())
      high += candidates.front().need + candidates.front().kept;
  // high fits, low - 1 does not.
  while (low < high) {
    int64_t half = low + (high - low) / 2;
    if (fits(problem, half))
      high = half;
    else
      low = half + 1;
  }
  return high;
}
