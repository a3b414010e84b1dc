// chunk-lm-head: the product with the head and its loss, chunk by chunk.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/Passes.h"

#include "dialects/GPT2/GPT2Ops.h"

#include "mlir/IR/Remarks.h"

namespace mlir::gpt2c {
#define GEN_PASS_DEF_CHUNKLMHEAD
#include "compiler/Transforms/Passes.h.inc"
} // namespace mlir::gpt2c

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;

namespace {

/// The head of a program, from the last norm to its loss and gradients.
struct Head {
  LinearOp linear;
  Operation *loss = nullptr; ///< cross_entropy or cross_entropy_grad
  WeightGradOp weightGrad;   ///< the last three where the loss has a gradient
  InputGradOp inputGrad;
  ColumnFinishOp total;

  Location getLoc() const { return loss->getLoc(); }
  int64_t countRows() { return linear.getX().getType().getDimSize(0); }
};

/// The only user of `value`, where it is an `OpT`.
template <typename OpT>
OpT onlyUser(Value value) {
  return value.hasOneUse() ? dyn_cast<OpT>(*value.getUsers().begin()) : OpT();
}

/// Finds what belongs to a loss; fails where something else reads the logits or
/// their gradient.
FailureOr<Head> findHead(Operation *loss) {
  Head head;
  head.loss = loss;
  Value logits = loss->getOperand(0);
  head.linear = logits.getDefiningOp<LinearOp>();
  if (!head.linear || head.linear.getBias() || !logits.hasOneUse())
    return failure();
  auto grad = dyn_cast<CrossEntropyGradOp>(loss);
  if (!grad)
    return head;
  for (Operation *user : grad.getDlogits().getUsers()) {
    if (auto weightGrad = dyn_cast<WeightGradOp>(user))
      head.weightGrad = weightGrad;
    else if (auto inputGrad = dyn_cast<InputGradOp>(user))
      head.inputGrad = inputGrad;
  }
  head.total = onlyUser<ColumnFinishOp>(grad.getTotal());
  bool isWhole = head.weightGrad && head.inputGrad && head.total &&
                 llvm::range_size(grad.getDlogits().getUses()) == 2 &&
                 head.weightGrad.getAcc() &&
                 head.weightGrad.getX() == head.linear.getX();
  if (!isWhole)
    return failure();
  return head;
}

/// Builds the chunks of a head in place of the whole.
class ChunkBuilder {
public:
  ChunkBuilder(Head head, int64_t chunks)
      : head(head), chunks(chunks), builder(head.loss) {}
  void run();

private:
  RankedTensorType resize(Value like, int64_t rows) {
    auto type = cast<RankedTensorType>(like.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[0] = rows;
    return type.clone(shape);
  }
  void buildChunk(int64_t first, int64_t rows);
  void buildGradients(CrossEntropyGradOp whole, Value logits, Value x,
                      int64_t first);
  /// `all` with `part` behind it, which may be all there is.
  Value append(Value all, Value part);
  void finish();

  Head head;
  int64_t chunks;
  OpBuilder builder;
  Value losses, dx, weightSum, lossSum;
};

void ChunkBuilder::run() {
  int64_t rows = head.countRows();
  if (head.weightGrad) {
    weightSum = head.weightGrad.getAcc();
    lossSum = head.total.getAcc();
  }
  for (int64_t i = 0; i < chunks; ++i)
    buildChunk(rows * i / chunks, rows * (i + 1) / chunks - rows * i / chunks);
  finish();
}

Value ChunkBuilder::append(Value all, Value part) {
  if (!all)
    return part;
  int64_t rows = cast<RankedTensorType>(all.getType()).getDimSize(0) +
                 cast<RankedTensorType>(part.getType()).getDimSize(0);
  return ConcatRowsOp::create(builder, head.getLoc(), resize(all, rows), all,
                              part);
}

void ChunkBuilder::buildChunk(int64_t first, int64_t rows) {
  LinearOp linear = head.linear;
  Value x =
      SliceRowsOp::create(builder, linear.getLoc(), resize(linear.getX(), rows),
                          linear.getX(), first);
  Value logits = LinearOp::create(
      builder, linear.getLoc(), resize(linear.getResult(), rows), x,
      linear.getWeight(), /*bias=*/Value(), linear.getF32Result());
  if (auto grad = dyn_cast<CrossEntropyGradOp>(head.loss))
    return buildGradients(grad, logits, x, first);
  auto whole = cast<CrossEntropyOp>(head.loss);
  Value part = CrossEntropyOp::create(
      builder, whole.getLoc(), resize(whole.getLosses(), rows), logits,
      whole.getTargets(), whole.getVocab(), builder.getI64IntegerAttr(first));
  losses = append(losses, part);
}

void ChunkBuilder::buildGradients(CrossEntropyGradOp whole, Value logits,
                                  Value x, int64_t first) {
  int64_t rows = cast<RankedTensorType>(x.getType()).getDimSize(0);
  int64_t blocks = whole.getTotal().getType().getDimSize(1);
  auto partials =
      RankedTensorType::get({1, std::min(blocks, rows)}, builder.getF32Type());
  auto part = CrossEntropyGradOp::create(
      builder, whole.getLoc(), resize(whole.getLosses(), rows), partials,
      logits.getType(), logits, whole.getTargets(), whole.getStepParams(),
      whole.getTrainState(), whole.getVocab(),
      builder.getI64IntegerAttr(first));
  losses = append(losses, part.getLosses());
  lossSum = ColumnFinishOp::create(builder, head.total.getLoc(),
                                   part.getTotal(), lossSum);
  weightSum = WeightGradOp::create(builder, head.weightGrad.getLoc(),
                                   part.getDlogits(), x, weightSum);
  Value partDx = InputGradOp::create(
      builder, head.inputGrad.getLoc(), resize(head.inputGrad.getDx(), rows),
      part.getDlogits(), head.linear.getWeight());
  dx = append(dx, partDx);
}

void ChunkBuilder::finish() {
  head.loss->getResult(0).replaceAllUsesWith(losses);
  if (head.weightGrad) {
    head.weightGrad.replaceAllUsesWith(weightSum);
    head.inputGrad.replaceAllUsesWith(dx);
    head.total.replaceAllUsesWith(lossSum);
    head.weightGrad.erase();
    head.inputGrad.erase();
    head.total.erase();
  }
  head.loss->erase();
  head.linear.erase();
}

class ChunkLmHeadPass : public gpt2c::impl::ChunkLmHeadBase<ChunkLmHeadPass> {
public:
  using gpt2c::impl::ChunkLmHeadBase<ChunkLmHeadPass>::ChunkLmHeadBase;
  void runOnOperation() override;

private:
  LogicalResult chunk(Operation *loss);

