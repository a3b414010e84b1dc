// Precision classes and costs of the gpt2 ops.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/GPT2Ops.h"

using namespace mlir;
using namespace mlir::gpt2;

static int64_t elements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

static int64_t elementBytes(Value value) {
  return getElementTypeOrSelf(value).getIntOrFloatBitWidth() / 8;
}

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

PrecisionClass EmbedOp::getPrecisionClass() { return PrecisionClass::Deny; }
PrecisionClass LayerNormOp::getPrecisionClass() { return PrecisionClass::Deny; }
PrecisionClass CrossEntropyOp::getPrecisionClass() {
  return PrecisionClass::Deny;
}
PrecisionClass SampleOp::getPrecisionClass() { return PrecisionClass::Deny; }
PrecisionClass LinearOp::getPrecisionClass() { return PrecisionClass::Allow; }
PrecisionClass AttentionOp::getPrecisionClass() {
  return PrecisionClass::Allow;
}
PrecisionClass CacheAppendOp::getPrecisionClass() {
  return PrecisionClass::Allow;
}
PrecisionClass ActivationOp::getPrecisionClass() {
  return PrecisionClass::Infer;
}
PrecisionClass AddOp::getPrecisionClass() { return PrecisionClass::Infer; }
PrecisionClass SelectRowOp::getPrecisionClass() {
  return PrecisionClass::Infer;
}

bool EmbedOp::isStorageOperand(unsigned operand) { return operand != 0; }
bool LayerNormOp::isStorageOperand(unsigned operand) { return operand != 0; }
bool LinearOp::isStorageOperand(unsigned operand) { return operand != 0; }
bool CrossEntropyOp::isStorageOperand(unsigned) { return true; }
bool AttentionOp::isStorageOperand(unsigned operand) { return operand != 0; }
bool CacheAppendOp::isStorageOperand(unsigned operand) { return operand != 0; }

bool LayerNormOp::isF32Result(unsigned result) { return result != 0; }
bool AttentionOp::isF32Result(unsigned result) { return result != 0; }
bool LinearOp::isF32Result(unsigned) { return getF32Result(); }

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t EmbedOp::getFlops() { return elements(getResult()); }

// The gathered rows only, not the tables.
int64_t EmbedOp::getBytesRead() {
  return elements(getTokens()) * elementBytes(getTokens()) +
         elements(getResult()) *
             (elementBytes(getWte()) + elementBytes(getWpe()));
}

// Two reductions of 1 and 3 operations an element, then 4 for the result.
int64_t LayerNormOp::getFlops() { return 8 * elements(getX()); }

// Transcendental functions count as ten operations.
int64_t ActivationOp::getFlops() { return 10 * elements(getX()); }

int64_t AddOp::getFlops() { return elements(getResult()); }
int64_t CastOp::getFlops() { return 0; }
int64_t SelectRowOp::getFlops() { return 0; }

int64_t SelectRowOp::getBytesRead() {
  return sumBytes(getResult().getType()) + sumBytes(getCount().getType());
}

// Maximum, difference, exponential (ten) and two sums.
int64_t CrossEntropyOp::getFlops() { return 14 * elements(getLogits()); }

int64_t LinearOp::getFlops() {
  return 2 * elements(getX()) * getWeight().getType().getDimSize(0);
}

int64_t CacheAppendOp::getFlops() { return 0; }

// K and V thirds of qkv, and the numbers that say where they go.
int64_t CacheAppendOp::getBytesRead() {
  return sumBytes(getQkv().getType()) / 3 * 2 + sumBytes(getStarts().getType());
}

int64_t CacheAppendOp::getBytesWritten() {
  return sumBytes(getQkv().getType()) / 3 * 2;
}

// Two products of every query with every key that it may see: the whole cache,
// or half of its own sequence.
int64_t AttentionOp::getFlops() {
  int64_t keys =
      getK() ? getK().getType().getDimSize(2) : (getTokens() + 1) / 2;
  return 4 * elements(getResult()) * keys;
}

// Temperature, exponential and sum over the logits.
int64_t SampleOp::getFlops() { return 12 * elements(getLogits()); }

int64_t SampleOp::getBytesWritten() {
  return 2 * sumBytes(getStarts().getType());
}

int64_t FusedOp::getFlops() {
  int64_t flops = 0;
  for (auto op : getBody().getOps<CostOpInterface>())
    flops += op.getFlops();
  return flops;
}
