// Checks that verifiers share, and the verifiers of the training ops.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/GPT2Verify.h"

using namespace mlir;
using namespace mlir::gpt2;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static int64_t rowsOf(Value value) { return tensorOf(value).getDimSize(0); }

static int64_t columnsOf(Value value) {
  return tensorOf(value).getRank() == 2 ? tensorOf(value).getDimSize(1) : 1;
}

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

LogicalResult gpt2::expectShape(Operation *op, StringRef name, Value value,
                                ArrayRef<int64_t> expected) {
  ArrayRef<int64_t> shape = tensorOf(value).getShape();
  if (shape == expected)
    return success();
  InFlightDiagnostic diag = op->emitOpError() << name << " must be ";
  llvm::interleave(expected, diag, "x");
  diag << ", not ";
  llvm::interleave(shape, diag, "x");
  return diag;
}

LogicalResult gpt2::expectBatch(Operation *op, int64_t rows, int64_t batch) {
  if (rows % batch == 0)
    return success();
  return op->emitOpError() << rows << " rows are not a multiple of batch "
                           << batch;
}

LogicalResult gpt2::verifyHeads(Operation *op, Value qkv, Value result,
                                int64_t batch, int64_t heads) {
  ArrayRef<int64_t> shape = tensorOf(qkv).getShape();
  if (failed(expectBatch(op, shape[0], batch)))
    return failure();
  if (heads > shape[1] || shape[1] % (3 * heads) != 0)
    return op->emitOpError("qkv rows of ")
           << shape[1] << " do not split into 3 parts of " << heads << " heads";
  if (getElementTypeOrSelf(qkv) != getElementTypeOrSelf(result))
    return op->emitOpError("qkv and result must have equal element types");
  return expectShape(op, "result", result, {shape[0], shape[1] / 3});
}

LogicalResult gpt2::verifyProbability(Operation *op,
                                      const APFloat &probability) {
  if (probability.isFinite() && probability.convertToDouble() >= 0 &&
      probability.convertToDouble() < 1)
    return success();
  return op->emitOpError("the probability of dropping must be at least 0 and "
                         "less than 1");
}

LogicalResult gpt2::verifyAttentionDropout(Operation *op, Value rng,
                                           std::optional<APFloat> dropout,
                                           bool hasId) {
  if (dropout.has_value() != !!rng || hasId != !!rng)
    return op->emitOpError("rng, dropout and dropout_id come together");
  return dropout ? verifyProbability(op, *dropout) : success();
}

LogicalResult gpt2::verifyTargets(Operation *op, Value targets, int64_t rows,
                                  std::optional<int64_t> first) {
  if (!first)
    return expectShape(op, "targets", targets, {rows});
  if (*first >= 0 && *first <= rowsOf(targets) - rows)
    return success();
  return op->emitOpError() << rows << " rows from row " << *first
                           << " on exceed the " << rowsOf(targets)
                           << " targets";
}

/// Checks the column result of a matrix of `rows` rows and `columns` columns.
static LogicalResult verifyPartials(Operation *op, StringRef name,
                                    Value partials, int64_t rows,
                                    int64_t columns) {
  int64_t blocks = columnsOf(partials);
  if (blocks > rows)
    return op->emitOpError()
           << name << " has " << blocks << " row blocks, more than the " << rows
           << " rows";
  return expectShape(op, name, partials, {columns, blocks});
}

//===----------------------------------------------------------------------===//
// Forward and gradients
//===----------------------------------------------------------------------===//

LogicalResult DropoutKeysOp::verify() {
  if (getIds().empty() || getIds().size() != getNumResults())
    return emitOpError("needs one id a result, and a result, not ")
           << getIds().size() << " ids and " << getNumResults() << " results";
  return success();
}

LogicalResult DropoutOp::verify() {
  if (failed(expectBatch(*this, rowsOf(getX()), getBatch())))
    return failure();
  return verifyProbability(*this, getProbability());
}

LogicalResult SliceRowsOp::verify() {
  int64_t rows = rowsOf(getResult()), first = getFirst();
  if (getElementTypeOrSelf(getX()) != getElementTypeOrSelf(getResult()))
    return emitOpError("x and result must have equal element types");
  if (first > rowsOf(getX()) - rows)
    return emitOpError() << rows << " rows from row " << first
                         << " on exceed the " << rowsOf(getX()) << " of x";
  return expectShape(*this, "result", getResult(), {rows, columnsOf(getX())});
}

LogicalResult ConcatRowsOp::verify() {
  auto a = tensorOf(getA()), b = tensorOf(getB());
  if (a.getElementType() != b.getElementType() ||
      a.getElementType() != getElementTypeOrSelf(getResult()) ||
      a.getShape().drop_front() != b.getShape().drop_front())
    return emitOpError("a, b and result must differ in their rows alone");
  SmallVector<int64_t> shape(a.getShape());
  shape[0] += b.getDimSize(0);
  return expectShape(*this, "result", getResult(), shape);
}

