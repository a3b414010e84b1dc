//===- RowElements.cpp - Elements of a row kernel as vectors --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A value that differs from column to column is a vector of `lanes` elements
// (a scalar where lanes is 1); one that does not stays a scalar until it meets
// a vector.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/RowEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::gpt2c;
using namespace mlir::gpt2c::cpu;

/// True if the map reads dimension `dim` of the loops at result `dim`.
static bool reads(AffineMap map, unsigned dim) {
  return isa<AffineDimExpr>(map.getResult(dim));
}

FailureOr<Value> RowEmitter::elementOf(Value operand, AffineMap map,
                                       Position &position) {
  Value tensor = RowProgram::stripCasts(operand);
  if (Value value = rowValues.lookup(tensor))
    return value;
  if (Value value = position.elements.lookup(tensor))
    return value;
  const RowStep *producer = program.getProducer(tensor);
  bool inMemory =
      !producer || (producer->stored && producer->level < position.level);
  if (!inMemory)
    return evaluate(*producer, position);

  Value buffer = memory.lookup(tensor);
  auto type = cast<MemRefType>(buffer.getType());
  bool oneRow = !type.isDynamicDim(0) && type.getDimSize(0) == 1;
  bool oneColumn = type.getDimSize(1) == 1 || !reads(map, 1);
  Value value =
      load(buffer, getElementTypeOrSelf(tensor),
           reads(map, 0) && !oneRow ? row : zero,
           oneColumn ? zero : position.column, oneColumn ? 1 : position.lanes);
  position.elements[tensor] = value;
  return value;
}

/// The element that a step's body yields; for a reduction or column sum the
/// one that it adds.
FailureOr<Value> RowEmitter::evaluate(const RowStep &step, Position &position) {
  if (Value known = position.elements.lookup(step.op->getResult(0)))
    return known;
  IRMapping mapping;
  Block *body = step.op.getBody();
  for (OpOperand *operand : step.op.getDpsInputOperands()) {
    BlockArgument argument = body->getArgument(operand->getOperandNumber());
    if (argument.use_empty())
      continue;
    FailureOr<Value> element = elementOf(
        operand->get(), step.op.getMatchingIndexingMap(operand), position);
    if (failed(element))
      return failure();
    mapping.map(argument, *element);
  }
  if (failed(cloneBody(step, position, mapping)))
    return failure();

  Value yielded = body->getTerminator()->getOperand(0);
  if (step.reduces()) {
    Combiner combiner = RowProgram::getCombiner(step.op);
    return mapping.lookupOrDefault(combiner.op->getOperand(combiner.element));
  }
  Value element = mapping.lookupOrDefault(yielded);
  position.elements[step.op->getResult(0)] = element;
  return element;
}

LogicalResult RowEmitter::cloneBody(const RowStep &step, Position &position,
                                    IRMapping &mapping) {
  Operation *combiner =
      step.reduces() ? RowProgram::getCombiner(step.op).op : nullptr;
  for (Operation &op : step.op.getBody()->without_terminator()) {
    if (&op == combiner)
      continue;
    for (Value operand : op.getOperands()) {
      cloneConstant(operand, mapping);
      if (!mapping.contains(operand) && !isa<tensor::ExtractOp>(op))
        return op.emitOpError("uses a value from outside its linalg.generic "
                              "that is not a constant");
    }
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      mapping.map(op.getResult(0),
                  index.getDim() == 0 ? row : columnIndices(position));
      continue;
    }
    if (isa<tensor::ExtractOp>(op)) {
      FailureOr<Value> value = loadFromTable(op, position, mapping);
      if (failed(value))
        return failure();
      mapping.map(op.getResult(0), *value);
      continue;
    }
    if (!OpTrait::hasElementwiseMappableTraits(&op) &&
        !isa<arith::ConstantOp>(op))
      return op.emitOpError("is not an element-wise scalar operation");
    cloneElementwise(op, position.lanes, mapping);
  }
  // A body may yield a constant of the kernel.
  cloneConstant(step.op.getBody()->getTerminator()->getOperand(0), mapping);
  return success();
}