  int64_t mostRows = 0; ///< of a program
};

LogicalResult ChunkLmHeadPass::chunk(Operation *loss) {
  FailureOr<Head> head = findHead(loss);
  if (failed(head))
    return loss->emitOpError(
        "has logits or gradients that chunk-lm-head cannot "
        "split: it takes the LM head of a training "
        "program before fuse");
  if (chunks > mostRows)
    return loss->emitOpError()
           << "has " << mostRows << " rows, which do not make "
           << int64_t(chunks) << " chunks";
  // No chunk of a shorter program is larger than one of the longest.
  ChunkBuilder(*head,
               llvm::divideCeil(int64_t(chunks) * head->countRows(), mostRows))
      .run();
  ++numHeads;
  return success();
}

void ChunkLmHeadPass::runOnOperation() {
  if (chunks < 1) {
    getOperation().emitError("chunk-lm-head: chunks must be at least 1");
    return signalPassFailure();
  }
  if (chunks == 1)
    return;
  mostRows = 0;
  SmallVector<Operation *> losses;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    ProgramAttr program = getProgram(function);
    if (program && (program.getRole() == ProgramRole::Accumulate ||
                    program.getRole() == ProgramRole::Validate))
      for (Operation &op : function.getBody().front())
        if (isa<CrossEntropyOp, CrossEntropyGradOp>(op)) {
          losses.push_back(&op);
          mostRows = std::max(mostRows, program.getRows());
        }
  }
  for (Operation *loss : losses)
    if (failed(chunk(loss)))
      return signalPassFailure();
  remark::analysis(
      getOperation().getLoc(),
      remark::RemarkOpts::name("head-split").category("chunk-lm-head"))
      << remark::metric("heads", int64_t(losses.size()))
      << remark::metric("chunks", int64_t(chunks));
}

} // namespace
