//===- Dataset.h - Where a run's tokens come from ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gpt2rt {

/// A row whose loss does not count.
inline constexpr int32_t ignoredTarget = -1;

/// Samples of one sequence each. One thread at a time may use a data set.
class Dataset {
public:
  virtual ~Dataset() = default;

  /// How many samples belong to each group that is shuffled in itself.
  virtual std::vector<uint64_t> groupSizes() const = 0;

  /// How many of a sample's rows have a label.
  virtual uint64_t scoredTokens(uint64_t sample) const = 0;

  /// Writes a sample's rows: tokens, and the labels that they should predict.
  /// Both spans are as long as a sequence, or shorter where all of the sample's
  /// labels fit.
  virtual Status fill(uint64_t sample, std::span<int32_t> inputs,
                      std::span<int32_t> targets) = 0;

  /// What the data is, as one line: a run is resumed on the same data only.
  virtual std::string identity() const = 0;
};

} // namespace gpt2rt
