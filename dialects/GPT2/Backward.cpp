// DifferentiableOpInterface: how each op's gradient is built.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/GPT2Ops.h"

using namespace mlir;
using namespace mlir::gpt2;

/// The type of a column result over the rows of `value`, which has a column
/// for each of `columns`.
static RankedTensorType partialsOf(Value value, int64_t columns,
                                   GradientBuilder &gradients) {
  int64_t rows = cast<RankedTensorType>(value.getType()).getDimSize(0);
  return RankedTensorType::get({columns, gradients.getRowBlocks(rows)},
                               Float32Type::get(value.getContext()));
}

static int64_t columnsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getDimSize(1);
}

/// Adds a column result to the gradient of a vector that needs one.
static LogicalResult finishColumns(OpBuilder &builder, Location loc,
                                   Value partials, OpOperand &vector,
                                   GradientBuilder &gradients) {
  if (!gradients.needsGradient(vector.get()))
    return success();
  Value sum = gradients.getAccumulator(vector);
  if (!sum)
    return failure();
  gradients.setAccumulator(vector,
                           ColumnFinishOp::create(builder, loc, partials, sum));
  return success();
}

//===----------------------------------------------------------------------===//
// Row ops
//===----------------------------------------------------------------------===//

LogicalResult EmbedOp::buildBackward(OpBuilder &builder, ValueRange gradients,
                                     GradientBuilder &gradientBuilder) {
  if (getStarts())
    return emitOpError("with starts cannot be differentiated: sequences of a "
                       "training program start at 0");
  OpOperand &wte = getWteMutable(), &wpe = getWpeMutable();
  if (wte.get() == wpe.get())
    return emitOpError("with one table for tokens and positions cannot be "
                       "differentiated");
  Value dwte = gradientBuilder.getAccumulator(wte);
  Value dwpe = gradientBuilder.getAccumulator(wpe);
  if (!dwte || !dwpe)
    return failure();
  Value order =
      gradientBuilder.readSlot("order", getTokens().getType().getDimSize(0));
  auto op = EmbedGradOp::create(builder, getLoc(), dwte.getType(),
                                dwpe.getType(), gradients[0], getTokens(),
                                order, dwte, dwpe, getBatch());
  gradientBuilder.setAccumulator(wte, op.getDwteResult());
  gradientBuilder.setAccumulator(wpe, op.getDwpeResult());
  return success();
}

LogicalResult LayerNormOp::buildBackward(OpBuilder &builder,
                                         ValueRange gradients,
                                         GradientBuilder &gradientBuilder) {
  if (gradients[1] || gradients[2])
    return emitOpError("cannot be differentiated where the loss depends on "
                       "mean or rstd");
  Type partials = partialsOf(getX(), columnsOf(getX()), gradientBuilder);
  auto op = LayerNormGradOp::create(builder, getLoc(), getX().getType(),
                                    partials, partials, gradients[0], getX(),
                                    getGamma(), getMean(), getRstd());
  // First, so that the sum with another gradient stands next to its operand.
  if (gradientBuilder.needsGradient(getX()))
    gradientBuilder.addGradient(getX(), op.getDx());
  if (failed(finishColumns(builder, getLoc(), op.getDgamma(), getGammaMutable(),
                           gradientBuilder)))
    return failure();
  return finishColumns(builder, getLoc(), op.getDbeta(), getBetaMutable(),
                       gradientBuilder);
}

LogicalResult ActivationOp::buildBackward(OpBuilder &builder,
                                          ValueRange gradients,
                                          GradientBuilder &gradientBuilder) {
  gradientBuilder.addGradient(
      getX(), ActivationGradOp::create(builder, getLoc(), getX().getType(),
                                       getKind(), gradients[0], getX()));
  return success();
}

LogicalResult AddOp::buildBackward(OpBuilder &, ValueRange gradients,
                                   GradientBuilder &gradientBuilder) {
  for (Value operand : getOperands())
    if (gradientBuilder.needsGradient(operand))
      gradientBuilder.addGradient(operand, gradients[0]);
  return success();
}

LogicalResult CastOp::buildBackward(OpBuilder &builder, ValueRange gradients,
                                    GradientBuilder &gradientBuilder) {
  gradientBuilder.addGradient(
      getX(),
      CastOp::create(builder, getLoc(), getX().getType(), gradients[0]));
  return success();
}

