// Verifiers of the gpt2 ops: every shape and type relation between operands,
// attributes and results.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/GPT2Verify.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::gpt2;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

LogicalResult GlobalOp::verify() {
  ArrayRef<int64_t> shape = getTensorType().getShape();
  if (getKind() != GlobalKind::Parameter) {
    if (getNames() || getSource() || getTranspose())
      return emitOpError("only a parameter comes from a checkpoint: remove "
                         "names, source and transpose");
    if (getKind() == GlobalKind::Cache && shape.size() != 4)
      return emitOpError("a cache must be [slots, heads, positions, size]");
    return success();
  }
  if (!isa<FloatType>(getTensorType().getElementType()))
    return emitOpError("a parameter must have a float type");
  if (!getNames() || getNames()->empty())
    return emitOpError("a parameter needs at least one checkpoint name");
  if (shape.size() != 1 && shape.size() != 2)
    return emitOpError("a parameter must have rank 1 or 2, not ")
           << shape.size();
  if (getTranspose() && shape.size() != 2)
    return emitOpError("only a matrix can be transposed");
  SmallVector<int64_t> source = getSourceShape();
  if (source.size() != shape.size())
    return emitOpError("source must have rank ") << shape.size();
  if (getTranspose())
    std::reverse(source.begin(), source.end());
  for (auto [have, want] : llvm::zip_equal(source, shape))
    if (have <= 0 || have > want)
      return emitOpError("source dimension ")
             << have << " does not fit into " << want;
  return success();
}

/// Checks that `type` is the global's type or a prefix of its rows.
static LogicalResult verifyAccess(Operation *op, FlatSymbolRefAttr name,
                                  RankedTensorType type,
                                  SymbolTableCollection &symbols) {
  auto global = symbols.lookupNearestSymbolFrom<GlobalOp>(op, name);
  if (!global)
    return op->emitOpError("'") << name.getValue() << "' is not a gpt2.global";
  RankedTensorType whole = global.getTensorType();
  bool prefix = type.getElementType() == whole.getElementType() &&
                type.getRank() == whole.getRank() &&
                type.getDimSize(0) <= whole.getDimSize(0) &&
                type.getShape().drop_front() == whole.getShape().drop_front();
  if (!prefix)
    return op->emitOpError() << type << " is not a prefix of '"
                             << name.getValue() << "' of type " << whole;
  return success();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyAccess(*this, getGlobalAttr(), getResult().getType(), symbols);
}

LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto global =
      symbols.lookupNearestSymbolFrom<GlobalOp>(*this, getGlobalAttr());
  auto program = getProgram((*this)->getParentOp());
  bool updates = program && program.getRole() == ProgramRole::Update;
  if (global && global.getKind() == GlobalKind::Parameter && !updates)
    return emitOpError("'") << getGlobal() << "' is a parameter, which only an "
                            << "update program may write";
  return verifyAccess(*this, getGlobalAttr(), getValue().getType(), symbols);
}

//===----------------------------------------------------------------------===//
// Row ops
//===----------------------------------------------------------------------===//

LogicalResult EmbedOp::verify() {
  int64_t rows = getTokens().getType().getDimSize(0), batch = getBatch();
  int64_t width = getWte().getType().getDimSize(1);
  if (failed(expectBatch(*this, rows, batch)))
    return failure();
  if (getStarts()) {
    if (failed(expectShape(*this, "starts", getStarts(), {batch})))
      return failure();
    if (batch != 1 && rows != batch)
      return emitOpError("starts needs one sequence or one token a sequence, "
                         "not ")
             << batch << " sequences of " << rows / batch << " tokens";
  }
  if (getWpe().getType().getDimSize(1) != width)
    return emitOpError("wte and wpe must have equal widths, not ")
           << width << " and " << getWpe().getType().getDimSize(1);
  return expectShape(*this, "result", getResult(), {rows, width});
}

LogicalResult LayerNormOp::verify() {
  int64_t rows = getX().getType().getDimSize(0);
  int64_t width = getX().getType().getDimSize(1);
  if (!getEpsilon().isFiniteNonZero() || getEpsilon().isNegative())
    return emitOpError("epsilon must be positive and finite");
  if (failed(expectShape(*this, "gamma", getGamma(), {width})) ||
      failed(expectShape(*this, "beta", getBeta(), {width})) ||
      failed(expectShape(*this, "y", getY(), {rows, width})) ||
      failed(expectShape(*this, "mean", getMean(), {rows, 1})))
    return failure();
  return expectShape(*this, "rstd", getRstd(), {rows, 1});
}

LogicalResult CastOp::verify() {
  return expectShape(*this, "result", getResult(), getX().getType().getShape());
}

