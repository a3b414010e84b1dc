//===- PlanAttention.cpp - What attention requires of itself --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Plan/PlanVerify.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace mlir::plan;
using namespace mlir::plan::detail;

namespace {

/// qkv[batch * tokens, 3 * heads * head_size] and caches
/// [slots, heads, positions, head_size] of its dtype.
LogicalResult checkHeads(Operation *op, Value qkv, Value kCache, Value vCache,
                         int64_t batch, int64_t tokens, int64_t heads) {
  if (batch < 1 || tokens < 1 || heads < 1)
    return op->emitOpError("batch, tokens and heads must be positive");
  if (failed(checkShape(op, "qkv", qkv, {batch * tokens, -1})))
    return failure();
  int64_t width = typeOf(qkv).getDimSize(1);
  if (width % (3 * heads))
    return op->emitOpError()
           << "qkv has " << width << " columns, not a multiple of 3 * " << heads
           << " heads";
  if (!kCache)
    return success();
  int64_t headSize = width / (3 * heads);
  Type element = typeOf(qkv).getElementType();
  for (auto [what, cache] :
       {std::pair("k_cache", kCache), std::pair("v_cache", vCache)})
    if (failed(checkShape(op, what, cache, {-1, heads, -1, headSize})) ||
        failed(checkElementType(op, what, cache, element)))
      return failure();
  if (typeOf(kCache) != typeOf(vCache))
    return op->emitOpError("k_cache and v_cache differ in type");
  if (typeOf(kCache).getDimSize(0) < batch)
    return op->emitOpError() << "caches have " << typeOf(kCache).getDimSize(0)
                             << " rows, fewer than the batch of " << batch;
  return success();
}

int64_t headSizeOf(Value qkv, int64_t heads) {
  return typeOf(qkv).getDimSize(1) / (3 * heads);
}

/// [rows, heads * head_size] in qkv's type.
LogicalResult checkHeadRows(Operation *op, StringRef what, Value buffer,
                            Value qkv) {
  MemRefType type = typeOf(qkv);
  if (failed(checkShape(op, what, buffer,
                        {type.getDimSize(0), type.getDimSize(1) / 3})))
    return failure();
  return checkElementType(op, what, buffer, type.getElementType());
}

/// [rows, heads] in f32.
LogicalResult checkLse(Operation *op, Value lse, Value qkv, int64_t heads) {
  if (failed(checkShape(op, "lse", lse, {typeOf(qkv).getDimSize(0), heads})))
    return failure();
  return checkElementType(op, "lse", lse, Float32Type::get(op->getContext()));
}

LogicalResult checkDropout(Operation *op, Value rng,
                           std::optional<APFloat> dropout,
                           std::optional<uint32_t> id) {
  if (bool(rng) != dropout.has_value() || bool(rng) != id.has_value())
    return op->emitOpError("rng, dropout and id come together");
  if (!rng)
    return success();
  float probability = dropout->convertToFloat();
  if (!(probability > 0 && probability < 1))
    return op->emitOpError("dropout must lie between 0 and 1");
  if (failed(checkShape(op, "rng", rng, {4})))
    return failure();
  return checkElementType(op, "rng", rng,
                          IntegerType::get(op->getContext(), 32));
}

} // namespace

bool AttentionOp::followsCount() { return getDynamicRows(); }
int64_t AttentionOp::getHeadSize() { return headSizeOf(getQkv(), getHeads()); }

LogicalResult AttentionOp::verify() {
  if (!getKCache() != !getVCache() || !getKCache() != !getStarts())
    return emitOpError("k_cache, v_cache and starts come together");
  if (getSlot() && !getKCache())
    return emitOpError("slot needs caches");
  if (getKCache() && (getLse() || getRng()))
    return emitOpError("lse and rng are for attention without caches");
  if (failed(checkHeads(*this, getQkv(), getKCache(), getVCache(), getBatch(),
                        getTokens(), getHeads())) ||
      failed(checkSlot(*this, "slot", getSlot())))
    return failure();
  if (getStarts() && failed(checkStarts(*this, getStarts(), getBatch())))
    return failure();
  if (failed(checkHeadRows(*this, "out", getOut(), getQkv())) ||
      failed(checkDropout(*this, getRng(), getDropout(), getDropoutId())))
    return failure();
  return getLse() ? checkLse(*this, getLse(), getQkv(), getHeads()) : success();
}

bool AttentionGradOp::followsCount() { return false; }
int64_t AttentionGradOp::getHeadSize() {
  return headSizeOf(getQkv(), getHeads());
}

LogicalResult AttentionGradOp::verify() {
  if (failed(checkHeads(*this, getQkv(), Value(), Value(), getBatch(),
                        getTokens(), getHeads())) ||
      failed(checkHeadRows(*this, "out", getOut(), getQkv())) ||
      failed(checkHeadRows(*this, "dout", getDout(), getQkv())) ||
      failed(checkLse(*this, getLse(), getQkv(), getHeads())) ||
      failed(checkDropout(*this, getRng(), getDropout(), getDropoutId())))
    return failure();
  if (getDqkv().getType() == getQkv().getType())
    return success();
  return emitOpError() << "dqkv is " << shapeText(typeOf(getDqkv()))
                       << " but qkv is " << shapeText(typeOf(getQkv()));
}

bool CacheAppendOp::followsCount() { return bool(getCount()); }
int64_t CacheAppendOp::getHeadSize() {
  return headSizeOf(getQkv(), getHeads());
}

LogicalResult CacheAppendOp::verify() {
  if (failed(checkHeads(*this, getQkv(), getKCache(), getVCache(), getBatch(),
                        getTokens(), getHeads())) ||
      failed(checkStarts(*this, getStarts(), getBatch())) ||
      failed(checkSlot(*this, "count", getCount())))
    return failure();
  return checkSlot(*this, "slot", getSlot());
}
