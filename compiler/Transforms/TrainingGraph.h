// What rematerialize needs to know of an accumulate program: its forward half,
// its layers, what crosses to the backward half, and what is live beside that.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_COMPILER_TRANSFORMS_TRAININGGRAPH_H
#define GPT2C_COMPILER_TRANSFORMS_TRAININGGRAPH_H

#include "dialects/GPT2/GPT2Ops.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::gpt2c {

/// Ops of a block from position `first` to `last`; none where first > last.
struct PositionRange {
  unsigned first = std::numeric_limits<unsigned>::max();
  unsigned last = 0;
  bool empty() const { return first > last; }
  void add(unsigned position) {
    first = std::min(first, position);
    last = std::max(last, position);
  }
};

/// So many values of a layer may be dropped: all subsets are tried. GPT-2's
/// layers have 7. Where there are more, the smallest are kept in any case.
inline constexpr unsigned maxOptionalValues = 10;

/// A layer of the forward half.
struct TrainingLayer {
  int64_t number = 0;
  /// Kept in any case: row statistics and what the next layer reads.
  SmallVector<Value> fixed;
  /// Read by the backward half, kept or computed again; largest first.
  SmallVector<Value> optional;
  PositionRange forward, backward;
};

class TrainingGraph {
public:
  explicit TrainingGraph(func::FuncOp program);

  /// Fails, with an error, where the program has no loss to tell its halves by.
  LogicalResult analyze();

  ArrayRef<Operation *> getOps() const { return ops; }
  unsigned positionOf(Operation *op) const { return positions.lookup(op); }
  ArrayRef<TrainingLayer> getLayers() const { return layers; }

  /// Whether the op leads to the loss (and computes: reads do not count).
  bool isForward(Operation *op) const { return forward.contains(op); }
  /// The layer that computes `value`, -1 where none does.
  int64_t layerOf(Value value) const {
    auto found = layerOfValue.find(value);
    return found == layerOfValue.end() ? -1 : found->second;
  }
  /// The last forward and the last op that uses `value`; its own position where
  /// none does.
  unsigned lastForwardUse(Value value) const;
  unsigned lastUse(Value value) const;
  bool crosses(Value value) const;

  /// Bytes that a value takes; none where a global already has the place.
  static int64_t bytesOf(Value value);

  /// Bytes live while an op runs, without the values that layers keep.
  int64_t liveAt(unsigned position) const { return live[position]; }
  /// Bytes live between the op before `position` and the one there.
  int64_t liveBefore(unsigned position) const { return between[position]; }
  /// Most of liveAt() in [first, end).
  int64_t mostLive(unsigned first, unsigned end) const;

private:
  void findForward(ArrayRef<Operation *> losses);
  void findLayers();
  void addValue(OpResult value, TrainingLayer &layer);
  /// Whether an op outside of `layer` in the forward half reads the value.
  bool leavesLayer(OpResult value, int64_t layer) const;
  void measureLive();

  func::FuncOp program;
  Block *block;
  SmallVector<Operation *> ops;
  DenseMap<Operation *, unsigned> positions;
  DenseSet<Operation *> forward;
  DenseMap<Value, int64_t> layerOfValue;
  SmallVector<TrainingLayer> layers;
  SmallVector<int64_t> live, between;
};

/// Whether an output of `op` may lie where an input of the same type did that
/// is used for the last time: each element is read before it is written.
bool mayRunInPlace(Operation *op);

} // namespace mlir::gpt2c

#endif // GPT2C_COMPILER_TRANSFORMS_TRAININGGRAPH_H