LogicalResult SelectRowOp::verify() {
  if (getElementTypeOrSelf(getX()) != getElementTypeOrSelf(getResult()))
    return emitOpError("x and result must have equal element types");
  return expectShape(*this, "result", getResult(),
                     {1, getX().getType().getDimSize(1)});
}

LogicalResult CrossEntropyOp::verify() {
  ArrayRef<int64_t> shape = getLogits().getType().getShape();
  if (static_cast<int64_t>(getVocab()) > shape[1])
    return emitOpError("vocab ")
           << getVocab() << " exceeds the " << shape[1] << " columns of logits";
  if (failed(verifyTargets(*this, getTargets(), shape[0], getFirst())))
    return failure();
  return expectShape(*this, "losses", getLosses(), {shape[0]});
}

//===----------------------------------------------------------------------===//
// Matrix products, attention, sampling
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::verify() {
  int64_t rows = getX().getType().getDimSize(0);
  int64_t depth = getX().getType().getDimSize(1);
  int64_t width = getWeight().getType().getDimSize(0);
  if (getElementTypeOrSelf(getX()) != getElementTypeOrSelf(getWeight()))
    return emitOpError("x and weight must have equal element types, not ")
           << getElementTypeOrSelf(getX()) << " and "
           << getElementTypeOrSelf(getWeight());
  if (getF32Result() && !getElementTypeOrSelf(getResult()).isF32())
    return emitOpError("f32_result needs a result of type f32");
  if (failed(expectShape(*this, "weight", getWeight(), {width, depth})))
    return failure();
  if (getBias() && failed(expectShape(*this, "bias", getBias(), {width})))
    return failure();
  return expectShape(*this, "result", getResult(), {rows, width});
}

/// Checks what cache_append and attention share: caches that hold the heads of
/// qkv, and the cache rows that the batch needs.
static LogicalResult verifyCaches(Operation *op, Value qkv, Value k, Value v,
                                  Value starts, Value slot, int64_t batch) {
  ArrayRef<int64_t> shape = tensorOf(k).getShape();
  int64_t width = tensorOf(qkv).getDimSize(1);
  if (k.getType() != v.getType())
    return op->emitOpError("k and v caches must have equal types");
  if (getElementTypeOrSelf(k) != getElementTypeOrSelf(qkv))
    return op->emitOpError("caches and qkv must have equal element types");
  if (3 * shape[1] * shape[3] != width)
    return op->emitOpError() << shape[1] << " heads of size " << shape[3]
                             << " do not make qkv rows of " << width;
  if (slot && batch != 1)
    return op->emitOpError("slot needs batch 1, not ") << batch;
  if (batch > shape[0])
    return op->emitOpError() << "batch " << batch << " exceeds the " << shape[0]
                             << " slots of the cache";
  return expectShape(op, "starts", starts, {batch});
}

LogicalResult CacheAppendOp::verify() {
  int64_t batch = getBatch();
  if (failed(expectBatch(*this, getQkv().getType().getDimSize(0), batch)))
    return failure();
  if (getCount() && batch != 1)
    return emitOpError("count needs batch 1, not ") << batch;
  return verifyCaches(*this, getQkv(), getK(), getV(), getStarts(), getSlot(),
                      batch);
}

LogicalResult AttentionOp::verify() {
  ArrayRef<int64_t> shape = getQkv().getType().getShape();
  int64_t batch = getBatch(), heads = getHeads();
  if (failed(verifyHeads(*this, getQkv(), getResult(), batch, heads)) ||
      failed(verifyAttentionDropout(*this, getRng(), getDropout(),
                                    getDropoutId().has_value())))
    return failure();
  if (!getScale().isFinite())
    return emitOpError("scale must be finite");
  if (getLse() &&
      failed(expectShape(*this, "lse", getLse(), {shape[0], heads})))
    return failure();
  if (getK() && (getLse() || getRng()))
    return emitOpError("lse and rng need attention without caches");
  if (!getK() != !getV() || !getK() != !getStarts())
    return emitOpError("k, v and starts come together");
  if (!getK())
    return getSlot() ? emitOpError("slot needs caches") : success();
  if (getK().getType().getDimSize(1) != heads)
    return emitOpError("the cache has ")
           << getK().getType().getDimSize(1) << " heads, not " << heads;
  return verifyCaches(*this, getQkv(), getK(), getV(), getStarts(), getSlot(),
                      batch);
}

