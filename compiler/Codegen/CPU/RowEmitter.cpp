//===- RowEmitter.cpp - Function, passes and loops of a row kernel --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/RowEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::gpt2c;
using namespace mlir::gpt2c::cpu;

/// Alignment of row temporaries: a cache line, and a 512-bit vector.
static constexpr int64_t temporaryAlignment = 64;

/// bf16 lies in memory as integers: x86-64-v4 has no bf16 vectors, and LLVM
/// takes those that it meets apart, element by element.
static Type memoryElementOf(Type element) {
  return element.isBF16() ? IntegerType::get(element.getContext(), 16)
                          : element;
}

static MemRefType memoryTypeOf(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return MemRefType::get(type.getShape(),
                         memoryElementOf(type.getElementType()));
}

FailureOr<func::FuncOp> RowEmitter::emit(Location location, StringRef name) {
  loc = location;
  OpBuilder::InsertionGuard guard(builder);
  createFunction(loc, name);
  allocateTemporaries();

  ArrayRef<BlockArgument> arguments = function.getArguments();
  Value begin = arguments.drop_back().back(), end = arguments.back();
  if (failed(blocks ? emitBlocks(begin, end) : emitRows(begin, end)))
    return failure();
  func::ReturnOp::create(builder, loc);
  return function;
}

