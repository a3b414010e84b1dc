//===- ValidateAttention.cpp - Operands of attention ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Plan/OperandCheck.h"

using namespace gpt2rt;
using namespace gpt2rt::detail;

namespace {

/// What attention, its gradient and cache_append share. Caches are [slots,
/// heads, positions, head_size].
template <typename Op>
Status checkQkv(const OperandCheck &operands, const Op &op) {
  uint64_t width = uint64_t(op.heads()) * op.head_size();
  if (op.heads() == 0 || op.head_size() == 0 || op.batch() == 0 ||
      op.tokens() == 0)
    return dataLoss(operands.where.text(), " has batch ", op.batch(),
                    ", tokens ", op.tokens(), ", heads ", op.heads(),
                    " and head_size ", op.head_size(), ", but none may be 0");
  if (width > maxRows / 3)
    return operands.where.bad("heads", op.heads(), "with head_size ",
                              op.head_size(), " a row of qkv would have ",
                              "more than ", maxRows, " columns");
  GPT2_RETURN_IF_ERROR(operands.isFloat("qkv", op.qkv()));
  GPT2_RETURN_IF_ERROR(
      operands.columns("3 * heads * head_size", 3 * width, op.qkv()));
  return operands.rows("batch * tokens", uint64_t(op.batch()) * op.tokens(),
                       op.qkv());
}

template <typename Op>
Status checkCaches(const OperandCheck &operands, const Op &op) {
  for (auto [field, cache] : {std::pair("k_cache", int64_t(op.k_cache())),
                              {"v_cache", int64_t(op.v_cache())}}) {
    GPT2_RETURN_IF_ERROR(operands.isFloat(field, cache));
    std::span<const uint64_t> shape = operands.shapeOf(cache);
    if (shape.size() != 4 || shape[0] < op.batch() || shape[1] != op.heads() ||
        shape[2] < op.tokens() || shape[3] != op.head_size())
      return operands.where.bad(
          field, operands.describe(cache), "its shape is ", shape,
          ", not [slots >= ", op.batch(), ", ", op.heads(),
          ", positions >= ", op.tokens(), ", ", op.head_size(), "]");
  }
  std::span<const uint64_t> k = operands.shapeOf(op.k_cache());
  std::span<const uint64_t> v = operands.shapeOf(op.v_cache());
  if (!std::equal(k.begin(), k.end(), v.begin(), v.end()))
    return operands.where.bad("v_cache", operands.describe(op.v_cache()),
                              "its shape is ", v, " and k_cache has ", k);
  GPT2_RETURN_IF_ERROR(operands.integers("starts", op.starts(), op.batch()));
  return op.slot() < 0 ? Status::okStatus()
                       : operands.integers("slot", op.slot(), 1);
}

/// The scale and dropout of attention and of its gradient.
template <typename Op>
Status checkScores(const OperandCheck &operands, const Op &op) {
  const Where &where = operands.where;
  if (!(op.scale() > 0) || op.scale() > 1e30f)
    return where.bad("scale", op.scale(), "it must be a positive number");
  if (!(op.dropout() >= 0) || op.dropout() >= 1)
    return where.bad("dropout", op.dropout(), "it must be in [0, 1)");
  if ((op.dropout() > 0) != (op.rng() >= 0))
    return where.bad("rng", op.rng(), "dropout is ", op.dropout(),
                     ": dropout needs rng, and rng needs dropout");
  return op.rng() < 0 ? Status::okStatus()
                      : operands.integers("rng", op.rng(), 4);
}

/// `field` is [rows, heads * head_size].
template <typename Op>
Status checkHeadRows(const OperandCheck &operands, const char *field,
                     uint32_t buffer, const Op &op) {
  GPT2_RETURN_IF_ERROR(operands.isFloat(field, buffer));
  GPT2_RETURN_IF_ERROR(operands.columns(
      "heads * head_size", uint64_t(op.heads()) * op.head_size(), buffer));
  return operands.rows("batch * tokens", uint64_t(op.batch()) * op.tokens(),
                       buffer);
}

template <typename Op>
Status checkLse(const OperandCheck &operands, uint32_t lse, const Op &op) {
  if (operands.type(lse) != fb::DType::F32)
    return operands.where.bad("lse", operands.describe(lse),
                              "its type is not F32");
  GPT2_RETURN_IF_ERROR(operands.columns("heads", op.heads(), lse));
  return operands.rows("batch * tokens", uint64_t(op.batch()) * op.tokens(),
                       lse);
}

} // namespace

Status detail::checkAttention(const OperandCheck &operands,
                              const fb::Attention &op) {
  GPT2_RETURN_IF_ERROR(checkQkv(operands, op));
  GPT2_RETURN_IF_ERROR(checkHeadRows(operands, "out", op.out(), op));
  GPT2_RETURN_IF_ERROR(checkScores(operands, op));
  bool cached = op.k_cache() >= 0;
  if (cached != (op.v_cache() >= 0) || cached != (op.starts() >= 0) ||
      (!cached && op.slot() >= 0))
    return operands.where.bad(
        "k_cache", op.k_cache(), "v_cache is ", op.v_cache(), ", starts is ",
        op.starts(), " and slot is ", op.slot(),
        ": k_cache, v_cache and starts come together, slot only with them");
  if (cached && (op.lse() >= 0 || op.rng() >= 0))
    return operands.where.bad("k_cache", op.k_cache(), "lse is ", op.lse(),
                              " and rng is ", op.rng(),
                              ": attention to a cache is not trained");
  if (op.lse() >= 0)
    GPT2_RETURN_IF_ERROR(checkLse(operands, op.lse(), op));
  return cached ? checkCaches(operands, op) : Status::okStatus();
}

Status detail::checkAttention(const OperandCheck &operands,
                              const fb::AttentionGrad &op) {
  GPT2_RETURN_IF_ERROR(checkQkv(operands, op));
  GPT2_RETURN_IF_ERROR(checkHeadRows(operands, "out", op.out(), op));
  GPT2_RETURN_IF_ERROR(checkHeadRows(operands, "dout", op.dout(), op));
  GPT2_RETURN_IF_ERROR(checkScores(operands, op));
  GPT2_RETURN_IF_ERROR(checkLse(operands, op.lse(), op));
  for (auto [field, buffer] :
       {std::pair("out", op.out()), {"dout", op.dout()}, {"dqkv", op.dqkv()}})
    if (operands.type(buffer) != operands.type(op.qkv()))
      return operands.where.bad(field, operands.describe(buffer),
                                "its type is not that of ",
                                operands.describe(op.qkv()));
  GPT2_RETURN_IF_ERROR(
      operands.columns("3 * heads * head_size",
                       3 * uint64_t(op.heads()) * op.head_size(), op.dqkv()));
  return operands.rows("batch * tokens", uint64_t(op.batch()) * op.tokens(),
                       op.dqkv());
}

Status detail::checkAttention(const OperandCheck &operands,
                              const fb::CacheAppend &op) {
  GPT2_RETURN_IF_ERROR(checkQkv(operands, op));
  GPT2_RETURN_IF_ERROR(checkCaches(operands, op));
  return op.count() < 0 ? Status::okStatus()
                        : operands.integers("count", op.count(), 1);
}
