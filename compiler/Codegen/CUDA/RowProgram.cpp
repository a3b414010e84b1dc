//===- RowProgram.cpp - A kernel region in its normal form ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/RowProgram.h"
#include "compiler/Codegen/CUDA/CudaText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::gpt2c;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

llvm::StringRef Reduction::getCombinerName() const {
  if (isa<arith::AddFOp, arith::AddIOp>(combiner))
    return "Add";
  if (isa<arith::MaximumFOp, arith::MaxSIOp>(combiner))
    return "Max";
  return "Min";
}

std::string Reduction::getNeutralElement() const {
  bool isFloat = value.getType().isF32();
  llvm::StringRef name = getCombinerName();
  if (name == "Add")
    return isFloat ? "0x0p+0f" : "0";
  if (name == "Max")
    return isFloat ? "asFloat(0xff800000)" : "(-2147483647 - 1)";
  return isFloat ? "asFloat(0x7f800000)" : "2147483647";
}

Value RowProgram::strip(Value tensor) {
  while (auto cast = tensor.getDefiningOp<tensor::CastOp>())
    tensor = cast.getSource();
  return tensor;
}

Form RowProgram::getForm(Value tensor) const {
  RankedTensorType type = typeOf(tensor);
  if (type.isDynamicDim(0))
    return type.getDimSize(1) == 1 ? Form::Row : Form::Element;
  if (type.getDimSize(0) != 1)
    return Form::Table;
  if (type.getDimSize(1) == 1)
    return Form::Single;
  return type.getDimSize(1) == columns ? Form::Column : Form::Table;
}

bool RowProgram::isReduction(linalg::GenericOp op) const {
  return op.getIteratorTypesArray()[1] == utils::IteratorType::reduction;
}

bool RowProgram::isColumnSum(linalg::GenericOp op) const {
  return op.getIteratorTypesArray()[0] == utils::IteratorType::reduction;
}

bool RowProgram::hasColumnSums() const {
  return llvm::any_of(generics,
                      [&](linalg::GenericOp op) { return isColumnSum(op); });
}

bool RowProgram::runsOverColumns(linalg::GenericOp op) const {
  if (columns == 1)
    return false;
  return isReduction(op) || llvm::any_of(op->getResults(), [&](Value result) {
           Form form = getForm(result);
           return form == Form::Element || form == Form::Column;
         });
}

FailureOr<RowProgram> RowProgram::analyze(Block &block) {
  RowProgram program;
  program.block = &block;
  for (BlockArgument argument : block.getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      program.inputs.push_back(argument);
  for (Value output : block.getTerminator()->getOperands())
    program.outputs.push_back(strip(output));
  for (auto op : block.getOps<linalg::GenericOp>())
    program.generics.push_back(op);
  if (failed(program.findColumns()))
    return failure();
  for (linalg::GenericOp op : program.generics) {
    if (failed(program.checkGeneric(op)))
      return failure();
    program.assignPass(op);
  }
  for (Value output : program.outputs)
    if (!isa<BlockArgument>(output) &&
        !output.getDefiningOp<linalg::GenericOp>()) {
      output.getDefiningOp()->emitError(
          "a kernel yields inputs and results of linalg.generic only");
      return failure();
    }
  return program;
}

/// C is the one width above 1 of the tensors with a dynamic row count.
LogicalResult RowProgram::findColumns() {
  auto visit = [&](Value value) -> LogicalResult {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || type.getRank() != 2 || !type.isDynamicDim(0))
      return success();
    int64_t width = type.getDimSize(1);
    if (width == 1 || width == columns)
      return success();
    if (columns != 1 || ShapedType::isDynamic(width))
      return emitError(value.getLoc(), "a row kernel has one width, not ")
             << columns << " and " << width;
    columns = width;
    return success();
  };
  for (BlockArgument input : inputs)
    if (failed(visit(input)))
      return failure();
  for (Operation &op : *block)
    for (Value result : op.getResults())
      if (failed(visit(result)))
        return failure();
  for (Value value :
       llvm::concat<Value>(llvm::to_vector_of<Value>(inputs), outputs))
    if (cudaElementType(typeOf(value).getElementType()).empty())
      return emitError(value.getLoc(), "element type ")
             << typeOf(value).getElementType()
             << " has no CUDA form; use f32, f16, bf16, i8, i32 or i64";
  return success();
}

/// Operand dimension `position` is the loop of that position, or 0.
static bool isLoopOrZero(AffineExpr expression, unsigned position) {
  if (auto dim = dyn_cast<AffineDimExpr>(expression))
    return dim.getPosition() == position;
  auto constant = dyn_cast<AffineConstantExpr>(expression);
  return constant && constant.getValue() == 0;
}

LogicalResult RowProgram::checkGeneric(linalg::GenericOp op) {
  if (op.getNumLoops() != 2 || (isReduction(op) && isColumnSum(op)))
    return op.emitOpError("a row kernel's loops are (rows, columns), at most "
                          "one of them a reduction");
  for (AffineMap map : op.getIndexingMapsArray())
    if (map.getNumResults() != 2 || !isLoopOrZero(map.getResult(0), 0) ||
        !isLoopOrZero(map.getResult(1), 1))
      return op.emitOpError("indexing map ")
             << AffineMapAttr::get(map) << " is not (row or 0, column or 0)";
  if (failed(checkOperands(op)))
    return failure();
  WalkResult walk = op->walk([&](tensor::ExtractOp extract) {
    auto table = dyn_cast<BlockArgument>(strip(extract.getTensor()));
    if (table && table.getOwner() == block && extract.getIndices().size() == 2)
      return WalkResult::advance();
    extract.emitOpError("reads something else than an input of the kernel");
    return WalkResult::interrupt();
  });
  if (walk.wasInterrupted())
    return failure();
  if (isReduction(op) || isColumnSum(op))
    return checkReduction(op);
  for (Value result : op->getResults())
    if (getForm(result) != Form::Element && getForm(result) != Form::Row)
      return op.emitOpError("makes a value that is not one a row or element");
  return success();
}

