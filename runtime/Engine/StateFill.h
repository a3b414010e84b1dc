//===- StateFill.h - State that every program of a plan can run on -*- C++ -*-//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Executor.h"

namespace gpt2rt {

/// Writes tokens as frequent as words are, and what else the plan's programs
/// read of the host, so that each runs as it would in the middle of its work.
Status fillState(const Plan &plan, Executor &executor);

} // namespace gpt2rt