LogicalResult NormalizeOp::verify() {
  int64_t rows = rowsOf(getX()), width = columnsOf(getX());
  if (failed(expectShape(*this, "gamma", getGamma(), {width})) ||
      failed(expectShape(*this, "beta", getBeta(), {width})) ||
      failed(expectShape(*this, "mean", getMean(), {rows, 1})) ||
      failed(expectShape(*this, "rstd", getRstd(), {rows, 1})))
    return failure();
  return expectShape(*this, "y", getY(), {rows, width});
}

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyHeads(*this, getQkv(), getOut(), getBatch(), getHeads())) ||
      failed(verifyAttentionDropout(*this, getRng(), getDropout(),
                                    getDropoutId().has_value())))
    return failure();
  if (!getScale().isFinite())
    return emitOpError("scale must be finite");
  return expectShape(*this, "lse", getLse(),
                     {rowsOf(getQkv()), static_cast<int64_t>(getHeads())});
}

LogicalResult LayerNormGradOp::verify() {
  int64_t rows = rowsOf(getX()), width = columnsOf(getX());
  if (failed(expectShape(*this, "dy", getDy(), {rows, width})) ||
      failed(expectShape(*this, "gamma", getGamma(), {width})) ||
      failed(expectShape(*this, "mean", getMean(), {rows, 1})) ||
      failed(expectShape(*this, "rstd", getRstd(), {rows, 1})) ||
      failed(expectShape(*this, "dx", getDx(), {rows, width})) ||
      failed(verifyPartials(*this, "dgamma", getDgamma(), rows, width)))
    return failure();
  return expectShape(*this, "dbeta", getDbeta(),
                     {width, columnsOf(getDgamma())});
}

/// Checks that the factors of a product have one type.
static LogicalResult expectSameElements(Operation *op, Value a, Value b) {
  if (getElementTypeOrSelf(a) == getElementTypeOrSelf(b))
    return success();
  return op->emitOpError("the factors must have equal element types, not ")
         << getElementTypeOrSelf(a) << " and " << getElementTypeOrSelf(b);
}

LogicalResult InputGradOp::verify() {
  int64_t width = columnsOf(getDy()), depth = columnsOf(getWeight());
  if (failed(expectSameElements(*this, getDy(), getWeight())) ||
      failed(expectShape(*this, "weight", getWeight(), {width, depth})))
    return failure();
  return expectShape(*this, "dx", getDx(), {rowsOf(getDy()), depth});
}

LogicalResult WeightGradOp::verify() {
  if (failed(expectSameElements(*this, getDy(), getX())) ||
      failed(expectShape(*this, "x", getX(),
                         {rowsOf(getDy()), columnsOf(getX())})))
    return failure();
  return expectShape(*this, "the result", getResult(),
                     {columnsOf(getDy()), columnsOf(getX())});
}

LogicalResult ColumnSumOp::verify() {
  return verifyPartials(*this, "partials", getPartials(), rowsOf(getX()),
                        columnsOf(getX()));
}

LogicalResult ColumnFinishOp::verify() {
  if (!getAcc())
    return success();
  return expectShape(*this, "acc", getAcc(), {rowsOf(getPartials())});
}

LogicalResult CrossEntropyGradOp::verify() {
  int64_t rows = rowsOf(getLogits()), columns = columnsOf(getLogits());
  if (static_cast<int64_t>(getVocab()) > columns)
    return emitOpError("vocab ")
           << getVocab() << " exceeds the " << columns << " columns of logits";
  if (failed(verifyTargets(*this, getTargets(), rows, getFirst())) ||
      failed(expectShape(*this, "losses", getLosses(), {rows})))
    return failure();
  return verifyPartials(*this, "total", getTotal(), rows, 1);
}

LogicalResult EmbedGradOp::verify() {
  int64_t rows = rowsOf(getDx()), width = columnsOf(getDx());
  int64_t batch = getBatch();
  if (failed(expectBatch(*this, rows, batch)) ||
      failed(expectShape(*this, "tokens", getTokens(), {rows})) ||
      failed(
          expectShape(*this, "dwte", getDwte(), {rowsOf(getDwte()), width})) ||
      failed(expectShape(*this, "dwpe", getDwpe(), {rowsOf(getDwpe()), width})))
    return failure();
  if (rows / batch > rowsOf(getDwpe()))
    return emitOpError() << "sequences of " << rows / batch
                         << " tokens exceed the " << rowsOf(getDwpe())
                         << " positions of dwpe";
  return success();
}

//===----------------------------------------------------------------------===//
// Update
//===----------------------------------------------------------------------===//

LogicalResult SquareSumOp::verify() {
  return verifyPartials(*this, "partials", getPartials(), rowsOf(getGradient()),
                        1);
}

LogicalResult AdamWOp::verify() {
  if (!getLow())
    return success();
  if (getElementTypeOrSelf(getLow()).isF32())
    return emitOpError("low must be f16 or bf16: p itself is f32");
  return expectShape(*this, "low", getLow(),
                     cast<RankedTensorType>(getP().getType()).getShape());
}