LogicalResult SampleOp::verify() {
  ArrayRef<int64_t> shape = getLogits().getType().getShape();
  int64_t batch = shape[0], slots = getTokens().getType().getDimSize(0);
  if (static_cast<int64_t>(getVocab()) > shape[1])
    return emitOpError("vocab ")
           << getVocab() << " exceeds the " << shape[1] << " columns of logits";
  if (getPositionsLimit() > std::numeric_limits<int32_t>::max())
    return emitOpError("positions_limit must fit 32 bits");
  if ((getSlot() || getCount()) && batch != 1)
    return emitOpError("slot and count need one row of logits, not ") << batch;
  if (batch > slots)
    return emitOpError() << batch << " rows of logits exceed the " << slots
                         << " slots";
  if (failed(expectShape(*this, "starts", getStarts(), {batch})) ||
      failed(expectShape(*this, "positions", getPositions(), {slots})))
    return failure();
  return expectShape(*this, "sampling", getSampling(), {slots, 8});
}

//===----------------------------------------------------------------------===//
// Fused regions
//===----------------------------------------------------------------------===//

/// Checks that each operand of `op` has one form for the whole region: rows of
/// a value made in the region cannot be read by other rows.
static LogicalResult verifyForms(Operation *op,
                                 DenseMap<Value, OperandForm> &forms) {
  for (OpOperand &use : op->getOpOperands()) {
    OperandForm form = getOperandForm(use);
    if (isColumnResult(use.get()))
      return op->emitOpError("operand ")
             << use.getOperandNumber()
             << " is a column result, which its own region cannot read";
    if (!isa<BlockArgument>(use.get()) && form != OperandForm::Row)
      return op->emitOpError("operand ")
             << use.getOperandNumber()
             << " needs all rows of a value that the region computes";
    auto [entry, added] = forms.try_emplace(use.get(), form);
    if (!added && entry->second != form)
      return op->emitOpError("operand ")
             << use.getOperandNumber()
             << " is used in two forms: pass the value twice";
  }
  return success();
}

/// Checks that the column results of a region have one number of row blocks.
static LogicalResult verifyRowBlocks(FusedOp fused) {
  int64_t blocks = getRowBlocks(fused);
  for (auto op : fused.getBody().getOps<DecomposeOpInterface>()) {
    int64_t own = getRowBlocks(op);
    if (own != 0 && own != blocks)
      return fused.emitOpError("holds column results of ")
             << blocks << " and of " << own << " row blocks";
  }
  return success();
}

static LogicalResult verifyMatvec(FusedOp fused) {
  auto linears = llvm::to_vector(fused.getBody().getOps<LinearOp>());
  if (linears.size() != 1)
    return fused.emitOpError("a matvec region holds one gpt2.linear, not ")
           << linears.size();
  LinearOp linear = linears.front();
  MatvecParts parts = splitMatvec(fused);
  for (Operation *op : parts.prologue)
    for (Operation *user : op->getUsers())
      if (user != linear && !llvm::is_contained(parts.prologue, user))
        return fused.emitOpError("a value of the prologue may lead to the "
                                 "linear's x only");
  if (getRowBlocks(fused) != 0)
    return fused.emitOpError("a matvec region has no column results");
  for (Operation *op : parts.epilogue)
    if (!cast<DecomposeOpInterface>(op).isElementwise())
      return fused.emitOpError("'")
             << op->getName() << "' in the epilogue is not elementwise";
  for (Operation &op : fused.getBody().front().without_terminator())
    for (OpOperand &use : op.getOpOperands())
      if (&op != linear && getOperandForm(use) != OperandForm::Row &&
          getOperandForm(use) != OperandForm::Column)
        return fused.emitOpError("'")
               << op.getName() << "' reads a table in a matvec region";
  return success();
}

LogicalResult FusedOp::verifyRegions() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("region arguments must have the types of the inputs");
  Operation *yield = block.getTerminator();
  if (yield->getOperandTypes() != getOutputs().getTypes())
    return emitOpError("yielded values must have the types of the results");
  if (getNumResults() == 0)
    return emitOpError("must have a result");
  for (Value value : yield->getOperands())
    if (isa<BlockArgument>(value))
      return emitOpError("must not yield an argument");
  bool matvec = getKind() == FusedKind::Matvec;
  DenseMap<Value, OperandForm> forms;
  for (Operation &op : block.without_terminator()) {
    if (!isa<DecomposeOpInterface>(op) && !(matvec && isa<LinearOp>(op)))
      return emitOpError("cannot hold '") << op.getName() << "'";
    if (getRowCount(&op) != getRowCount(*this))
      return emitOpError("holds '")
             << op.getName() << "' of " << getRowCount(&op) << " rows, not "
             << getRowCount(*this);
    if (failed(verifyForms(&op, forms)))
      return failure();
  }
  return matvec ? verifyMatvec(*this) : verifyRowBlocks(*this);
}
