//===- RowProgram.cpp - A row kernel's body as passes over columns --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/RowProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::gpt2c;
using namespace mlir::gpt2c::cpu;

/// Above this many simple operations an element, storing it and loading it
/// again (in L1 or L2) is cheaper than computing it in every pass.
static constexpr int64_t recomputeLimit = 8;

/// About how many simple vector operations one scalar operation becomes.
static int64_t costOf(Operation &op) {
  if (isa<arith::ConstantOp, linalg::YieldOp, linalg::IndexOp>(op))
    return 0;
  if (isa<math::FmaOp, math::AbsFOp>(op))
    return 1;
  if (isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp>(op))
    return 6;
  if (op.getName().getDialectNamespace() ==
      math::MathDialect::getDialectNamespace())
    return 20;
  return 1;
}

/// True if `map` reads column d1 of its operand, which then differs from
/// column to column.
static bool readsColumns(AffineMap map) {
  return isa<AffineDimExpr>(map.getResult(1)) &&
         cast<AffineDimExpr>(map.getResult(1)).getPosition() == 1;
}

/// Operand maps of the normal form are (d0 | 0, d1 | 0).
static bool isNormalMap(AffineMap map) {
  if (map.getNumDims() != 2 || map.getNumResults() != 2)
    return false;
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      if (dim.getPosition() != position)
        return false;
    } else if (auto constant = dyn_cast<AffineConstantExpr>(expr);
               !constant || constant.getValue() != 0) {
      return false;
    }
  }
  return true;
}

/// The static number of columns that a generic walks over, if it has one.
static FailureOr<int64_t> getWidth(linalg::GenericOp op) {
  int64_t width = 1;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type || !isNormalMap(map))
      return failure();
    if (!readsColumns(map))
      continue;
    if (type.isDynamicDim(1))
      return failure();
    width = type.getDimSize(1);
  }
  return width;
}

/// Bytes of one row of a step's result.
static int64_t bytesOf(const RowStep &step) {
  Type element = getElementTypeOrSelf(step.op->getResult(0));
  return step.width * (element.getIntOrFloatBitWidth() / 8);
}

Combiner RowProgram::getCombiner(linalg::GenericOp reduction) {
  Block *block = reduction.getBody();
  Value accumulator = block->getArguments().back();
  Operation *op = block->getTerminator()->getOperand(0).getDefiningOp();
  if (!op ||
      !isa<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp>(
          op))
    return {};
  bool accumulates[] = {op->getOperand(0) == accumulator,
                        op->getOperand(1) == accumulator};
  if (accumulates[0] == accumulates[1] || !accumulator.hasOneUse())
    return {};
  return {op, accumulates[0] ? 1u : 0u};
}

LogicalResult RowProgram::addStep(linalg::GenericOp op) {
  SmallVector<utils::IteratorType> loops = op.getIteratorTypesArray();
  FailureOr<int64_t> width = getWidth(op);
  constexpr auto reduction = utils::IteratorType::reduction;
  if (loops.size() != 2 || (loops[0] == reduction && loops[1] == reduction) ||
      failed(width) || op->getNumResults() != 1)
    return op.emitOpError("is not in the normal form of row kernels: it needs "
                          "one result, two loops, at most one of them a "
                          "reduction, and rank-2 operands of static width "
                          "read at [d0 or 0, d1 or 0]");
  RowStep step;
  step.op = op;
  step.width = *width;
  if (loops[0] == reduction)
    step.kind = StepKind::ColumnSum;
  else if (loops[1] == reduction)
    step.kind = StepKind::Reduction;
  else
    step.kind = *width == 1 ? StepKind::Scalar : StepKind::Map;
  if (failed(checkReduction(step)) || failed(checkOperands(step)))
    return failure();
  step.level = levelFor(step);
  producers[op->getResult(0)] = steps.size();
  steps.push_back(step);
  numLevels = std::max(numLevels, step.level + !step.isOutsidePasses());
  return success();
}

LogicalResult RowProgram::checkReduction(const RowStep &step) const {
  linalg::GenericOp op = step.op;
  if (!step.reduces())
    return success();
  Operation *combiner = getCombiner(op).op;
  if (!combiner || !op.getDpsInits()[0].getDefiningOp<linalg::FillOp>())
    return op.emitOpError("is a reduction outside the normal form: it "
                          "starts from linalg.fill and ends in one addf, "
                          "mulf, maximumf or minimumf of the accumulator");
  if (step.kind != StepKind::ColumnSum)
    return success();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!isa<arith::AddFOp>(combiner) || !type.getElementType().isF32() ||
      type.getShape() != ArrayRef<int64_t>{1, step.width} ||
      !isa<AffineConstantExpr>(map.getResult(0)) || !readsColumns(map))
    return op.emitOpError("reduces rows outside the normal form: it adds up "
                          "into tensor<1xCxf32> at [0, d1], C the width of "
                          "what it reads");
  return success();
}

