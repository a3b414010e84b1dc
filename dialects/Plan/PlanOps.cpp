//===- PlanOps.cpp - What one plan op requires of itself
//--------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Shapes, dtypes and row counts. Checks that look at other ops through a
// symbol are in PlanSymbols.cpp.
//
//===----------------------------------------------------------------------===//
#include "dialects/Plan/PlanOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mlir::plan;

#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.cpp.inc"

namespace {

MemRefType typeOf(Value buffer) { return cast<MemRefType>(buffer.getType()); }

/// Checks that a named operand has a shape; -1 matches any size.
LogicalResult checkShape(Operation *op, StringRef what, Value buffer,
                         ArrayRef<int64_t> shape) {
  MemRefType type = typeOf(buffer);
  bool fits = type.getShape().size() == shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = shape[i] < 0 || shape[i] == type.getDimSize(i);
  if (fits)
    return success();
  InFlightDiagnostic error = op->emitOpError()
                             << what << " is " << shapeText(type)
                             << " but must have shape [";
  llvm::interleaveComma(shape, error, [&](int64_t size) {
    size < 0 ? error << '?' : error << size;
  });
  return error << ']';
}

LogicalResult checkElementType(Operation *op, StringRef what, Value buffer,
                               Type type) {
  if (typeOf(buffer).getElementType() == type)
    return success();
  return op->emitOpError() << what << " is " << shapeText(typeOf(buffer))
                           << " but must hold " << type;
}

/// An optional i32 slot with one element.
LogicalResult checkSlot(Operation *op, StringRef what, Value buffer) {
  if (!buffer)
    return success();
  if (failed(checkElementType(op, what, buffer,
                              IntegerType::get(op->getContext(), 32))))
    return failure();
  return checkShape(op, what, buffer, {1});
}

/// starts[batch]: the position of each sequence's first token.
LogicalResult checkStarts(Operation *op, Value starts, int64_t batch) {
  if (failed(checkElementType(op, "starts", starts,
                              IntegerType::get(op->getContext(), 32))))
    return failure();
  return checkShape(op, "starts", starts, {batch});
}

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

bool isFloat(Value buffer) {
  return isa<FloatType>(typeOf(buffer).getElementType());
}

} // namespace

//===----------------------------------------------------------------------===//
// Module level
//===----------------------------------------------------------------------===//

ArenaKind GlobalOp::getArenaKind() {
  switch (getKind()) {
  case GlobalKind::Parameter:
    return ArenaKind::Weights;
  case GlobalKind::Cache:
    return ArenaKind::Cache;
  case GlobalKind::State:
    return ArenaKind::State;
  }
  llvm_unreachable("unknown global kind");
}

LogicalResult GlobalOp::verify() {
  bool isParameter = getKind() == GlobalKind::Parameter;
  if (isParameter && (!getNames() || getNames()->empty()))
    return emitOpError("a parameter needs at least one checkpoint name");
  if (!isParameter && (getNames() || getTranspose()))
    return emitOpError("only parameters have checkpoint names or transpose");
  if (getTranspose() && getMemRefType().getRank() != 2)
    return emitOpError("transpose needs a matrix");
  if (getMemRefType().getNumElements() == 0)
    return emitOpError("has no elements");
  if (getOffset() && static_cast<int64_t>(*getOffset()) < 0)
    return emitOpError("offset must not be negative");
  return success();
}

LogicalResult ArenaOp::verify() {
  if (static_cast<int64_t>(getBytes()) < 0)
    return emitOpError("bytes must not be negative");
  if (!llvm::isPowerOf2_64(getAlignment()))
    return emitOpError("alignment must be a power of two");
  return success();
}

void ProgramOp::build(OpBuilder &builder, OperationState &state, Role role,
                      StringRef name, int64_t batch, int64_t tokens,
                      StringRef count) {
  Properties &properties = state.getOrAddProperties<Properties>();
  MLIRContext *context = builder.getContext();
  properties.role = RoleAttr::get(context, role);
  properties.sym_name = builder.getStringAttr(name);
  properties.batch = builder.getI64IntegerAttr(batch);
  properties.tokens = builder.getI64IntegerAttr(tokens);
  if (!count.empty())
    properties.count = FlatSymbolRefAttr::get(context, count);
  state.addRegion()->emplaceBlock();
}

