//===- InitialWeights.h - A model from nothing ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The weights that transformers gives a new GPT-2: matrices N(0, range) with
// the config's initializer_range (0.02), the two projections of a layer that
// end in the residual stream narrower by sqrt(2 * layers), gammas 1, all other
// vectors 0.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Formats/Checkpoint.h"
#include "runtime/Plan/Plan.h"

#include <deque>

namespace gpt2rt {

class InitialWeights {
public:
  /// Every tensor that the plan's `init` program loads. A value depends on the
  /// seed, its tensor's name and its place only.
  static Result<InitialWeights> make(const Plan &plan, uint64_t seed);

  /// Valid as long as this object.
  const Checkpoint &checkpoint() const { return tensors; }

private:
  std::deque<std::vector<float>> storage;
  Checkpoint tensors;
};

/// Fills a tensor by its name; `range` is the standard deviation of matrices.
void initializeTensor(std::string_view name, bool matrix, double range,
                      uint64_t layers, uint64_t seed, std::span<float> out);

} // namespace gpt2rt