LogicalResult RowProgram::checkOperands(linalg::GenericOp op) {
  for (Value input : op.getDpsInputs()) {
    Form form = getForm(input);
    if (form == Form::Table)
      return op.emitOpError("reads a table other than by tensor.extract");
    if (!runsOverColumns(op) && (form == Form::Element || form == Form::Column))
      return op.emitOpError("reads one value a column where it runs once a "
                            "row");
    Value source = strip(input);
    if (isa<BlockArgument>(source))
      continue;
    auto producer = source.getDefiningOp<linalg::GenericOp>();
    if (!producer)
      return op.emitOpError("reads a tensor that no linalg.generic makes");
    if (isColumnSum(producer))
      return op.emitOpError("reads a sum over rows, which is complete only "
                            "after the kernel");
  }
  return success();
}

LogicalResult RowProgram::checkReduction(linalg::GenericOp op) {
  if (isReduction(op))
    reductionCount += op->getNumResults();
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    auto fill = op.getDpsInits()[i].getDefiningOp<linalg::FillOp>();
    Value yielded = op.getBody()->getTerminator()->getOperand(i);
    Operation *combiner = yielded.getDefiningOp();
    BlockArgument accumulator = op.getRegionOutputArgs()[i];
    if (!fill)
      return op.emitOpError("a reduction starts from linalg.fill");
    if (!isa_and_present<arith::AddFOp, arith::MaximumFOp, arith::MinimumFOp,
                         arith::AddIOp, arith::MaxSIOp, arith::MinSIOp>(
            combiner) ||
        !accumulator.hasOneUse() || *accumulator.user_begin() != combiner)
      return op.emitOpError("a reduction ends in one addf, maximumf, minimumf, "
                            "addi, maxsi or minsi of its accumulator");
    Type type = yielded.getType();
    if (!type.isF32() && !type.isInteger(32))
      return op.emitOpError("accumulates in f32 or i32, not ") << type;
    Form form = getForm(op->getResult(i));
    if (isColumnSum(op) && (!isa<arith::AddFOp>(combiner) || !type.isF32() ||
                            (form != Form::Column && form != Form::Single)))
      return op.emitOpError("reduces rows outside the normal form: it adds up "
                            "f32 into tensor<1xC>");
  }
  return success();
}

Reduction RowProgram::getReduction(linalg::GenericOp op,
                                   unsigned result) const {
  Operation *combiner =
      op.getBody()->getTerminator()->getOperand(result).getDefiningOp();
  bool first = combiner->getOperand(0) == op.getRegionOutputArgs()[result];
  auto fill = op.getDpsInits()[result].getDefiningOp<linalg::FillOp>();
  return {combiner, combiner->getOperand(first ? 1 : 0), fill.getInputs()[0]};
}

void RowProgram::assignPass(linalg::GenericOp op) {
  unsigned pass = 0;
  for (Value input : op.getDpsInputs())
    if (auto producer = strip(input).getDefiningOp<linalg::GenericOp>()) {
      bool waits = columns != 1 && isReduction(producer);
      pass = std::max(pass, getPass(producer) + (waits ? 1 : 0));
    }
  passes[op] = pass;
  if (runsOverColumns(op))
    numPasses = std::max(numPasses, pass + 1);
}

double RowProgram::getWordsPerColumn() const {
  // Values that outlive the pass they are made in stay in registers; the rest
  // pass through a few. Inputs are all loaded before the first pass.
  SmallVector<double> live(numPasses, 0.0);
  auto count = [&](Value value, unsigned from) {
    unsigned last = from;
    for (linalg::GenericOp op : generics)
      if (llvm::any_of(op.getDpsInputs(),
                       [&](Value input) { return strip(input) == value; }))
        last = std::max(last, getPass(op));
    double words = typeOf(value).getElementTypeBitWidth() / 32.0;
    bool isInput = isa<BlockArgument>(value);
    for (unsigned pass = from; pass <= last && pass < numPasses; ++pass)
      if (isInput || last > from)
        live[pass] += words;
  };
  for (BlockArgument input : inputs)
    if (getForm(input) == Form::Element)
      count(input, 0);
  for (linalg::GenericOp op : generics)
    for (Value result : op->getResults())
      if (getForm(result) == Form::Element)
        count(result, getPass(op));
  return *llvm::max_element(live);
}

double RowProgram::getInputWordsPerColumn() const {
  double words = 0;
  for (BlockArgument input : inputs)
    if (getForm(input) == Form::Element && !input.use_empty())
      words += typeOf(input).getElementTypeBitWidth() / 32.0;
  return words;
}

unsigned RowProgram::getColumnResults() const {
  unsigned count = 0;
  for (linalg::GenericOp op : generics)
    if (isColumnSum(op) && runsOverColumns(op))
      count += op->getNumResults();
  return count;
}
