//===- RowProgram.h - A kernel region in its normal form --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What the emitters need to know of a region in the normal form
// (docs/architecture.md): which values are one a row, one a column or one an
// element, and which pass over the columns each operation belongs to. A row
// reduction ends a pass: what uses its result runs in a later one. A column
// sum adds up rows; its result is complete only after the kernel.
//
//===----------------------------------------------------------------------===//
#ifndef GPT2C_CODEGEN_CUDA_ROWPROGRAM_H
#define GPT2C_CODEGEN_CUDA_ROWPROGRAM_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace mlir::gpt2c {

/// How a value varies over the (rows, columns) space.
enum class Form {
  Element, // tensor<?xC>
  Row,     // tensor<?x1>; tensor<?xC> where C = 1
  Column,  // tensor<1xC>
  Single,  // tensor<1x1>
  Table    // tensor<VxC> read through tensor.extract only
};

/// One result of a reduction: combine(accumulator, value) from `init`.
struct Reduction {
  Operation *combiner = nullptr;
  Value value; // scalar of the generic's body, independent of the accumulator
  Value init;  // a constant

  /// The struct of the preamble that combines: "Add", "Max" or "Min".
  llvm::StringRef getCombinerName() const;
  /// What leaves any value as it is under the combiner, in C.
  std::string getNeutralElement() const;
};

inline Type elementTypeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

class RowProgram {
public:
  /// Reads the block of a kernel region; an op outside the normal form, or one
  /// that the emitters cannot print, is an error on it.
  static FailureOr<RowProgram> analyze(Block &block);

  Block &getBlock() const { return *block; }
  /// Tensor block arguments, after the row count.
  ArrayRef<BlockArgument> getInputs() const { return inputs; }
  /// What the region yields.
  ArrayRef<Value> getOutputs() const { return outputs; }
  /// C; 1 for a program of row values only.
  int64_t getColumns() const { return columns; }
  /// Passes over the columns: 1 + the longest chain of reductions.
  unsigned getNumPasses() const { return numPasses; }
  bool hasReductions() const { return reductionCount != 0; }
  unsigned getNumReductions() const { return reductionCount; }
  /// Sums over rows: the program runs over blocks of rows.
  bool hasColumnSums() const;

  Form getForm(Value tensor) const;
  /// The value that a tensor.cast chain renames.
  static Value strip(Value tensor);

  ArrayRef<linalg::GenericOp> getGenerics() const { return generics; }
  /// Runs per element or reduces over the columns, rather than once a row.
  bool runsOverColumns(linalg::GenericOp op) const;
  bool isReduction(linalg::GenericOp op) const;
  /// Adds up rows, into one value a column or a single one.
  bool isColumnSum(linalg::GenericOp op) const;
  /// The pass in which it runs (or before which, for once a row).
  unsigned getPass(linalg::GenericOp op) const { return passes.lookup(op); }
  Reduction getReduction(linalg::GenericOp op, unsigned result) const;

  /// Registers' worth of 4-byte words that one column needs at the most.
  double getWordsPerColumn() const;
  /// Those of the inputs that are one an element.
  double getInputWordsPerColumn() const;
  /// Sums that are one a column.
  unsigned getColumnResults() const;

private:
  LogicalResult findColumns();
  LogicalResult checkGeneric(linalg::GenericOp op);
  LogicalResult checkOperands(linalg::GenericOp op);
  LogicalResult checkReduction(linalg::GenericOp op);
  void assignPass(linalg::GenericOp op);

  Block *block = nullptr;
  SmallVector<BlockArgument> inputs;
  SmallVector<Value> outputs;
  SmallVector<linalg::GenericOp> generics;
  llvm::DenseMap<Operation *, unsigned> passes;
  int64_t columns = 1;
  unsigned numPasses = 1;
  unsigned reductionCount = 0;
};

} // namespace mlir::gpt2c

#endif // GPT2C_CODEGEN_CUDA_ROWPROGRAM_H
