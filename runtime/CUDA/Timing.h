//===- Timing.h - Seconds of work on a stream -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/Steps.h"

namespace gpt2rt::cuda {

/// Seconds of each step, run once in order with an event between any two.
Result<std::vector<double>> timeSteps(const Context &context,
                                      const Steps &steps);

/// Mean seconds of a step that is run at most a hundred times in a row.
Result<double> timeRepeated(const Context &context, Step &step, unsigned runs);

} // namespace gpt2rt::cuda