LogicalResult ProgramOp::verify() {
  if (static_cast<int64_t>(getBatch()) < 1 ||
      static_cast<int64_t>(getTokens()) < 1)
    return emitOpError("batch and tokens must be positive");
  for (Operation &op : getBody().front())
    if (!isa<InstructionOpInterface, AllocOp, GlobalRefOp>(op))
      return op.emitOpError("is neither a buffer nor an instruction");
  return success();
}

int64_t AllocOp::getBytes() { return bytesOf(typeOf(getBuffer())); }

LogicalResult AllocOp::verify() {
  if (getBytes() == 0)
    return emitOpError("has no elements");
  bool planned = getOffset().has_value();
  if (planned != getFirst().has_value() || planned != getLast().has_value())
    return emitOpError("offset, first and last come together");
  if (!planned)
    return success();
  auto first = static_cast<int64_t>(*getFirst());
  auto last = static_cast<int64_t>(*getLast());
  if (static_cast<int64_t>(*getOffset()) < 0 || first < 0 || last < first)
    return emitOpError("needs 0 <= offset and 0 <= first <= last");
  return success();
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

bool LaunchOp::followsCount() { return getDynamicRows(); }

bool LaunchOp::isUpdate(unsigned i) {
  return getUpdates() && llvm::is_contained(*getUpdates(), int32_t(i));
}

void LaunchOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &operand : getInsMutable())
    effects.emplace_back(MemoryEffects::Read::get(), &operand);
  for (auto [i, operand] : llvm::enumerate(getOutsMutable())) {
    if (isUpdate(i))
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

LogicalResult LaunchOp::verify() {
  if (static_cast<int64_t>(getRows()) < 1)
    return emitOpError("rows must be positive");
  if (getOuts().empty())
    return emitOpError("writes nothing");
  for (int32_t i : getUpdates().value_or(ArrayRef<int32_t>()))
    if (i < 0 || static_cast<size_t>(i) >= getOuts().size())
      return emitOpError() << "updates names output " << i << " of "
                           << getOuts().size();
  if (!getGrid())
    return success();
  // The CUDA limits of gridDim.
  ArrayRef<int32_t> grid = *getGrid();
  if (grid.size() != 3 || llvm::any_of(grid, [](int32_t n) { return n < 1; }) ||
      grid[1] > 65535 || grid[2] > 65535)
    return emitOpError("grid must be three positive sizes, y and z at most "
                       "65535");
  return success();
}

bool MatmulOp::followsCount() { return getDynamicRows(); }

LogicalResult MatmulOp::verify() {
  if (failed(checkShape(*this, "a", getA(), {-1, -1})))
    return failure();
  int64_t m = typeOf(getA()).getDimSize(0), k = typeOf(getA()).getDimSize(1);
  if (failed(checkShape(*this, "weight", getWeight(), {-1, k})))
    return failure();
  int64_t n = typeOf(getWeight()).getDimSize(0);
  if (failed(checkShape(*this, "d", getD(), {m, n})) ||
      failed(checkElementType(*this, "weight", getWeight(),
                              typeOf(getA()).getElementType())))
    return failure();
  if (!isFloat(getA()) || !isFloat(getD()))
    return emitOpError("multiplies floats only");
  if (!getBias())
    return success();
  if (!isFloat(getBias()))
    return emitOpError("bias must hold floats");
  return checkShape(*this, "bias", getBias(), {n});
}

bool AttentionOp::followsCount() { return getDynamicRows(); }
int64_t AttentionOp::getHeadSize() { return headSizeOf(getQkv(), getHeads()); }

LogicalResult AttentionOp::verify() {
  if (!getKCache() != !getVCache() || !getKCache() != !getStarts())
    return emitOpError("k_cache, v_cache and starts come together");
  if (getSlot() && !getKCache())
    return emitOpError("slot needs caches");
  if (failed(checkHeads(*this, getQkv(), getKCache(), getVCache(), getBatch(),
                        getTokens(), getHeads())) ||
      failed(checkSlot(*this, "slot", getSlot())))
    return failure();
  if (getStarts() && failed(checkStarts(*this, getStarts(), getBatch())))
    return failure();
  int64_t width = typeOf(getQkv()).getDimSize(1) / 3;
  if (failed(checkShape(*this, "out", getOut(),
                        {typeOf(getQkv()).getDimSize(0), width})))
    return failure();
  return checkElementType(*this, "out", getOut(),
                          typeOf(getQkv()).getElementType());
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

bool SampleOp::followsCount() { return false; }

LogicalResult SampleOp::verify() {
  Builder builder(getContext());
  Type i32 = builder.getI32Type();
  if (failed(checkShape(*this, "logits", getLogits(), {-1, -1})) ||
      failed(checkElementType(*this, "logits", getLogits(),
                              builder.getF32Type())) ||
      failed(checkShape(*this, "sampling", getSampling(), {-1, 8})) ||
      failed(checkElementType(*this, "sampling", getSampling(), i32)))
    return failure();
  int64_t batch = typeOf(getLogits()).getDimSize(0);
  int64_t padded = typeOf(getLogits()).getDimSize(1);
  int64_t slots = typeOf(getSampling()).getDimSize(0);
  if (slots < batch)
    return emitOpError() << "sampling has " << slots
                         << " slots, fewer than the batch of " << batch;
  auto vocab = static_cast<int64_t>(getVocab());
  if (vocab < 1 || vocab > padded)
    return emitOpError() << "vocab " << vocab << " is outside 1.." << padded;
  if (static_cast<int64_t>(getPositionsLimit()) < 1)
    return emitOpError("limit must be positive");
  for (auto [what, slot] : {std::pair("tokens", getTokens()),
                            std::pair("positions", getPositions())}) {
    if (failed(checkShape(*this, what, slot, {-1})) ||
        failed(checkElementType(*this, what, slot, i32)))
      return failure();
    if (typeOf(slot).getDimSize(0) < batch)
      return emitOpError() << what << " has " << typeOf(slot).getDimSize(0)
                           << " slots, fewer than the batch of " << batch;
  }
  if (failed(checkStarts(*this, getStarts(), batch)) ||
      failed(checkSlot(*this, "count", getCount())))
    return failure();
  return checkSlot(*this, "slot", getSlot());
}

bool CopyOp::followsCount() { return false; }

LogicalResult CopyOp::verify() {
  MemRefType src = typeOf(getSrc()), dst = typeOf(getDst());
  if (src.getElementType() == dst.getElementType() &&
      src.getNumElements() == dst.getNumElements())
    return success();
  return emitOpError() << "copies " << shapeText(src) << " into "
                       << shapeText(dst);
}

bool FillOp::followsCount() { return false; }
bool LoadWeightOp::followsCount() { return false; }

LogicalResult LoadWeightOp::verify() {
  MemRefType dst = typeOf(getDst());
  auto rows = static_cast<int64_t>(getRows());
  auto cols = static_cast<int64_t>(getCols());
  if (getNames().empty())
    return emitOpError("needs at least one checkpoint name");
  if (!isFloat(getDst()))
    return emitOpError("dst must hold floats");
  bool isVector = cols == 0;
  if (rows < 1 || cols < 0 || dst.getRank() != (isVector ? 1 : 2) ||
      (isVector && getTranspose()))
    return emitOpError() << "a checkpoint tensor [" << rows << ", " << cols
                         << "] does not fit " << shapeText(dst);
  int64_t dstRows = getTranspose() ? cols : rows;
  int64_t dstCols = getTranspose() ? rows : cols;
  if (dstRows > dst.getDimSize(0) || (!isVector && dstCols > dst.getDimSize(1)))
    return emitOpError() << "a checkpoint tensor [" << rows << ", " << cols
                         << "] does not fit " << shapeText(dst);
  return success();
}