/// Constants may stand outside the body that uses them.
void RowEmitter::cloneConstant(Value value, IRMapping &mapping) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (constant && !mapping.contains(value))
    mapping.map(value, builder.clone(*constant)->getResult(0));
}

/// Clones a scalar operation, on vectors where an operand is one.
void RowEmitter::cloneElementwise(Operation &op, int64_t lanes,
                                  IRMapping &mapping) {
  bool varies = llvm::any_of(op.getOperands(), [&](Value operand) {
    return isa<VectorType>(mapping.lookupOrDefault(operand).getType());
  });
  IRMapping operands;
  for (Value operand : op.getOperands()) {
    Value value = mapping.lookupOrDefault(operand);
    operands.map(operand, varies ? broadcast(value, lanes) : value);
  }
  Operation *clone = builder.clone(op, operands);
  for (auto [result, original] :
       llvm::zip(clone->getResults(), op.getResults())) {
    if (varies)
      result.setType(VectorType::get(lanes, result.getType()));
    mapping.map(original, result);
  }
}

/// tensor.extract %table[row, column]: the row is one for all lanes, the
/// column either too or the lanes' own.
FailureOr<Value> RowEmitter::loadFromTable(Operation &op, Position &position,
                                           IRMapping &mapping) {
  auto extract = cast<tensor::ExtractOp>(op);
  Value buffer = memory.lookup(RowProgram::stripCasts(extract.getTensor()));
  if (!buffer || program.getProducer(extract.getTensor()))
    return op.emitOpError("reads a tensor that is not an argument of the "
                          "kernel");
  if (extract.getIndices().size() != 2)
    return op.emitOpError("reads a table that is not of rank 2");
  Value tableRow = mapping.lookupOrDefault(extract.getIndices()[0]);
  Value column = mapping.lookupOrDefault(extract.getIndices()[1]);
  if (!mapping.contains(extract.getIndices()[0]) ||
      !mapping.contains(extract.getIndices()[1]))
    return op.emitOpError("reads a table at an index from outside its "
                          "linalg.generic");
  if (isa<VectorType>(tableRow.getType()))
    return op.emitOpError("reads a table row that differs by column");
  if (!isa<VectorType>(column.getType()))
    return load(buffer, extract.getType(), tableRow, column, 1);
  auto index = extract.getIndices()[1].getDefiningOp<linalg::IndexOp>();
  if (!index || index.getDim() != 1)
    return op.emitOpError("reads a table column other than linalg.index 1");
  return load(buffer, extract.getType(), tableRow, position.column,
              position.lanes);
}

/// Loads `lanes` elements of the tensor element type `element`.
Value RowEmitter::load(Value buffer, Type element, Value row, Value column,
                       int64_t lanes) {
  Value at[] = {row, column};
  Type stored = cast<MemRefType>(buffer.getType()).getElementType();
  Value value;
  if (lanes == 1)
    value = memref::LoadOp::create(builder, loc, buffer, at);
  else
    value = vector::LoadOp::create(builder, loc, VectorType::get(lanes, stored),
                                   buffer, at);
  return bitcast(value, element);
}

/// Stores into the current row, or into the only one.
void RowEmitter::store(Value element, Value buffer, Value column,
                       int64_t lanes) {
  auto type = cast<MemRefType>(buffer.getType());
  bool oneRow = !type.isDynamicDim(0) && type.getDimSize(0) == 1;
  Value at[] = {oneRow ? zero : row, column};
  Value value = bitcast(broadcast(element, lanes), type.getElementType());
  if (lanes == 1)
    memref::StoreOp::create(builder, loc, value, buffer, at);
  else
    vector::StoreOp::create(builder, loc, value, buffer, at);
}

