// How values of a layer are computed again: which ops, where, from what.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_COMPILER_TRANSFORMS_RECOMPUTESTEPS_H
#define GPT2C_COMPILER_TRANSFORMS_RECOMPUTESTEPS_H

#include "compiler/Transforms/OpCosts.h"
#include "compiler/Transforms/TrainingGraph.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::gpt2c {

/// A forward op, or the part of a fused region that the results need, computed
/// again in front of a backward op.
struct RecomputeStep {
  Operation *source = nullptr;
  unsigned before = 0;           ///< position of the backward op
  SmallVector<unsigned> results; ///< of the source: what is computed
  /// Ops of the region; the source alone where it is none.
  SmallVector<Operation *> ops;
  /// Values that the step reads: as the ops name them, and as the program does.
  llvm::MapVector<Value, Value> inputs;

  double secondsOf(const OpCosts &costs) const;
};

/// The steps for a layer whose values `dropped` are not kept, in program order.
SmallVector<RecomputeStep> planRecompute(const TrainingGraph &graph,
                                         const TrainingLayer &layer,
                                         const DenseSet<Value> &dropped);

/// Inserts the steps of a layer and lets the backward half use what they
/// compute. Returns how many values were computed again.
unsigned buildRecompute(const TrainingGraph &graph,
                        ArrayRef<RecomputeStep> steps,
                        const DenseSet<Value> &dropped);

} // namespace mlir::gpt2c

#endif // GPT2C_COMPILER_TRANSFORMS_RECOMPUTESTEPS_H
