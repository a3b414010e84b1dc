// Turns gpt2 ops into the regions of kernels.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/Decompose.h"

#include "dialects/GPT2/RowBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::gpt2;

RankedTensorType gpt2::getNormalForm(RankedTensorType type, OperandForm form) {
  Type element = type.getElementType();
  int64_t columns = type.getRank() == 2 ? type.getDimSize(1) : 1;
  switch (form) {
  case OperandForm::Row:
    return RankedTensorType::get({ShapedType::kDynamic, columns}, element);
  case OperandForm::Column:
    return RankedTensorType::get({1, type.getShape().back()}, element);
  case OperandForm::Scalar:
    return RankedTensorType::get({1, 1}, element);
  case OperandForm::Table:
    return type.getRank() == 2
               ? type
               : RankedTensorType::get({type.getDimSize(0), 1}, element);
  }
  llvm_unreachable("every form is handled");
}

namespace {

int64_t columnsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getDimSize(1);
}

/// Fills one block of a kernel with the decompositions of ops.
class BlockOutliner {
public:
  /// `fused` is the region that the ops stand in, if any.
  BlockOutliner(FusedOp fused, Location loc, OpBuilder &builder, Region &body)
      : fused(fused), builder(builder), block(body.emplaceBlock()) {
    rows = block.addArgument(builder.getIndexType(), loc);
  }

  /// Adds an argument that the launch does not pass.
  Value addArgument(RankedTensorType type, Location loc) {
    return block.addArgument(type, loc);
  }

  /// The value of an operand in the block; an outside one becomes an argument.
  Value get(OpOperand &use);

  /// Appends the decomposition of `op`.
  void append(DecomposeOpInterface op);

  /// Appends the rounded sum of products and bias of `linear`.
  void appendLinear(LinearOp linear, Value sums);

  /// Yields the inner value `inner` as the outside result `outer`.
  void yield(Value inner, OpResult outer) {
    result.outputs.push_back(outer);
    result.yields.push_back(computed.at(inner));
    if (isColumnResult(inner))
      result.rowBlocks = columnsOf(outer);
  }
  void yield(Value normal) { result.yields.push_back(normal); }

  RowBlock finish();

private:
  FusedOp fused;
  OpBuilder &builder;
  Block &block;
  Value rows;
  RowBlock result;
  DenseMap<Value, Value> computed;
  DenseMap<std::pair<Value, unsigned>, Value> arguments;
};

Value BlockOutliner::get(OpOperand &use) {
  if (Value value = computed.lookup(use.get()))
    return value;
  OperandForm form = getOperandForm(use);
  Value &argument = arguments[{use.get(), static_cast<unsigned>(form)}];
  if (!argument) {
    auto type = cast<RankedTensorType>(use.get().getType());
    argument = block.addArgument(getNormalForm(type, form), use.get().getLoc());
    auto inner = dyn_cast<BlockArgument>(use.get());
    bool isOwn = inner && fused && inner.getOwner() == &fused.getBody().front();
    result.inputs.push_back(isOwn ? fused.getInputs()[inner.getArgNumber()]
                                  : use.get());
  }
  return argument;
}

void BlockOutliner::append(DecomposeOpInterface op) {
  SmallVector<Value> operands = llvm::map_to_vector(
      op->getOpOperands(), [&](OpOperand &use) { return get(use); });
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&block);
  SmallVector<Value> values =
      op.decompose(builder, op.getLoc(), operands, rows);
  for (auto [inner, value] : llvm::zip_equal(op->getResults(), values))
    computed[inner] = value;
}

void BlockOutliner::appendLinear(LinearOp linear, Value sums) {
  SmallVector<Value> operands = {sums};
  if (linear.getBias())
    operands.push_back(get(linear->getOpOperand(2)));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&block);
  computed[linear.getResult()] =
      RowBuilder(builder, linear.getLoc(), rows)
          .map(getElementTypeOrSelf(linear.getResult()),
               linear.getResult().getType().getDimSize(1), operands,
               [](OpBuilder &b, Location loc, ValueRange in) -> Value {
                 return in.size() == 1 ? in[0]
                                       : Value(arith::AddFOp::create(
                                             b, loc, in[0], in[1]));
               });
}

/// Drops what only unused results needed, such as statistics.
RowBlock BlockOutliner::finish() {
  DenseSet<Value> kept(result.yields.begin(), result.yields.end());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    bool isKept = llvm::any_of(
        op.getResults(), [&](Value value) { return kept.contains(value); });
    if (!isKept && isOpTriviallyDead(&op))
      op.erase();
  }
  return std::move(result);
}

/// Yields every used result of `op`.
void yieldResults(Operation *op, BlockOutliner &outliner) {
  for (OpResult outer : op->getResults()) {
    if (outer.use_empty())
      continue;
    auto fused = dyn_cast<FusedOp>(op);
    outliner.yield(fused ? fused.getYielded(outer.getResultNumber())
                         : Value(outer),
                   outer);
  }
}

} // namespace

bool gpt2::isRowKernel(Operation *op) {
  auto fused = dyn_cast<FusedOp>(op);
  return fused ? fused.getKind() == FusedKind::Row
               : isa<DecomposeOpInterface>(op);
}

RowBlock gpt2::outlineRowKernel(Operation *op, OpBuilder &builder,
                                Region &body) {
  auto fused = dyn_cast<FusedOp>(op);
  BlockOutliner outliner(fused, op->getLoc(), builder, body);
  if (fused)
    for (auto inner : fused.getBody().getOps<DecomposeOpInterface>())
      outliner.append(inner);
  else
    outliner.append(cast<DecomposeOpInterface>(op));
  yieldResults(op, outliner);
  return outliner.finish();
}

bool gpt2::isMatvecKernel(Operation *op) {
  auto fused = dyn_cast<FusedOp>(op);
  return fused ? fused.getKind() == FusedKind::Matvec : isa<LinearOp>(op);
}

MatvecKernel gpt2::outlineMatvecKernel(Operation *op, OpBuilder &builder,
                                       Region &prologue, Region &epilogue) {
  auto fused = dyn_cast<FusedOp>(op);
  MatvecParts parts;
  if (fused)
    parts = splitMatvec(fused);
  else
    parts.linear = cast<LinearOp>(op);
  Location loc = op->getLoc();

  BlockOutliner before(fused, loc, builder, prologue);
  for (Operation *inner : parts.prologue)
    before.append(cast<DecomposeOpInterface>(inner));
  before.yield(before.get(parts.linear->getOpOperand(0)));

  BlockOutliner after(fused, loc, builder, epilogue);
  auto sumsType = RankedTensorType::get(
      parts.linear.getResult().getType().getShape(), builder.getF32Type());
  Value sums =
      after.addArgument(getNormalForm(sumsType, OperandForm::Row), loc);
  after.appendLinear(parts.linear, sums);
  for (Operation *inner : parts.epilogue)
    after.append(cast<DecomposeOpInterface>(inner));
  yieldResults(op, after);

  Value weight = parts.linear.getWeight();
  if (auto inner = dyn_cast<BlockArgument>(weight);
      inner && fused && inner.getOwner() == &fused.getBody().front())
    weight = fused.getInputs()[inner.getArgNumber()];
  return {before.finish(), weight, after.finish()};
}
