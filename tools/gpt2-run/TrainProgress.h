//===- TrainProgress.h - What train prints while it runs --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Train/Metrics.h"

#include <chrono>

namespace gpt2rt::tool {

/// One line that is written over again on a terminal, and lines one after
/// another elsewhere; with --json an object a step on standard output.
class TrainProgress {
public:
  /// `bytes` is the memory that the plan has; `peakFlops` the device's, of
  /// which a share is shown (0: none).
  TrainProgress(bool json, uint64_t bytes, double peakFlops);

  void step(const StepReport &report);
  /// On a terminal, how far a validation is.
  void validation(uint64_t done, uint64_t all);
  /// A text, which stays.
  void sample(const SampleReport &report);
  /// A line of its own, on standard error.
  void message(const std::string &line);
  /// Ends the line on the terminal.
  void finish();

private:
  std::string lineOf(const StepReport &report) const;

  bool json, terminal;
  uint64_t bytes;
  double peakFlops;
  bool open = false; // a line on the terminal has no end yet
  std::chrono::steady_clock::time_point shown; // when validation was
};

} // namespace gpt2rt::tool