LogicalResult RowProgram::checkOperands(const RowStep &step) const {
  linalg::GenericOp op = step.op;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    Value tensor = stripCasts(operand->get());
    bool isArgument = isa<BlockArgument>(tensor) &&
                      cast<BlockArgument>(tensor).getOwner() == body;
    const RowStep *producer = getProducer(tensor);
    if (!isArgument && !producer)
      return op.emitOpError("reads operand ")
             << operand->getOperandNumber()
             << ", which is neither an argument of the kernel nor computed by "
                "a linalg.generic before";
    if (producer && producer->kind == StepKind::ColumnSum)
      return op.emitOpError("reads operand ")
             << operand->getOperandNumber()
             << ", a sum over rows, which is complete only after the kernel";
    if (producer && producer->kind == StepKind::Map &&
        !op.getMatchingIndexingMap(operand).isIdentity())
      return op.emitOpError("reads operand ")
             << operand->getOperandNumber()
             << ", which is computed for every column, at one column only";
  }
  return success();
}

unsigned RowProgram::levelFor(const RowStep &step) const {
  unsigned level = 0;
  for (Value input : step.op.getDpsInputs())
    if (const RowStep *producer = getProducer(input))
      level = std::max(level, producer->level +
                                  (producer->kind == StepKind::Reduction));
  return level;
}

Value RowProgram::stripCasts(Value tensor) {
  while (auto cast = tensor.getDefiningOp<tensor::CastOp>())
    tensor = cast.getSource();
  return tensor;
}

const RowStep *RowProgram::getProducer(Value tensor) const {
  auto it = producers.find(stripCasts(tensor));
  return it == producers.end() ? nullptr : &steps[it->second];
}

SmallVector<int64_t> RowProgram::getWidths(unsigned level) const {
  SmallVector<int64_t> widths;
  for (const RowStep &step : steps)
    if (step.runsInPass() && step.level == level &&
        !llvm::is_contained(widths, step.width))
      widths.push_back(step.width);
  return widths;
}

/// Adds what computing `step` again costs, down to what lies in memory.
void RowProgram::addCost(const RowStep &step, int64_t &cost) const {
  for (Operation &op : *step.op.getBody())
    cost += costOf(op);
  for (Value input : step.op.getDpsInputs()) {
    const RowStep *producer = getProducer(input);
    if (cost <= recomputeLimit && producer && producer->kind == StepKind::Map &&
        !producer->stored)
      addCost(*producer, cost);
  }
}

LogicalResult RowProgram::chooseStored() {
  for (Value result : body->getTerminator()->getOperands())
    if (auto it = producers.find(stripCasts(result)); it != producers.end())
      steps[it->second].stored = steps[it->second].kind == StepKind::Map;

  int64_t budget = rowStackBytes;
  for (RowStep &step : steps) {
    if (step.kind == StepKind::ColumnSum)
      budget -= bytesOf(step);
    if (budget < 0)
      return step.op.emitOpError("needs more stack for column sums than the ")
             << rowStackBytes << " bytes of a kernel";
  }
  for (RowStep &step : steps) {
    if (step.kind != StepKind::Map || step.stored)
      continue;
    bool readLater = llvm::any_of(steps, [&](const RowStep &consumer) {
      return consumer.level > step.level &&
             llvm::any_of(consumer.op.getDpsInputs(), [&](Value input) {
               return getProducer(input) == &step;
             });
    });
    int64_t cost = 0;
    addCost(step, cost);
    int64_t bytes = bytesOf(step);
    if (!readLater || cost <= recomputeLimit || bytes > budget)
      continue;
    step.stored = true;
    budget -= bytes;
  }
  return chooseLate(budget);
}

/// True if computing `step` reads an argument of type `type`.
bool RowProgram::readsArgument(const RowStep &step, Type type) const {
  return llvm::any_of(step.op.getDpsInputs(), [&](Value input) {
    const RowStep *producer = getProducer(input);
    if (!producer)
      return stripCasts(input).getType() == type;
    return producer->kind == StepKind::Map && !producer->stored &&
           readsArgument(*producer, type);
  });
}

/// An output may take the place of an input of its type. Within a pass reads
/// come first; what later passes read must not be overwritten by then.
LogicalResult RowProgram::chooseLate(int64_t budget) {
  for (Value result : body->getTerminator()->getOperands()) {
    RowStep &step = steps[producers.lookup(stripCasts(result))];
    step.late = step.stored && llvm::any_of(steps, [&](const RowStep &reader) {
                  return reader.level > step.level && reader.runsInPass() &&
                         readsArgument(reader, step.op->getResult(0).getType());
                });
    if (step.late)
      budget -= bytesOf(step);
    if (budget < 0)
      return step.op.emitOpError("is a result that later passes may not "
                                 "overwrite inputs with, and a row of it does "
                                 "not fit the ")
             << rowStackBytes << " bytes of stack of a kernel";
  }
  return success();
}

FailureOr<RowProgram> RowProgram::analyze(Block &body) {
  RowProgram program(body);
  for (Operation &op : body.without_terminator()) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (failed(program.addStep(generic)))
        return failure();
    } else if (!isa<arith::ConstantOp, tensor::CastOp, tensor::EmptyOp,
                    tensor::DimOp, linalg::FillOp>(op)) {
      return op.emitOpError("is not supported in a row kernel");
    }
  }
  for (auto [index, result] :
       llvm::enumerate(body.getTerminator()->getOperands()))
    if (!program.getProducer(result))
      return body.getTerminator()->emitOpError("result ")
             << index << " is not computed by a linalg.generic of the kernel";
  if (failed(program.chooseStored()))
    return failure();
  return program;
}
