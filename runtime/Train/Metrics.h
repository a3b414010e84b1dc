//===- Metrics.h - What a run tells of its steps ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// RUN/metrics.jsonl has an object a line: one a step, one with "step" and
// "val_loss" where the run begins, and one a text that was drawn. The same goes
// to TensorBoard's event files beside it, and at the end losses go into
// RUN/loss.svg.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Train/EventFile.h"
#include "runtime/Train/TextSampler.h"

#include <optional>
#include <vector>

namespace gpt2rt {

struct StepReport {
  uint64_t step = 0, steps = 0; ///< from 1, and of the whole run
  double loss = 0, learningRate = 0, gradNorm = 0, lossScale = 1;
  bool skipped = false;
  uint64_t applied = 0, skippedSteps = 0; ///< up to and with this one
  uint64_t tokens = 0;                    ///< labels of this step
  uint64_t computedTokens = 0; ///< rows of its micro-batches, with padding
  double epoch = 0;            ///< of the data, with this step
  double seconds = 0, tokensPerSecond = 0;
  double flops = 0; ///< the model's own for all rows, nothing recomputed
  double flopsPerSecond = 0;
  double loaderWait = 0; ///< seconds
  double loaderTokensPerSecond = 0;
  double secondsLeft = 0;
  std::optional<double> valLoss;

  /// The share of rows that have no label.
  double padding() const {
    return computedTokens ? 1 - double(tokens) / double(computedTokens) : 0;
  }
};

/// A step as one line of JSON, without its end.
std::string stepJson(const StepReport &report);
/// The same of a text.
std::string sampleJson(const SampleReport &report);

class MetricsLog {
public:
  /// Opens RUN's logs, leaving out of metrics.jsonl what an earlier session
  /// wrote of steps after `lastStep`, or all of it at 0, where a run begins.
  static Result<MetricsLog> open(const std::string &run, uint64_t lastStep);

  Status add(const StepReport &report);
  /// A validation that belongs to no step: the one before the first.
  Status addValidation(uint64_t step, double loss);
  Status addSample(const SampleReport &report);

  /// Writes RUN/loss.svg from all of metrics.jsonl.
  static Status writeCurve(const std::string &run);

private:
  MetricsLog(std::string path, std::FILE *lines, EventFile events)
      : path(std::move(path)), lines(lines), events(std::move(events)) {}
  Status addLine(const std::string &line);

  struct Closer {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  std::string path;
  std::unique_ptr<std::FILE, Closer> lines;
  EventFile events;
};

} // namespace gpt2rt
