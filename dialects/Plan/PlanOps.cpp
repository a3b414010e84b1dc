//===- PlanOps.cpp - What one plan op requires of itself
//--------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Shapes, dtypes and row counts. Checks that look at other ops through a
// symbol are in PlanSymbols.cpp.
//
//===----------------------------------------------------------------------===//
#include "dialects/Plan/PlanVerify.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mlir::plan;
using namespace mlir::plan::detail;

#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.cpp.inc"

MemRefType plan::detail::typeOf(Value buffer) {
  return cast<MemRefType>(buffer.getType());
}

LogicalResult plan::detail::checkShape(Operation *op, StringRef what,
                                       Value buffer, ArrayRef<int64_t> shape) {
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

LogicalResult plan::detail::checkElementType(Operation *op, StringRef what,
                                             Value buffer, Type type) {
  if (typeOf(buffer).getElementType() == type)
    return success();
  return op->emitOpError() << what << " is " << shapeText(typeOf(buffer))
                           << " but must hold " << type;
}

LogicalResult plan::detail::checkSlot(Operation *op, StringRef what,
                                      Value buffer) {
  if (!buffer)
    return success();
  if (failed(checkElementType(op, what, buffer,
                              IntegerType::get(op->getContext(), 32))))
    return failure();
  return checkShape(op, what, buffer, {1});
}

bool plan::detail::isFloat(Value buffer) {
  return isa<FloatType>(typeOf(buffer).getElementType());
}

LogicalResult plan::detail::checkStarts(Operation *op, Value starts,
                                        int64_t batch) {
  if (failed(checkElementType(op, "starts", starts,
                              IntegerType::get(op->getContext(), 32))))
    return failure();
  return checkShape(op, "starts", starts, {batch});
}

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
  case GlobalKind::Gradient:
    return ArenaKind::Gradients;
  case GlobalKind::Moment:
    return ArenaKind::Optimizer;
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

int64_t MatmulOp::getM() { return typeOf(getA()).getDimSize(getTransposeA()); }
int64_t MatmulOp::getK() { return typeOf(getA()).getDimSize(!getTransposeA()); }
int64_t MatmulOp::getN() {
  return typeOf(getWeight()).getDimSize(getWeightKn());
}

void MatmulOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  auto *read = MemoryEffects::Read::get();
  auto *write = MemoryEffects::Write::get();
  effects.emplace_back(read, &getAMutable());
  effects.emplace_back(read, &getWeightMutable());
  for (OpOperand &bias : getBiasMutable())
    effects.emplace_back(read, &bias);
  if (getAccumulate())
    effects.emplace_back(read, &getDMutable());
  effects.emplace_back(write, &getDMutable());
  for (OpOperand &workspace : getWorkspaceMutable())
    effects.emplace_back(write, &workspace);
}

LogicalResult MatmulOp::verify() {
  if (failed(checkShape(*this, "a", getA(), {-1, -1})))
    return failure();
  int64_t k = getK();
  SmallVector<int64_t> weight = {-1, k};
  if (getWeightKn())
    std::swap(weight[0], weight[1]);
  if (failed(checkShape(*this, "weight", getWeight(), weight)) ||
      failed(checkShape(*this, "d", getD(), {getM(), getN()})) ||
      failed(checkElementType(*this, "weight", getWeight(),
                              typeOf(getA()).getElementType())))
    return failure();
  if (!isFloat(getA()) || !isFloat(getD()))
    return emitOpError("multiplies floats only");
  if (getTransposeA() && getDynamicRows())
    return emitOpError("transpose_a has no rows that a count could end");
  if (getAccumulate() &&
      (getBias() || !typeOf(getD()).getElementType().isF32()))
    return emitOpError("accumulate needs an f32 d and no bias");
  if (!getBias())
    return success();
  if (!isFloat(getBias()))
    return emitOpError("bias must hold floats");
  return checkShape(*this, "bias", getBias(), {getN()});
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

bool EmbedGradOp::followsCount() { return false; }

int64_t EmbedGradOp::getTokensPerSequence() {
  return typeOf(getDx()).getDimSize(0) / static_cast<int64_t>(getBatch());
}

LogicalResult EmbedGradOp::verify() {
  Builder builder(getContext());
  if (failed(checkShape(*this, "dx", getDx(), {-1, -1})))
    return failure();
  int64_t rows = typeOf(getDx()).getDimSize(0);
  int64_t columns = typeOf(getDx()).getDimSize(1);
  auto batch = static_cast<int64_t>(getBatch());
  if (batch < 1 || rows % batch != 0)
    return emitOpError() << rows << " rows are not " << batch
                         << " sequences of the same length";
  for (auto [what, buffer] :
       {std::pair("dx", getDx()), std::pair("dwte", getDwte()),
        std::pair("dwpe", getDwpe())})
    if (failed(checkShape(*this, what, buffer, {-1, columns})) ||
        failed(checkElementType(*this, what, buffer, builder.getF32Type())))
      return failure();
  for (auto [what, buffer] :
       {std::pair("tokens", getTokens()), std::pair("order", getOrder())})
    if (failed(checkShape(*this, what, buffer, {rows})) ||
        failed(checkElementType(*this, what, buffer, builder.getI32Type())))
      return failure();
  if (typeOf(getDwpe()).getDimSize(0) < rows / batch)
    return emitOpError() << "dwpe has " << typeOf(getDwpe()).getDimSize(0)
                         << " rows, fewer than the " << rows / batch
                         << " tokens of a sequence";
  return success();
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
