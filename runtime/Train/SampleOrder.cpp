//===- SampleOrder.cpp - In which order samples are trained on ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/SampleOrder.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

using namespace gpt2rt;

uint64_t gpt2rt::mixBits(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

Permutation::Permutation(uint64_t size, uint64_t key) : size(size), key(key) {
  unsigned bits = size > 1 ? std::bit_width(size - 1) : 0;
  halfBits = std::max(1u, (bits + 1) / 2);
}

uint64_t Permutation::operator()(uint64_t index) const {
  constexpr int rounds = 6;
  uint64_t mask = (uint64_t(1) << halfBits) - 1;
  do {
    uint64_t left = index >> halfBits, right = index & mask;
    for (int round = 0; round < rounds; ++round) {
      uint64_t mixed = mixBits(key ^ mixBits(right + (uint64_t(round) << 56)));
      left = std::exchange(right, left ^ (mixed & mask));
    }
    index = (left << halfBits) | right;
  } while (index >= size); // fewer than four walks on average
  return index;
}

SampleOrder::SampleOrder(const std::vector<uint64_t> &groupSizes, uint64_t seed,
                         bool shuffle)
    : starts(1, 0), seed(seed), shuffle(shuffle) {
  for (uint64_t size : groupSizes)
    starts.push_back(starts.back() + size);
  total = starts.back();
  groups.resize(groupSizes.size());
  ends.resize(groupSizes.size());
}

void SampleOrder::arrange(uint64_t newEpoch) {
  epoch = newEpoch;
  std::iota(groups.begin(), groups.end(), 0);
  uint64_t key = mixBits(seed ^ mixBits(epoch));
  if (shuffle) // Fisher and Yates
    for (size_t i = groups.size(); i > 1; --i)
      std::swap(groups[i - 1], groups[mixBits(key + i) % i]);
  uint64_t end = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    end += starts[groups[i] + 1] - starts[groups[i]];
    ends[i] = end;
  }
}

void SampleOrder::groupByLength(std::function<uint64_t(uint64_t)> length,
                                uint64_t micro) {
  // As transformers has it: 50 micro-batches, or a quarter of small data.
  constexpr uint64_t mostBatches = 50, parts = 4;
  lengthOf = std::move(length);
  batch = micro;
  uint64_t batches =
      std::clamp<uint64_t>(total / (batch * parts), 1, mostBatches);
  samples.resize(batches * batch);
}

void SampleOrder::arrangeWindow(uint64_t newWindow) {
  window = newWindow;
  std::vector<uint64_t> sorted(samples.size());
  for (size_t i = 0; i < sorted.size(); ++i)
    sorted[i] = shuffledAt(window * sorted.size() + i);
  std::stable_sort(sorted.begin(), sorted.end(), [&](uint64_t a, uint64_t b) {
    return lengthOf(a) > lengthOf(b);
  });
  // Steps of long and of short samples alternate, not one behind the other.
  Permutation place(samples.size() / batch,
                    mixBits(seed ^ mixBits(window ^ 0x6c656e67)));
  for (size_t i = 0; i < sorted.size(); ++i)
    samples[place(i / batch) * batch + i % batch] = sorted[i];
}

uint64_t SampleOrder::at(uint64_t position) {
  if (samples.empty())
    return shuffledAt(position);
  if (position / samples.size() != window)
    arrangeWindow(position / samples.size());
  return samples[position % samples.size()];
}

uint64_t SampleOrder::shuffledAt(uint64_t position) {
  if (position / total != epoch)
    arrange(position / total);
  uint64_t index = position % total;
  auto place = static_cast<size_t>(
      std::upper_bound(ends.begin(), ends.end(), index) - ends.begin());
  uint32_t group = groups[place];
  uint64_t size = starts[group + 1] - starts[group];
  uint64_t inside = index - (ends[place] - size);
  if (shuffle)
    inside = Permutation(size, mixBits(seed + mixBits(epoch + mixBits(group))))(
        inside);
  return starts[group] + inside;
}
