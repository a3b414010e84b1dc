// The backward half of an accumulate program.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/BackwardBuilder.h"

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;

BackwardBuilder::BackwardBuilder(func::FuncOp program,
                                 const SymbolTable &symbols, int64_t rowBlocks)
    : program(program), symbols(symbols), rowBlocks(rowBlocks), state(program),
      builder(program.getContext()) {}

LogicalResult BackwardBuilder::run() {
  findDependent();
  if (failed(findLoss()))
    return failure();
  SmallVector<Operation *> forward;
  for (Operation &op : program.getBody().front()) {
    forward.push_back(&op);
    if (&op == loss)
      break;
  }
  builder.setInsertionPointAfter(loss);
  for (Operation *op : llvm::reverse(forward))
    if (failed(differentiate(op)))
      return failure();
  // What was replaced by an op that computes more.
  for (Operation *op : llvm::reverse(forward))
    if (isa<DifferentiableOpInterface>(op) && op->use_empty())
      op->erase();
  return success(!hasFailed);
}

GlobalOp BackwardBuilder::parameterOf(Value value) const {
  auto read = value.getDefiningOp<ReadOp>();
  if (!read)
    return {};
  auto global = symbols.lookup<GlobalOp>(read.getGlobal());
  return global.getKind() == GlobalKind::Parameter ? global : GlobalOp();
}

void BackwardBuilder::findDependent() {
  for (Operation &op : program.getBody().front())
    for (Value result : op.getResults())
      if (parameterOf(result) || llvm::any_of(op.getOperands(), [&](Value in) {
            return dependent.contains(in);
          }))
        dependent.insert(result);
}

LogicalResult BackwardBuilder::findLoss() {
  for (auto op : program.getBody().getOps<DifferentiableOpInterface>()) {
    if (!op.getLoss())
      continue;
    if (loss)
      return op->emitOpError("is a second loss: a program has one");
    loss = op;
  }
  if (!loss)
    return program.emitError("program '")
           << program.getName()
           << "' has no loss: end it with gpt2.cross_entropy";
  if (llvm::none_of(loss->getOperands(),
                    [&](Value in) { return dependent.contains(in); }))
    return loss->emitOpError("depends on no parameter, so there is nothing to "
                             "train");
  return success();
}

LogicalResult BackwardBuilder::differentiate(Operation *op) {
  auto ofResults = llvm::map_to_vector(
      op->getResults(), [&](Value result) { return gradients.lookup(result); });
  bool isReached = op == loss || llvm::any_of(ofResults, [](Value gradient) {
                     return gradient != nullptr;
                   });
  if (!isReached || isa<ReadOp>(op))
    return success();
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op->emitOpError("cannot be differentiated, and the loss depends on "
                           "parameters through it");
  return differentiable.buildBackward(builder, ofResults, *this);
}

void BackwardBuilder::addGradient(Value value, Value gradient) {
  if (GlobalOp parameter = parameterOf(value)) {
    value.getDefiningOp()->emitOpError("'")
        << parameter.getSymName()
        << "' is used like an activation, so it cannot be trained: only "
           "tables, weights, biases and the vectors of norms can";
    hasFailed = true;
    return;
  }
  Value &sum = gradients[value];
  sum =
      sum ? AddOp::create(builder, gradient.getLoc(), sum, gradient) : gradient;
}

Value BackwardBuilder::getAccumulator(OpOperand &parameter) {
  GlobalOp global = parameterOf(parameter.get());
  if (!global) {
    parameter.getOwner()->emitOpError("operand ")
        << parameter.getOperandNumber()
        << " must be read straight from a parameter to have a gradient";
    return {};
  }
  Value &sum = sums[global.getSymNameAttr()];
  if (!sum)
    sum = state.read((global.getSymName() + ".grad").str(),
                     parameter.get().getType());
  return sum;
}

void BackwardBuilder::setAccumulator(OpOperand &parameter, Value sum) {
  sums[parameterOf(parameter.get()).getSymNameAttr()] = sum;
}

Value BackwardBuilder::readSlot(StringRef name, int64_t rows) {
  auto type = symbols.lookup<GlobalOp>(name).getTensorType();
  return state.read(name, rows ? type.clone(rows) : type);
}

int64_t BackwardBuilder::getRowBlocks(int64_t rows) const {
  return std::min(rowBlocks, rows);
}

void BackwardBuilder::addToLossSum(Value partials) {
  state.addColumns(builder, "loss_sum", partials);
}
