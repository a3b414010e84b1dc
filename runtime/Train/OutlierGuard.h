//===- OutlierGuard.h - Gradient norms that stand out -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace gpt2rt {

/// Says above which gradient norm a step is skipped: the mean of the recent
/// norms and `sigma` of their standard deviations. Norms of skipped steps count
/// too, so that a lasting change is followed and not refused for ever.
class OutlierGuard {
public:
  /// Norms that the rule looks at, and how many it needs to begin.
  static constexpr size_t window = 128, least = 20;

  explicit OutlierGuard(double sigma) : sigma(sigma) {}

  /// 0 where there is no limit (yet).
  double limit() const;
  /// Takes a step's norm; those that are not finite tell nothing.
  void add(double norm);

  const std::vector<double> &norms() const { return recent; }
  void restore(std::vector<double> norms) { recent = std::move(norms); }

private:
  double sigma;
  std::vector<double> recent; // the oldest first
};

} // namespace gpt2rt