LogicalResult DropoutOp::buildBackward(OpBuilder &builder, ValueRange gradients,
                                       GradientBuilder &gradientBuilder) {
  gradientBuilder.addGradient(
      getX(), DropoutOp::create(builder, getLoc(), getX().getType(),
                                gradients[0], getRng(), getKey(),
                                getProbabilityAttr(), getBatchAttr()));
  return success();
}

Value CrossEntropyOp::getLoss() { return getLosses(); }

LogicalResult CrossEntropyOp::buildBackward(OpBuilder &builder, ValueRange,
                                            GradientBuilder &gradientBuilder) {
  auto op = CrossEntropyGradOp::create(
      builder, getLoc(), getLosses().getType(),
      partialsOf(getLogits(), 1, gradientBuilder), getLogits().getType(),
      getLogits(), getTargets(), gradientBuilder.readSlot("step_params"),
      gradientBuilder.readSlot("train_state"), getVocab(), getFirstAttr());
  getLosses().replaceAllUsesWith(op.getLosses());
  gradientBuilder.addToLossSum(op.getTotal());
  gradientBuilder.addGradient(getLogits(), op.getDlogits());
  return success();
}

//===----------------------------------------------------------------------===//
// Matrix products and attention
//===----------------------------------------------------------------------===//

// The weight's gradient comes before x's: x is then no longer needed where the
// program first needs room for its gradient.
LogicalResult LinearOp::buildBackward(OpBuilder &builder, ValueRange gradients,
                                      GradientBuilder &gradientBuilder) {
  Value dy = gradients[0];
  if (getBias() && gradientBuilder.needsGradient(getBias())) {
    Value partials = ColumnSumOp::create(
        builder, getLoc(), partialsOf(dy, columnsOf(dy), gradientBuilder), dy);
    if (failed(finishColumns(builder, getLoc(), partials, getBiasMutable()[0],
                             gradientBuilder)))
      return failure();
  }
  if (gradientBuilder.needsGradient(getWeight())) {
    Value sum = gradientBuilder.getAccumulator(getWeightMutable());
    if (!sum)
      return failure();
    gradientBuilder.setAccumulator(getWeightMutable(),
                                   WeightGradOp::create(builder, getLoc(),
                                                        sum.getType(), dy,
                                                        getX(), sum));
  }
  if (gradientBuilder.needsGradient(getX()))
    gradientBuilder.addGradient(getX(), InputGradOp::create(builder, getLoc(),
                                                            getX().getType(),
                                                            dy, getWeight()));
  return success();
}

/// The op with its log-sum-exp, which the gradient reads.
static AttentionOp withLse(AttentionOp op) {
  if (op.getLse())
    return op;
  OpBuilder builder(op);
  auto lse = RankedTensorType::get({op.getQkv().getType().getDimSize(0),
                                    static_cast<int64_t>(op.getHeads())},
                                   builder.getF32Type());
  auto other = AttentionOp::create(
      builder, op.getLoc(), op.getResult().getType(), lse, op.getQkv(),
      op.getK(), op.getV(), op.getStarts(), op.getSlot(), op.getRng(),
      op.getBatchAttr(), op.getHeadsAttr(), op.getScaleAttr(),
      op.getDropoutAttr(), op.getDropoutIdAttr());
  other->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.getResult().replaceAllUsesWith(other.getResult());
  return other;
}

LogicalResult AttentionOp::buildBackward(OpBuilder &builder,
                                         ValueRange gradients,
                                         GradientBuilder &gradientBuilder) {
  if (getK())
    return emitOpError("over caches cannot be differentiated");
  if (getLse() && gradients[1])
    return emitOpError("cannot be differentiated where the loss depends on "
                       "lse");
  AttentionOp op = withLse(*this);
  gradientBuilder.addGradient(
      getQkv(), AttentionGradOp::create(builder, getLoc(), getQkv().getType(),
                                        getQkv(), op.getResult(), op.getLse(),
                                        gradients[0], getRng(), getBatchAttr(),
                                        getHeadsAttr(), getScaleAttr(),
                                        getDropoutAttr(), getDropoutIdAttr()));
  return success();
}
