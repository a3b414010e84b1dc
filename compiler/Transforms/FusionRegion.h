// A set of ops that is to become one gpt2.fused.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_COMPILER_TRANSFORMS_FUSIONREGION_H
#define GPT2C_COMPILER_TRANSFORMS_FUSIONREGION_H

#include "dialects/GPT2/GPT2Ops.h"

#include "llvm/ADT/SetVector.h"

#include <string>

namespace mlir::gpt2c {

/// Ops of one block that are to become one `gpt2.fused`. The block must be in
/// topological order, which `build` keeps.
class FusionRegion {
public:
  explicit FusionRegion(Operation *first) { add(first); }

  bool contains(Operation *op) const { return ops.contains(op); }
  size_t size() const { return ops.size(); }
  void add(Operation *op) { ops.insert(op); }

  /// Producers and consumers of the region that compute something, in program
  /// order.
  SmallVector<Operation *> neighbors() const;

  /// Why `op` cannot be part of a row region of at most `maxInputs` inputs;
  /// empty if it can.
  std::string whyNotRow(Operation *op, int64_t maxInputs) const;
  /// Why `op` cannot precede the linear of a matvec region.
  std::string whyNotPrologue(Operation *op, gpt2::LinearOp linear) const;
  /// Why `op` cannot follow the linear of a matvec region.
  std::string whyNotEpilogue(Operation *op, gpt2::LinearOp linear) const;

  /// Replaces the ops by a `gpt2.fused` that yields what other ops use.
  gpt2::FusedOp build(gpt2::FusedKind kind);

private:
  /// Whether a value of the region with `op` added reaches it again through an
  /// op outside.
  bool formsCycle(Operation *op) const;
  bool needsAllRows(Operation *op) const;
  /// In an accumulate program, the first op that a region with `op` added would
  /// reach across though it is no row kernel; null elsewhere.
  Operation *findBarrier(Operation *op) const;
  /// Inputs of a region with `op` added.
  int64_t countInputs(Operation *op) const;

  llvm::SetVector<Operation *> ops;
};

} // namespace mlir::gpt2c

#endif // GPT2C_COMPILER_TRANSFORMS_FUSIONREGION_H
