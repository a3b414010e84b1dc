// Precision classes, costs and recomputation of the training ops.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/GPT2Ops.h"

using namespace mlir;
using namespace mlir::gpt2;

static int64_t elements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

// Integers only.
PrecisionClass DropoutKeysOp::getPrecisionClass() {
  return PrecisionClass::Infer;
}
PrecisionClass DropoutOp::getPrecisionClass() { return PrecisionClass::Infer; }
PrecisionClass SliceRowsOp::getPrecisionClass() {
  return PrecisionClass::Infer;
}
PrecisionClass ConcatRowsOp::getPrecisionClass() {
  return PrecisionClass::Infer;
}
PrecisionClass NormalizeOp::getPrecisionClass() { return PrecisionClass::Deny; }
PrecisionClass ActivationGradOp::getPrecisionClass() {
  return PrecisionClass::Infer;
}
PrecisionClass AttentionGradOp::getPrecisionClass() {
  return PrecisionClass::Allow;
}
PrecisionClass InputGradOp::getPrecisionClass() {
  return PrecisionClass::Allow;
}
PrecisionClass WeightGradOp::getPrecisionClass() {
  return PrecisionClass::Allow;
}
PrecisionClass LayerNormGradOp::getPrecisionClass() {
  return PrecisionClass::Deny;
}
PrecisionClass ColumnSumOp::getPrecisionClass() { return PrecisionClass::Deny; }
PrecisionClass ColumnFinishOp::getPrecisionClass() {
  return PrecisionClass::Deny;
}
PrecisionClass CrossEntropyGradOp::getPrecisionClass() {
  return PrecisionClass::Deny;
}
PrecisionClass EmbedGradOp::getPrecisionClass() { return PrecisionClass::Deny; }
PrecisionClass SquareSumOp::getPrecisionClass() { return PrecisionClass::Deny; }
PrecisionClass StepStateOp::getPrecisionClass() { return PrecisionClass::Deny; }
PrecisionClass AdamWOp::getPrecisionClass() { return PrecisionClass::Deny; }

bool NormalizeOp::isStorageOperand(unsigned operand) { return operand != 0; }
// The log-sum-exp.
bool AttentionGradOp::isStorageOperand(unsigned operand) {
  return operand == 2;
}
// dy, which need not be widened first, and the vectors.
bool LayerNormGradOp::isStorageOperand(unsigned operand) {
  return operand != 1;
}
bool InputGradOp::isStorageOperand(unsigned operand) { return operand == 1; }
bool WeightGradOp::isStorageOperand(unsigned operand) { return operand == 2; }
bool ColumnSumOp::isStorageOperand(unsigned) { return true; }
bool CrossEntropyGradOp::isStorageOperand(unsigned) { return true; }
bool EmbedGradOp::isStorageOperand(unsigned operand) { return operand != 0; }

std::optional<unsigned> WeightGradOp::getTypeSource(unsigned) {
  return getAcc() ? std::optional<unsigned>(2) : std::nullopt;
}
std::optional<unsigned> CrossEntropyGradOp::getTypeSource(unsigned result) {
  return result == 2 ? std::optional<unsigned>(0) : std::nullopt;
}
std::optional<unsigned> EmbedGradOp::getTypeSource(unsigned result) {
  return result + 3;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Transcendental functions count as ten operations, and so does a hash.
int64_t DropoutKeysOp::getFlops() { return 0; }
int64_t DropoutOp::getFlops() { return 11 * elements(getX()); }
int64_t SliceRowsOp::getFlops() { return 0; }
int64_t SliceRowsOp::getBytesRead() { return sumBytes(getResult().getType()); }
int64_t ConcatRowsOp::getFlops() { return 0; }
int64_t NormalizeOp::getFlops() { return 4 * elements(getX()); }
int64_t ActivationGradOp::getFlops() { return 20 * elements(getX()); }

// Five products of every query with the keys up to itself, where the forward op
// has two.
int64_t AttentionGradOp::getFlops() {
  return 10 * elements(getOut()) * ((getTokens() + 1) / 2);
}

// Normalize, two row sums, dx, and two column sums.
int64_t LayerNormGradOp::getFlops() { return 14 * elements(getX()); }

int64_t InputGradOp::getFlops() {
  return 2 * elements(getDy()) * getWeight().getType().getDimSize(1);
}

int64_t WeightGradOp::getFlops() {
  return 2 * elements(getX()) * getDy().getType().getDimSize(1);
}

int64_t ColumnSumOp::getFlops() { return elements(getX()); }
int64_t ColumnFinishOp::getFlops() { return elements(getPartials()); }

// The forward op's 14, and another exponential with its scaling.
int64_t CrossEntropyGradOp::getFlops() { return 28 * elements(getLogits()); }

int64_t EmbedGradOp::getFlops() { return 2 * elements(getDx()); }

// dx twice, and the rows of the tables that it adds to.
int64_t EmbedGradOp::getBytesRead() {
  return 4 * sumBytes(getDx().getType()) + 2 * sumBytes(getTokens().getType());
}

int64_t EmbedGradOp::getBytesWritten() {
  return 2 * sumBytes(getDx().getType());
}

int64_t SquareSumOp::getFlops() { return 3 * elements(getGradient()); }
int64_t StepStateOp::getFlops() { return 0; }
int64_t AdamWOp::getFlops() { return 20 * elements(getP()); }

//===----------------------------------------------------------------------===//
// Recomputation
//===----------------------------------------------------------------------===//

bool LayerNormOp::isRowStatistic(unsigned result) { return result != 0; }

Value LayerNormOp::recompute(OpBuilder &builder, unsigned, ValueRange operands,
                             ValueRange results) {
  return NormalizeOp::create(builder, getLoc(), getY().getType(), operands[0],
                             results[1], results[2], operands[1], operands[2]);
}

bool AttentionOp::isRowStatistic(unsigned result) { return result == 1; }
