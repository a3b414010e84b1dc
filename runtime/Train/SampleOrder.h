//===- SampleOrder.h - In which order samples are trained on ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The samples of all epochs form one endless sequence. Which sample stands at
// a position follows from the seed and the position alone, so a resumed run
// needs nothing else to go on, and no list of samples is ever held.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace gpt2rt {

/// A well mixed 64-bit hash (splitmix64's finaliser).
uint64_t mixBits(uint64_t value);

/// A random-looking bijection of [0, size) that holds no table: a Feistel
/// network over the next power of four, walked until it lands inside.
class Permutation {
public:
  Permutation(uint64_t size, uint64_t key);
  uint64_t operator()(uint64_t index) const;

private:
  uint64_t size;
  uint64_t key;
  unsigned halfBits;
};

/// Samples come in groups (the windows of a shard). Every epoch visits all of
/// them once: the groups shuffled, and the samples inside each group.
class SampleOrder {
public:
  SampleOrder(const std::vector<uint64_t> &groupSizes, uint64_t seed,
              bool shuffle);

  /// Brings samples of like lengths together: cuts the sequence into windows of
  /// some dozens of micro-batches, sorts each by length, and shuffles its
  /// micro-batches.
  void groupByLength(std::function<uint64_t(uint64_t sample)> length,
                     uint64_t batch);

  /// The sample at a position of the endless sequence. Cheapest for positions
  /// that follow one another.
  uint64_t at(uint64_t position);

  uint64_t samplesPerEpoch() const { return total; }

private:
  uint64_t shuffledAt(uint64_t position);
  void arrange(uint64_t newEpoch);
  void arrangeWindow(uint64_t newWindow);

  std::vector<uint64_t> starts; // of each group, and the total
  uint64_t total;
  uint64_t seed;
  bool shuffle;
  // This epoch's groups in order, and the positions where each ends.
  uint64_t epoch = UINT64_MAX;
  std::vector<uint32_t> groups;
  std::vector<uint64_t> ends;
  // Of groupByLength(): the samples of one window, in order.
  std::function<uint64_t(uint64_t)> lengthOf;
  uint64_t batch = 0, window = UINT64_MAX;
  std::vector<uint64_t> samples; // their number is that of every window
};

} // namespace gpt2rt
