// What each choice of kept values costs in bytes and time, layer by layer.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_COMPILER_TRANSFORMS_REMATERIALIZEMODEL_H
#define GPT2C_COMPILER_TRANSFORMS_REMATERIALIZEMODEL_H

#include "compiler/Transforms/KeepChoice.h"
#include "compiler/Transforms/RecomputeSteps.h"

namespace mlir::gpt2c {

/// What a program keeps: for each layer a bit for each of its optional values.
struct Rematerialization {
  SmallVector<unsigned> masks;
  int64_t kept = 0;   ///< bytes from the forward to the backward half
  int64_t peak = 0;   ///< most activation bytes live
  double seconds = 0; ///< of computing the rest again
};

/// What a program takes as it is, and how much of that is measured.
struct ProgramCost {
  double seconds = 0;
  int64_t ops = 0, measured = 0; ///< of those that cost anything
};

class RematerializeModel {
public:
  RematerializeModel(func::FuncOp program, const OpCosts &costs)
      : graph(program), costs(costs) {}

  LogicalResult analyze();

  size_t countLayers() const { return graph.getLayers().size(); }
  ProgramCost costOfProgram() const;

  /// Keeps everything, or only row statistics and what layers read of each
  /// other.
  Rematerialization keepAll() const { return uniform(/*keep=*/true); }
  Rematerialization keepBlocks() const { return uniform(/*keep=*/false); }
  /// The cheapest one under which at most `budget` bytes are live, if any.
  std::optional<Rematerialization> keepWithin(int64_t budget) const;
  /// The smallest budget that keepWithin() can meet.
  int64_t leastBudget() const { return leastPeak(problem); }

  struct Built {
    int64_t values = 0, ops = 0;
  };
  /// Changes the program; the model is of no use afterwards.
  Built build(const Rematerialization &choice);

private:
  using Values = DenseSet<Value>;
  /// The values of a layer that a mask does not keep.
  static Values droppedBy(const TrainingLayer &layer, unsigned mask);
  KeepCandidate measure(const TrainingLayer &layer, unsigned mask) const;
  int64_t needForward(const TrainingLayer &layer, const Values &dropped) const;
  int64_t needBackward(const TrainingLayer &layer, const Values &dropped,
                       ArrayRef<RecomputeStep> steps) const;
  void addCandidates(const TrainingLayer &layer);
  Rematerialization uniform(bool keep) const;

  TrainingGraph graph;
  const OpCosts &costs;
  KeepProblem problem;
  SmallVector<SmallVector<unsigned>> masks; ///< of each layer's candidates
};

} // namespace mlir::gpt2c

#endif // GPT2C_COMPILER_TRANSFORMS_REMATERIALIZEMODEL_H
