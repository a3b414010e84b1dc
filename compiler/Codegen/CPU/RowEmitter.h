//===- RowEmitter.h - Loops and vectors of one row kernel -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2_COMPILER_CODEGEN_CPU_ROWEMITTER_H
#define GPT2_COMPILER_CODEGEN_CPU_ROWEMITTER_H

#include "compiler/Codegen/CPU/RowProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::gpt2c::cpu {

/// Elements in a vector and vectors in flight in a pass that reduces. They
/// fix the order of every sum, so they are the same for each architecture,
/// width and fusion: element j of a row goes to partial sum j mod 64 as long
/// as whole groups of 64 last, then to j mod 16, then the rest follow one by
/// one.
inline constexpr int64_t rowLanes = 16;
inline constexpr int64_t rowUnroll = 4;

/// How a kernel with column sums walks its rows: `count` blocks, block i from
/// row rows * i / count on. The sums of a block are added up in row order and
/// become column i of a [C, count] output, so they depend on these two numbers
/// alone.
struct RowBlocks {
  int64_t rows;
  int64_t count;
};

/// Writes the function of one row kernel:
///   func @name(%in..., %out... : memref<?xC...>, %row_begin, %row_end : index)
/// With row blocks the range counts those.
class RowEmitter {
public:
  RowEmitter(const RowProgram &program, std::optional<RowBlocks> blocks,
             OpBuilder &builder)
      : program(program), blocks(blocks), builder(builder) {}

  /// Appends the function to the builder's block.
  FailureOr<func::FuncOp> emit(Location loc, StringRef name);

private:
  /// Where elements are being computed: `lanes` columns from `column` on, one
  /// row. Keeps what was computed there.
  struct Position {
    Value column;
    int64_t lanes = 1;
    unsigned level = 0;
    DenseMap<Value, Value> elements;
  };
  using Accumulators = SmallVector<Value>;

  void createFunction(Location loc, StringRef name);
  MemRefType outputTypeOf(Value tensor) const;
  void allocateTemporaries();

  LogicalResult emitRows(Value begin, Value end);
  LogicalResult emitBlocks(Value begin, Value end);
  LogicalResult startColumnSums();
  void storeColumnSums(Value block);
  void storeLate();
  LogicalResult emitRow();
  LogicalResult emitScalars(unsigned level);
  LogicalResult emitPass(unsigned level, int64_t width);
  LogicalResult emitVectors(ArrayRef<const RowStep *> steps, int64_t width,
                            MutableArrayRef<Value> sums);
  FailureOr<Accumulators> emitLoop(ArrayRef<const RowStep *> steps,
                                   int64_t begin, int64_t end, int64_t lanes,
                                   int64_t unroll, const Accumulators &init);
  LogicalResult emitColumns(ArrayRef<const RowStep *> steps, Position &position,
                            MutableArrayRef<Value> accumulators);

  FailureOr<Value> elementOf(Value tensor, AffineMap map, Position &position);
  FailureOr<Value> evaluate(const RowStep &step, Position &position);
  LogicalResult cloneBody(const RowStep &step, Position &position,
                          IRMapping &mapping);
  void cloneElementwise(Operation &op, int64_t lanes, IRMapping &mapping);
  void cloneConstant(Value value, IRMapping &mapping);
  FailureOr<Value> loadFromTable(Operation &extract, Position &position,
                                 IRMapping &mapping);
  Value load(Value memory, Type element, Value row, Value column,
             int64_t lanes);
  void store(Value element, Value memory, Value column, int64_t lanes);
  void addToColumn(const RowStep &step, Value element, Value column,
                   int64_t lanes);
  Value bitcast(Value value, Type element);

  Value broadcast(Value element, int64_t lanes);
  Value columnIndices(Position &position);
  FailureOr<Value> startOf(const RowStep &reduction);
  Value neutral(const RowStep &reduction, int64_t lanes);
  Value combine(const RowStep &reduction, Value element, Value accumulator);
  Value foldLanes(const RowStep &reduction, Value vector);
  Value constantIndex(int64_t value);
  /// Loops over [0, width), in whole vectors and then one by one.
  void forColumns(int64_t width,
                  llvm::function_ref<void(Value column, int64_t lanes)> body);

  const RowProgram &program;
  std::optional<RowBlocks> blocks;
  OpBuilder &builder;
  func::FuncOp function;
  Location loc = builder.getUnknownLoc();
  Value row, zero;
  unsigned currentLevel = 0;
  /// Memory of every argument, result and stored map, and of the column sums
  /// of the current block.
  DenseMap<Value, Value> memory;
  /// Outputs in order; a tensor may leave the kernel twice.
  SmallVector<std::pair<Value, Value>> outputs;
  /// Values of the row that are known: scalar steps and reductions.
  DenseMap<Value, Value> rowValues;
};

} // namespace mlir::gpt2c::cpu

#endif // GPT2_COMPILER_CODEGEN_CPU_ROWEMITTER_H
