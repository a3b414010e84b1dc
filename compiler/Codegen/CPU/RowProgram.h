//===- RowProgram.h - A row kernel's body as passes over columns *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A row kernel's body is a list of linalg.generic in the normal form of
// docs/architecture.md. Looked at one row at a time it is a list of steps:
//  - a scalar step computes values of the row from other values of the row,
//  - a map computes one element a column,
//  - a reduction folds the columns into a value of the row,
//  - a column sum folds the rows into a value of the column. It is a result of
//    the kernel and nothing in the kernel may read it.
// Whatever a step needs from a reduction is known only after all columns were
// seen, so the row is walked in passes: level 0 needs no reduction, level n + 1
// needs one of level n. Within a pass values stay in registers.
//
//===----------------------------------------------------------------------===//
#ifndef GPT2_COMPILER_CODEGEN_CPU_ROWPROGRAM_H
#define GPT2_COMPILER_CODEGEN_CPU_ROWPROGRAM_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::gpt2c::cpu {

/// Stack that a kernel may use for row temporaries. Above it values are
/// computed again: OpenMP threads may have stacks of 2 MiB only.
inline constexpr int64_t rowStackBytes = 256 * 1024;

enum class StepKind { Scalar, Map, Reduction, ColumnSum };

struct RowStep {
  /// A handle; MLIR's ops have no const methods.
  mutable linalg::GenericOp op;
  StepKind kind = StepKind::Scalar;
  /// Columns that the step walks over; 1 for a scalar step.
  int64_t width = 1;
  /// The pass that computes the step; for one outside passes the first pass
  /// that comes after it.
  unsigned level = 0;
  /// A map whose result goes to memory, because it leaves the kernel or
  /// because a later pass reads it and computing it again costs more.
  bool stored = false;
  /// A stored map that leaves the kernel only when the row is complete: its
  /// output may lie over an input that a later pass still reads.
  bool late = false;

  /// Folds elements into an accumulator with its body's combiner.
  bool reduces() const {
    return kind == StepKind::Reduction || kind == StepKind::ColumnSum;
  }
  /// Needs no loop over columns: computed between the passes.
  bool isOutsidePasses() const {
    return kind == StepKind::Scalar ||
           (kind == StepKind::ColumnSum && width == 1);
  }
  /// Must run in its pass, whoever reads it.
  bool runsInPass() const {
    return (reduces() && !isOutsidePasses()) ||
           (kind == StepKind::Map && stored);
  }
};

/// The one operation that folds an element into the accumulator.
struct Combiner {
  Operation *op = nullptr;
  /// Which operand of `op` is the element; the other is the accumulator.
  unsigned element = 0;
};

class RowProgram {
public:
  /// Checks that `body` is in the normal form and orders it into passes.
  /// Reports at the offending op where it is not.
  static FailureOr<RowProgram> analyze(Block &body);

  ArrayRef<RowStep> getSteps() const { return steps; }
  unsigned getNumLevels() const { return numLevels; }
  Block &getBody() const { return *body; }

  /// The step that computes a tensor, or null for a block argument.
  const RowStep *getProducer(Value tensor) const;

  /// Widths of the steps of a level that must run there, in program order and
  /// each once.
  SmallVector<int64_t> getWidths(unsigned level) const;

  /// The tensor behind tensor.cast, which only changes what is known of rows.
  static Value stripCasts(Value tensor);

  static Combiner getCombiner(linalg::GenericOp reduction);

private:
  explicit RowProgram(Block &body) : body(&body) {}

  LogicalResult addStep(linalg::GenericOp op);
  LogicalResult checkReduction(const RowStep &step) const;
  LogicalResult checkOperands(const RowStep &step) const;
  unsigned levelFor(const RowStep &step) const;
  LogicalResult chooseStored();
  LogicalResult chooseLate(int64_t budget);
  bool readsArgument(const RowStep &step, Type type) const;
  void addCost(const RowStep &step, int64_t &cost) const;

  Block *body;
  SmallVector<RowStep> steps;
  DenseMap<Value, unsigned> producers;
  unsigned numLevels = 0;
};

} // namespace mlir::gpt2c::cpu

#endif // GPT2_COMPILER_CODEGEN_CPU_ROWPROGRAM_H
