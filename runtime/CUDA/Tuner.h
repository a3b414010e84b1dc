//===- Tuner.h - Algorithms of products by measurement ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/Timing.h"
#include "runtime/Device/Executor.h"

#include <map>

namespace gpt2rt::cuda {

/// Measures each distinct product once, on the memory it works on.
class Tuner {
public:
  Tuner(const Context &context, const TuneOptions &options)
      : context(context), options(options) {}

  /// Leaves the step's product with the fastest algorithm whose results are
  /// equal from run to run. What the product reads must be there, and what it
  /// writes is written several times.
  Status tune(Step &step, TunedMatmul::Place place);

  std::vector<TunedMatmul> take() { return std::move(tuned); }

private:
  struct Candidate {
    AlgorithmWords algorithm;
    std::vector<double> seconds;
    double median() const;
  };

  Result<TunedMatmul> measure(Step &step);
  /// All that the library names, run once.
  Result<std::vector<Candidate>> firstTurn(Step &step);
  /// Takes out what is fastest, until that is repeatable: nothing may be
  /// compared with a time that is not to be had.
  Status dropUnrepeatable(Step &step, std::vector<Candidate> &all);
  /// The heuristic's choice and those near the fastest, measured well.
  Result<std::vector<Candidate>> finals(Step &step,
                                        const std::vector<Candidate> &all);
  static Status take(Step &step, const Candidate &candidate);
  Status timeOnce(Step &step, Candidate &candidate, unsigned runs);
  /// Whether several runs of the step leave the same bytes.
  Result<bool> isRepeatable(Step &step);
  Status copyResult(const MatmulCall &call, std::vector<std::byte> &host,
                    bool toDevice);

  const Context &context;
  TuneOptions options;
  std::vector<TunedMatmul> tuned;
  std::map<std::string, size_t> known; // identity -> index in `tuned`
};

} // namespace gpt2rt::cuda