LogicalResult RowEmitter::emitRows(Value begin, Value end) {
  auto loop = scf::ForOp::create(builder, loc, begin, end, constantIndex(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  row = loop.getInductionVar();
  return emitRow();
}

LogicalResult RowEmitter::emitBlocks(Value begin, Value end) {
  auto loop = scf::ForOp::create(builder, loc, begin, end, constantIndex(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value block = loop.getInductionVar();
  auto firstRowOf = [&](Value block) -> Value {
    Value product =
        arith::MulIOp::create(builder, loc, block, constantIndex(blocks->rows));
    return arith::DivUIOp::create(builder, loc, product,
                                  constantIndex(blocks->count));
  };
  Value next = arith::AddIOp::create(builder, loc, block, constantIndex(1));
  if (failed(startColumnSums()) ||
      failed(emitRows(firstRowOf(block), firstRowOf(next))))
    return failure();
  storeColumnSums(block);
  return success();
}

/// Fills the accumulators of a block.
LogicalResult RowEmitter::startColumnSums() {
  for (const RowStep &step : program.getSteps()) {
    if (step.kind != StepKind::ColumnSum)
      continue;
    FailureOr<Value> start = startOf(step);
    if (failed(start))
      return failure();
    Value buffer = memory.lookup(step.op->getResult(0));
    forColumns(step.width, [&](Value column, int64_t lanes) {
      store(*start, buffer, column, lanes);
    });
  }
  return success();
}

/// Writes the accumulators to column `block` of the outputs.
void RowEmitter::storeColumnSums(Value block) {
  for (auto [tensor, buffer] : outputs) {
    const RowStep *step = program.getProducer(tensor);
    if (step->kind != StepKind::ColumnSum)
      continue;
    auto loop = scf::ForOp::create(
        builder, loc, zero, constantIndex(step->width), constantIndex(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value column = loop.getInductionVar();
    Value sum =
        load(memory.lookup(tensor), builder.getF32Type(), zero, column, 1);
    memref::StoreOp::create(builder, loc, sum, buffer,
                            ValueRange{column, block});
  }
}

/// Partial sums have a row a column and a column a block.
MemRefType RowEmitter::outputTypeOf(Value tensor) const {
  const RowStep *step = program.getProducer(tensor);
  if (step->kind != StepKind::ColumnSum)
    return memoryTypeOf(tensor);
  return MemRefType::get({step->width, blocks->count}, builder.getF32Type());
}

void RowEmitter::createFunction(Location loc, StringRef name) {
  Block &body = program.getBody();
  SmallVector<Value> tensors;
  for (BlockArgument argument : body.getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      tensors.push_back(argument);
  unsigned numInputs = tensors.size();
  for (Value result : body.getTerminator()->getOperands())
    tensors.push_back(RowProgram::stripCasts(result));

  SmallVector<Type> types;
  for (auto [index, tensor] : llvm::enumerate(tensors))
    types.push_back(index < numInputs ? memoryTypeOf(tensor)
                                      : outputTypeOf(tensor));
  types.append(2, builder.getIndexType());
  function = func::FuncOp::create(builder, loc, name,
                                  builder.getFunctionType(types, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  for (auto [index, tensor] : llvm::enumerate(tensors)) {
    Value buffer = function.getArgument(index);
    if (index >= numInputs)
      outputs.push_back({tensor, buffer});
    const RowStep *step = program.getProducer(tensor);
    if (!step || (step->kind != StepKind::ColumnSum && !step->late))
      memory.try_emplace(tensor, buffer);
  }
  zero = constantIndex(0);
}

/// One row of every stored map that does not leave the kernel at once and of
/// the column sums, outside the row loop.
void RowEmitter::allocateTemporaries() {
  for (const RowStep &step : program.getSteps()) {
    Value result = step.op->getResult(0);
    bool isNeeded = step.stored || step.kind == StepKind::ColumnSum;
    if (!isNeeded || memory.contains(result))
      continue;
    auto type = MemRefType::get({1, step.width},
                                memoryElementOf(getElementTypeOrSelf(result)));
    memory[result] = memref::AllocaOp::create(
        builder, loc, type, builder.getI64IntegerAttr(temporaryAlignment));
  }
}

LogicalResult RowEmitter::emitRow() {
  for (unsigned level = 0; level < program.getNumLevels(); ++level) {
    if (failed(emitScalars(level)))
      return failure();
    for (int64_t width : program.getWidths(level))
      if (failed(emitPass(level, width)))
        return failure();
  }
  // Scalars that need the last reductions, and the row's scalar results.
  if (failed(emitScalars(program.getNumLevels())))
    return failure();
  for (auto [tensor, buffer] : outputs)
    if (Value value = rowValues.lookup(tensor))
      store(value, buffer, zero, 1);
  storeLate();
  return success();
}

void RowEmitter::storeLate() {
  for (auto [tensor, buffer] : outputs) {
    const RowStep *step = program.getProducer(tensor);
    if (!step->late)
      continue;
    forColumns(step->width, [&](Value column, int64_t lanes) {
      store(load(memory.lookup(tensor), getElementTypeOrSelf(tensor), zero,
                 column, lanes),
            buffer, column, lanes);
    });
  }
}

LogicalResult RowEmitter::emitScalars(unsigned level) {
  for (const RowStep &step : program.getSteps()) {
    if (!step.isOutsidePasses() || step.level != level)
      continue;
    Position position;
    position.column = zero;
    position.level = level;
    FailureOr<Value> value = evaluate(step, position);
    if (failed(value))
      return failure();
    if (step.kind == StepKind::ColumnSum)
      addToColumn(step, *value, zero, 1);
    else
      rowValues[step.op->getResult(0)] = *value;
  }
  return success();
}

/// A sum whose combiner may not be reordered is computed column by column.
static bool mayReorder(const RowStep &step) {
  if (step.kind != StepKind::Reduction)
    return true;
  Operation *op = RowProgram::getCombiner(step.op).op;
  if (isa<arith::MaximumFOp, arith::MinimumFOp>(op))
    return true;
  auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr();
  return bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::reassoc);
}

LogicalResult RowEmitter::emitPass(unsigned level, int64_t width) {
  SmallVector<const RowStep *> steps;
  for (const RowStep &step : program.getSteps())
    if (step.level == level && step.width == width && step.runsInPass())
      steps.push_back(&step);

  Accumulators sums;
  for (const RowStep *step : steps) {
    if (step->kind != StepKind::Reduction)
      continue;
    FailureOr<Value> start = startOf(*step);
    if (failed(start))
      return failure();
    sums.push_back(*start);
  }
  currentLevel = level;
  bool vectorize = llvm::all_of(
      steps, [](const RowStep *step) { return mayReorder(*step); });
  int64_t rest = vectorize ? width / rowLanes * rowLanes : 0;
  if (rest && failed(emitVectors(steps, rest, sums)))
    return failure();
  FailureOr<Accumulators> total = emitLoop(steps, rest, width, 1, 1, sums);
  if (failed(total))
    return failure();
  auto next = total->begin();
  for (const RowStep *step : steps)
    if (step->kind == StepKind::Reduction)
      rowValues[step->op->getResult(0)] = *next++;
  return success();
}

/// Columns [0, width) in whole vectors; `width` is a multiple of rowLanes.
LogicalResult RowEmitter::emitVectors(ArrayRef<const RowStep *> steps,
                                      int64_t width,
                                      MutableArrayRef<Value> sums) {
  SmallVector<const RowStep *> reductions;
  llvm::copy_if(steps, std::back_inserter(reductions), [](const RowStep *step) {
    return step->kind == StepKind::Reduction;
  });
  int64_t unroll = reductions.empty() ? 1 : rowUnroll;
  int64_t group = unroll * rowLanes;

  // Partial sums: unroll vectors a reduction, one after the other.
  Accumulators partial;
  for (const RowStep *reduction : reductions)
    partial.append(unroll, neutral(*reduction, rowLanes));
  FailureOr<Accumulators> grouped =
      emitLoop(steps, 0, width / group * group, rowLanes, unroll, partial);
  if (failed(grouped))
    return failure();
  Accumulators vectors;
  for (auto [index, reduction] : llvm::enumerate(reductions)) {
    Value *first = grouped->begin() + index * unroll;
    for (int64_t half = unroll / 2; half > 0; half /= 2)
      for (int64_t i = 0; i < half; ++i)
        first[i] = combine(*reduction, first[i + half], first[i]);
    vectors.push_back(first[0]);
  }
  FailureOr<Accumulators> all =
      emitLoop(steps, width / group * group, width, rowLanes, 1, vectors);
  if (failed(all))
    return failure();
  for (auto [index, reduction] : llvm::enumerate(reductions))
    sums[index] =
        combine(*reduction, foldLanes(*reduction, (*all)[index]), sums[index]);
  return success();
}

/// A loop over columns [begin, end), `unroll` groups of `lanes` at a time, that
/// carries `unroll` accumulators a reduction and returns them.
FailureOr<RowEmitter::Accumulators>
RowEmitter::emitLoop(ArrayRef<const RowStep *> steps, int64_t begin,
                     int64_t end, int64_t lanes, int64_t unroll,
                     const Accumulators &init) {
  if (begin == end)
    return init;
  auto loop =
      scf::ForOp::create(builder, loc, constantIndex(begin), constantIndex(end),
                         constantIndex(lanes * unroll), init);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Accumulators carried(loop.getRegionIterArgs());
  for (int64_t group = 0; group < unroll; ++group) {
    Position position;
    position.lanes = lanes;
    position.level = currentLevel;
    position.column = loop.getInductionVar();
    if (group)
      position.column = arith::AddIOp::create(builder, loc, position.column,
                                              constantIndex(group * lanes));
    Accumulators mine;
    for (size_t i = group; i < carried.size(); i += unroll)
      mine.push_back(carried[i]);
    if (failed(emitColumns(steps, position, mine)))
      return failure();
    for (auto [index, value] : llvm::enumerate(mine))
      carried[group + index * unroll] = value;
  }
  if (!init.empty())
    scf::YieldOp::create(builder, loc, carried);
  return Accumulators(loop.getResults());
}

/// What one pass does at one position: every store, and one accumulation a
/// reduction or column sum.
LogicalResult RowEmitter::emitColumns(ArrayRef<const RowStep *> steps,
                                      Position &position,
                                      MutableArrayRef<Value> accumulators) {
  // All reads before the first write: an output may lie over an input.
  SmallVector<Value> elements;
  for (const RowStep *step : steps) {
    FailureOr<Value> element = evaluate(*step, position);
    if (failed(element))
      return failure();
    elements.push_back(*element);
  }
  size_t next = 0;
  for (auto [step, element] : llvm::zip(steps, elements)) {
    if (step->kind == StepKind::Reduction) {
      Value &accumulator = accumulators[next++];
      accumulator =
          combine(*step, broadcast(element, position.lanes), accumulator);
      continue;
    }
    if (step->kind == StepKind::ColumnSum) {
      addToColumn(*step, element, position.column, position.lanes);
      continue;
    }
    Value result = step->op->getResult(0);
    bool leaves = false;
    for (auto [tensor, buffer] : outputs) {
      if (tensor != result || step->late)
        continue;
      store(element, buffer, position.column, position.lanes);
      leaves = true;
    }
    if (!leaves)
      store(element, memory.lookup(result), position.column, position.lanes);
  }
  return success();
}
