//===- Sampling.h - Drawing a token on the host -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The algorithm of SamplingParams.h as the CPU executor runs it. Sets of
// largest logits ("top k", "nucleus") are found as a threshold on the logits'
// integer keys by three rounds of radix search, so nothing is sorted, nothing
// allocated, and equal logits are kept or dropped together.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/SamplingMath.h"
#include "runtime/Device/SamplingParams.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>

namespace gpt2rt {

namespace detail {

inline uint32_t samplingKey(float logit) {
  return orderedKey(std::bit_cast<uint32_t>(logit));
}

/// The largest key T such that the weights of all keys >= T sum to at least
/// `need` (which the whole sum does), found 11, 11 and 10 bits at a time.
/// `weightOf(i, key)` is 0 for what is dropped already. `need(total)` turns
/// the sum of all weights into what must be reached.
template <typename WeightOf, typename Need>
uint32_t largestThreshold(std::span<const float> logits, WeightOf weightOf,
                          Need need) {
  constexpr struct {
    unsigned shift, bits;
  } digits[3] = {{21, 11}, {10, 11}, {0, 10}};
  uint32_t prefix = 0;
  uint64_t missing = 0;
  for (unsigned digit = 0; digit < 3; ++digit) {
    auto [shift, bits] = digits[digit];
    uint64_t sums[2048] = {};
    for (size_t i = 0; i < logits.size(); ++i) {
      uint32_t key = samplingKey(logits[i]);
      // Keys of the prefix that the digits so far have chosen.
      if (digit == 0 || (key >> (shift + bits)) == prefix)
        sums[(key >> shift) & ((1u << bits) - 1)] += weightOf(i, key);
    }
    if (digit == 0) {
      uint64_t total = 0;
      for (uint64_t sum : sums)
        total += sum;
      missing = need(total);
    }
    uint32_t bin = (1u << bits) - 1;
    for (; bin > 0 && sums[bin] < missing; --bin)
      missing -= sums[bin];
    prefix = (prefix << bits) | bin;
  }
  return prefix;
}

} // namespace detail

/// Draws the token that will stand at `position`, or invalidToken where a
/// logit is NaN or the largest is not finite. topP is in (0, 1].
inline int32_t sampleToken(std::span<const float> logits,
                           const SamplingParams &params, uint32_t position) {
  uint32_t largestKey = 0;
  for (float logit : logits)
    largestKey = std::max(largestKey, detail::samplingKey(logit));
  if (largestKey <= keyOfMinusInfinity || largestKey >= keyOfInfinity)
    return invalidToken;
  auto first = std::find_if(logits.begin(), logits.end(), [&](float logit) {
    return detail::samplingKey(logit) == largestKey;
  });
  if (params.temperature == 0.0f || params.topK == 1)
    return static_cast<int32_t>(first - logits.begin());

  float largest = *first;
  float scale = samplingScale(params.temperature);
  uint32_t threshold = 0;
  auto weightOf = [&](size_t i, uint32_t key) -> uint64_t {
    return key >= threshold ? sampleWeight(logits[i], largest, scale) : 0;
  };
  if (params.topK > 0 && static_cast<size_t>(params.topK) < logits.size())
    threshold = detail::largestThreshold(
        logits, [](size_t, uint32_t) -> uint64_t { return 1; },
        [&](uint64_t) { return static_cast<uint64_t>(params.topK); });
  if (params.topP < 1.0f)
    threshold = std::max(
        threshold,
        detail::largestThreshold(logits, weightOf, [&](uint64_t total) {
          return nucleusWeight(total, params.topP);
        }));

  uint64_t kept = 0;
  for (size_t i = 0; i < logits.size(); ++i)
    kept += weightOf(i, detail::samplingKey(logits[i]));
  uint64_t target =
      multiplyHigh(philoxDraw(position, params.seedLow, params.seedHigh), kept);
  uint64_t sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    sum += weightOf(i, detail::samplingKey(logits[i]));
    if (sum > target)
      return static_cast<int32_t>(i);
  }
  return invalidToken; // not reached: target < kept
}

} // namespace gpt2rt
