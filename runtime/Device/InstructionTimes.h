//===- InstructionTimes.h - What benchmarks make of times -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Executor.h"

namespace gpt2rt {

/// Of one value or more.
double median(std::vector<double> values);

/// Times by kind of instruction, the largest first.
std::vector<InstructionTime>
summedByKind(const std::vector<InstructionTime> &times);

} // namespace gpt2rt
