//===- Advice.h - What fits into memory and why -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/gpt2c/Planner.h"

namespace mlir::gpt2c {

/// The error for a plan that does not fit the line's memory budget: by how
/// much, and the first change that would make it fit, as a command. Changes are
/// tried in the order precision, micro-batch, rematerialization.
gpt2rt::Status explainMisfit(Planner &planner, const CommandLine &line,
                             const PlannedModule &planned);

/// A plan for a device, and lines that say what was chosen for it and why.
struct FittedPlan {
  PlannedModule planned;
  std::string notes;
};

/// Chooses precision, micro-batch and rematerialization for the line's device
/// and tokens a step, and sets the line's flags so.
gpt2rt::Result<FittedPlan> chooseFit(Planner &planner, CommandLine &line);

/// "auto: 2.3 % more work": what a plan computes again.
std::string describeRemat(const PlannedModule &planned);

/// "weights 1.20 GiB, gradients ...": what a plan needs, by kind.
std::string describeMemory(const MemoryUse &memory);

} // namespace mlir::gpt2c