/// Adds to the block's sums of `lanes` columns.
void RowEmitter::addToColumn(const RowStep &step, Value element, Value column,
                             int64_t lanes) {
  Value buffer = memory.lookup(step.op->getResult(0));
  Value sum = load(buffer, builder.getF32Type(), zero, column, lanes);
  store(combine(step, broadcast(element, lanes), sum), buffer, column, lanes);
}

Value RowEmitter::bitcast(Value value, Type element) {
  Type type = value.getType();
  if (getElementTypeOrSelf(type) == element)
    return value;
  if (auto vector = dyn_cast<VectorType>(type))
    element = VectorType::get(vector.getShape(), element);
  return arith::BitcastOp::create(builder, loc, element, value);
}

Value RowEmitter::broadcast(Value element, int64_t lanes) {
  if (lanes == 1 || isa<VectorType>(element.getType()))
    return element;
  return vector::BroadcastOp::create(
      builder, loc, VectorType::get(lanes, element.getType()), element);
}

Value RowEmitter::columnIndices(Position &position) {
  if (position.lanes == 1)
    return position.column;
  auto type = VectorType::get(position.lanes, builder.getIndexType());
  Value steps = vector::StepOp::create(builder, loc, type);
  return arith::AddIOp::create(
      builder, loc, broadcast(position.column, position.lanes), steps);
}

/// What a reduction's accumulator starts from.
FailureOr<Value> RowEmitter::startOf(const RowStep &reduction) {
  auto fill = reduction.op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  Operation *value = fill.getInputs()[0].getDefiningOp();
  if (!value || !isa<arith::ConstantOp>(value))
    return reduction.op.emitOpError("starts from a value that is not constant");
  return builder.clone(*value)->getResult(0);
}

Value RowEmitter::neutral(const RowStep &reduction, int64_t lanes) {
  Operation *combiner = RowProgram::getCombiner(reduction.op).op;
  TypedAttr value = *arith::getNeutralElement(combiner);
  return broadcast(arith::ConstantOp::create(builder, loc, value), lanes);
}

/// The combiner on scalars or vectors. Its order is fixed here, so it keeps no
/// leave to be reordered again.
Value RowEmitter::combine(const RowStep &reduction, Value element,
                          Value accumulator) {
  Combiner combiner = RowProgram::getCombiner(reduction.op);
  IRMapping mapping;
  mapping.map(combiner.op->getOperand(combiner.element), element);
  mapping.map(combiner.op->getOperand(1 - combiner.element), accumulator);
  Operation *clone = builder.clone(*combiner.op, mapping);
  clone->getResult(0).setType(accumulator.getType());
  clone->setAttr("fastmath",
                 arith::FastMathFlagsAttr::get(builder.getContext(),
                                               arith::FastMathFlags::none));
  return clone->getResult(0);
}

/// Folds a vector by halves, upper onto lower, down to one element.
Value RowEmitter::foldLanes(const RowStep &reduction, Value vector) {
  for (int64_t half = rowLanes / 2; half > 0; half /= 2) {
    Value low = vector::ExtractStridedSliceOp::create(builder, loc, vector, {0},
                                                      {half}, {1});
    Value high = vector::ExtractStridedSliceOp::create(builder, loc, vector,
                                                       {half}, {half}, {1});
    vector = combine(reduction, high, low);
  }
  return vector::ExtractOp::create(builder, loc, vector, ArrayRef<int64_t>{0});
}

void RowEmitter::forColumns(int64_t width,
                            function_ref<void(Value, int64_t)> body) {
  int64_t whole = width / rowLanes * rowLanes;
  auto loop = [&](int64_t begin, int64_t end, int64_t lanes) {
    auto loop = scf::ForOp::create(builder, loc, constantIndex(begin),
                                   constantIndex(end), constantIndex(lanes));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar(), lanes);
  };
  if (whole)
    loop(0, whole, rowLanes);
  if (whole < width)
    loop(whole, width, 1);
}

Value RowEmitter::constantIndex(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}
