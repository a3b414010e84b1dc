//===- ProgramLowering.cpp - One program, tensors to buffers
//----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/ProgramLowering.h"

#include "compiler/Transforms/OpCosts.h"
#include "dialects/GPT2/Decompose.h"
#include "dialects/Plan/PlanCost.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::gpt2c;

MemRefType mlir::gpt2c::bufferTypeOf(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return MemRefType::get(type.getShape(), type.getElementType());
}

static plan::Role roleOf(gpt2::ProgramRole role) {
  return *plan::symbolizeRole(gpt2::stringifyProgramRole(role));
}

/// The global that a buffer belongs to, empty for an alloc.
static StringRef globalOf(Value buffer) {
  auto ref = buffer.getDefiningOp<plan::GlobalRefOp>();
  return ref ? ref.getGlobal() : StringRef();
}

ProgramLowering::ProgramLowering(func::FuncOp function, KernelTable &kernels,
                                 int64_t matvecRows, bool recordCosts)
    : function(function), info(gpt2::getProgram(function)), kernels(kernels),
      matvecRows(matvecRows), recordCosts(recordCosts),
      builder(function.getContext()) {}

/// Moves the ends of sums over columns right behind what they finish: partials
/// that wait for the end of a program would all be live there.
static void hoistColumnFinishes(Block &block) {
  auto finishes = llvm::to_vector(block.getOps<gpt2::ColumnFinishOp>());
  for (gpt2::ColumnFinishOp finish : finishes) {
    Operation *last = nullptr;
    for (Value operand : finish->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && (!last || last->isBeforeInBlock(producer)))
        last = producer;
    if (last)
      finish->moveAfter(last);
  }
}

LogicalResult ProgramLowering::run() {
  hoistColumnFinishes(function.getBody().front());
  StringAttr name = function.getSymNameAttr();
  builder.setInsertionPoint(function);
  auto program = plan::ProgramOp::create(
      builder, function.getLoc(), roleOf(info.getRole()), name, info.getBatch(),
      info.getTokens(),
      info.getCount() ? info.getCount().getValue() : StringRef());
  builder.setInsertionPointToStart(&program.getBody().front());
  for (auto read : function.getBody().getOps<gpt2::ReadOp>())
    reads[read.getGlobal()].push_back(read);
  for (Operation &op : function.getBody().front().without_terminator()) {
    Operation *last = getLast();
    if (failed(lower(&op)))
      return failure();
    if (recordCosts)
      noteCost(&op, last);
  }
  function.erase();
  return success();
}

Operation *ProgramLowering::getLast() const {
  Block::iterator at = builder.getInsertionPoint();
  return at == builder.getInsertionBlock()->begin() ? nullptr : &*std::prev(at);
}

void ProgramLowering::noteCost(Operation *op, Operation *last) {
  Block &block = *builder.getInsertionBlock();
  auto begin = last ? std::next(last->getIterator()) : block.begin();
  auto isInstruction = [](Operation &each) {
    return isa<plan::InstructionOpInterface>(each);
  };
  auto first = std::find_if(begin, builder.getInsertionPoint(), isInstruction);
  if (first == builder.getInsertionPoint())
    return;
  OpClass opClass = OpClass::of(op);
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  auto cost = dyn_cast<gpt2::CostOpInterface>(op);
  int64_t bytes = cost ? cost.getBytesRead() + cost.getBytesWritten()
                       : 2 * gpt2::sumBytes(op->getOperandTypes());
  first->setAttr(
      plan::costAttrName,
      builder.getDictionaryAttr(
          {number("bytes", bytes), number("flops", cost ? cost.getFlops() : 0),
           builder.getNamedAttr("key", builder.getStringAttr(opClass.key)),
           number("rows", opClass.rows)}));
}

LogicalResult ProgramLowering::lower(Operation *op) {
  if (!isa<gpt2::WriteOp>(op) && op->use_empty())
    return success();
  if (gpt2::isRowKernel(op)) {
    lowerRowKernel(op);
    return success();
  }
  if (gpt2::isMatvecKernel(op) &&
      (isa<gpt2::FusedOp>(op) || gpt2::getRowCount(op) <= matvecRows)) {
    lowerMatvec(op);
    return success();
  }
  if (auto write = dyn_cast<gpt2::WriteOp>(op))
    return lowerWrite(write);
  bool isKnown = true;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](gpt2::ReadOp read) {
        buffers[read.getResult()] =
            globalRef(read.getLoc(), read.getGlobal(),
                      bufferTypeOf(read.getResult().getType()));
      })
      .Case([&](gpt2::LinearOp linear) { lowerLinear(linear); })
      .Case([&](gpt2::InputGradOp grad) { lowerInputGrad(grad); })
      .Case([&](gpt2::WeightGradOp grad) { lowerWeightGrad(grad); })
      .Case([&](gpt2::AttentionOp attention) { lowerAttention(attention); })
      .Case([&](gpt2::AttentionGradOp grad) { lowerAttentionGrad(grad); })
      .Case([&](gpt2::EmbedGradOp grad) { lowerEmbedGrad(grad); })
      .Case([&](gpt2::CacheAppendOp append) { lowerCacheAppend(append); })
      .Case([&](gpt2::SampleOp sample) { lowerSample(sample); })
      .Default([&](Operation *) { isKnown = false; });
  if (isKnown)
    return success();
  return op->emitOpError("has no lowering to the plan dialect");
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Ends a kernel's block with a yield of what it computes.
static void finishBlock(Location loc, const gpt2::RowBlock &block,
                        Region &region) {
  OpBuilder builder = OpBuilder::atBlockEnd(&region.front());
  plan::YieldOp::create(builder, loc, block.yields);
}

/// The inputs of a row kernel that one of its outputs may be written over: read
/// in that output's form, and in no other, by the whole kernel.
static SmallVector<Value> findUpdated(plan::KernelOp kernel,
                                      ArrayRef<Value> ins,
                                      RankedTensorType output) {
  SmallVector<Value> updated;
  if (!kernel.isRow() || !output.isDynamicDim(0))
    return updated;
  for (auto [value, type] : llvm::zip_equal(ins, kernel.getInputTypes()))
    if (type == output && llvm::count(ins, value) == 1)
      updated.push_back(value);
  return updated;
}

void ProgramLowering::launch(Operation *op, plan::KernelOp kernel,
                             ArrayRef<Value> ins, ArrayRef<OpResult> outputs,
                             int64_t rows) {
  SmallVector<Value> inBuffers =
      llvm::map_to_vector(ins, [&](Value value) { return bufferOf(value); });
  SmallVector<Value> outBuffers;
  for (auto [result, type] : llvm::zip_equal(outputs, kernel.getOutputTypes()))
    outBuffers.push_back(
        createDestination(result, findUpdated(kernel, ins, type)));
  auto launch = plan::LaunchOp::create(
      builder, op->getLoc(), kernel.getSymName(), rows, inBuffers, outBuffers,
      /*updates=*/DenseI32ArrayAttr(), /*scalars=*/DenseI32ArrayAttr(),
      /*grid=*/DenseI32ArrayAttr(), /*dynamic_rows=*/false,
      /*programmatic=*/false);
  launch.setDynamicRows(followsCount(rows));
  ++counts.launches;
}

void ProgramLowering::lowerRowKernel(Operation *op) {
  plan::KernelOp kernel = kernels.create(op->getLoc(), plan::KernelOp::rowKind,
                                         builder.getDictionaryAttr({}));
  OpBuilder kernelBuilder(builder.getContext());
  gpt2::RowBlock block =
      gpt2::outlineRowKernel(op, kernelBuilder, kernel.getBody());
  finishBlock(op->getLoc(), block, kernel.getBody());
  int64_t rows = gpt2::getRowCount(op);
  if (block.rowBlocks) {
    // Where a block of rows ends depends on their number.
    auto entry = [&](StringRef name, int64_t value) {
      return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
    };
    kernel.setConfigAttr(builder.getDictionaryAttr(
        {entry("row_blocks", block.rowBlocks), entry("rows", rows)}));
    rows = block.rowBlocks;
  }
  kernel = kernels.intern(kernel, kernelNameHint(op));
  launch(op, kernel, block.inputs, block.outputs, rows);
}

void ProgramLowering::lowerMatvec(Operation *op) {
  plan::KernelOp kernel = kernels.create(
      op->getLoc(), plan::KernelOp::matvecKind, builder.getDictionaryAttr({}));
  OpBuilder kernelBuilder(builder.getContext());
  gpt2::MatvecKernel parts = gpt2::outlineMatvecKernel(
      op, kernelBuilder, kernel.getBody(), kernel.getEpilogue());
  finishBlock(op->getLoc(), parts.prologue, kernel.getBody());
  finishBlock(op->getLoc(), parts.epilogue, kernel.getEpilogue());
  kernel.setConfigAttr(builder.getDictionaryAttr(
      builder.getNamedAttr("weight", TypeAttr::get(parts.weight.getType()))));
  kernel = kernels.intern(kernel, kernelNameHint(op));
  SmallVector<Value> ins = parts.prologue.inputs;
  ins.push_back(parts.weight);
  llvm::append_range(ins, parts.epilogue.inputs);
  launch(op, kernel, ins, parts.epilogue.outputs, gpt2::getRowCount(op));
}

//===----------------------------------------------------------------------===//
// Library calls and instructions
//===----------------------------------------------------------------------===//

void ProgramLowering::lowerLinear(gpt2::LinearOp op) {
  Value bias = bufferOf(op.getBias());
  Value out = createDestination(op->getResult(0));
  plan::MatmulOp::create(builder, op.getLoc(), bufferOf(op.getX()),
                         bufferOf(op.getWeight()), bias, out,
                         /*workspace=*/Value(), /*transpose_a=*/false,
                         /*weight_kn=*/false, /*accumulate=*/false,
                         followsCount(gpt2::getRowCount(op)));
}

void ProgramLowering::lowerInputGrad(gpt2::InputGradOp op) {
  Value out = createDestination(op->getResult(0));
  plan::MatmulOp::create(builder, op.getLoc(), bufferOf(op.getDy()),
                         bufferOf(op.getWeight()), /*bias=*/Value(), out,
                         /*workspace=*/Value(), /*transpose_a=*/false,
                         /*weight_kn=*/true, /*accumulate=*/false,
                         /*dynamic_rows=*/false);
}

void ProgramLowering::lowerWeightGrad(gpt2::WeightGradOp op) {
  MutableOperandRange acc = op.getAccMutable();
  Value sum = acc.empty() ? createDestination(op->getResult(0))
                          : takeOver(op->getResult(0), acc[0]);
  plan::MatmulOp::create(builder, op.getLoc(), bufferOf(op.getDy()),
                         bufferOf(op.getX()), /*bias=*/Value(), sum,
                         /*workspace=*/Value(), /*transpose_a=*/true,
                         /*weight_kn=*/true, /*accumulate=*/!acc.empty(),
                         /*dynamic_rows=*/false);
}

void ProgramLowering::lowerAttention(gpt2::AttentionOp op) {
  Value out = createDestination(op->getResult(0)), lse;
  // Even where nothing reads it: rematerialize's clone must run the same
  // kernel.
  if (op.getLse())
    lse = createDestination(op->getResult(1));
  plan::AttentionOp::create(
      builder, op.getLoc(), bufferOf(op.getQkv()), bufferOf(op.getK()),
      bufferOf(op.getV()), bufferOf(op.getStarts()), bufferOf(op.getSlot()),
      bufferOf(op.getRng()), out, lse, /*workspace=*/Value(), op.getBatch(),
      op.getTokens(), op.getHeads(), op.getScale(), op.getDropoutAttr(),
      op.getDropoutIdAttr(), followsCount(gpt2::getRowCount(op)));
}

void ProgramLowering::lowerAttentionGrad(gpt2::AttentionGradOp op) {
  Value dqkv = createDestination(op->getResult(0));
  plan::AttentionGradOp::create(
      builder, op.getLoc(), bufferOf(op.getQkv()), bufferOf(op.getOut()),
      bufferOf(op.getLse()), bufferOf(op.getDout()), bufferOf(op.getRng()),
      dqkv, /*workspace=*/Value(), op.getBatch(), op.getTokens(), op.getHeads(),
      op.getScale(), op.getDropoutAttr(), op.getDropoutIdAttr());
}

void ProgramLowering::lowerEmbedGrad(gpt2::EmbedGradOp op) {
  Value dwte = takeOver(op->getResult(0), op.getDwteMutable());
  Value dwpe = takeOver(op->getResult(1), op.getDwpeMutable());
  plan::EmbedGradOp::create(builder, op.getLoc(), bufferOf(op.getDx()),
                            bufferOf(op.getTokens()), bufferOf(op.getOrder()),
                            dwte, dwpe, op.getBatch());
}

void ProgramLowering::lowerCacheAppend(gpt2::CacheAppendOp op) {
  Value k = takeOver(op->getResult(0), op.getKMutable());
  Value v = takeOver(op->getResult(1), op.getVMutable());
  plan::CacheAppendOp::create(builder, op.getLoc(), bufferOf(op.getQkv()), k, v,
                              bufferOf(op.getStarts()), bufferOf(op.getCount()),
                              bufferOf(op.getSlot()), op.getBatch(),
                              op.getTokens(), op.getHeads());
}

void ProgramLowering::lowerSample(gpt2::SampleOp op) {
  Value tokens = takeOver(op->getResult(0), op.getTokensMutable());
  Value positions = takeOver(op->getResult(1), op.getPositionsMutable());
  plan::SampleOp::create(
      builder, op.getLoc(), bufferOf(op.getLogits()),
      bufferOf(op.getSampling()), bufferOf(op.getStarts()),
      bufferOf(op.getCount()), bufferOf(op.getSlot()), tokens, positions,
      /*workspace=*/Value(), op.getVocab(), op.getPositionsLimit());
}

LogicalResult ProgramLowering::lowerWrite(gpt2::WriteOp op) {
  Value value = bufferOf(op.getValue());
  Value global = globalRef(op.getLoc(), op.getGlobal(),
                           bufferTypeOf(op.getValue().getType()));
  if (value == global)
    return success();
  if (isReadFrom(op.getGlobal(), op))
    return op.emitOpError() << "comes before the last use of the old value of @"
                            << op.getGlobal();
  copy(op, value, global);
  return success();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Value ProgramLowering::alloc(Location loc, Type tensor) {
  return plan::AllocOp::create(builder, loc, bufferTypeOf(tensor),
                               plan::AllocKind::Activation, IntegerAttr(),
                               IntegerAttr(), IntegerAttr());
}

Value ProgramLowering::globalRef(Location loc, StringRef global,
                                 MemRefType type) {
  Value &ref = globalRefs[{global, type}];
  if (!ref)
    ref = plan::GlobalRefOp::create(builder, loc, type, global);
  return ref;
}

void ProgramLowering::copy(Operation *op, Value from, Value to) {
  plan::CopyOp::create(builder, op->getLoc(), from, to);
  ++counts.copies;
  auto opts = remark::RemarkOpts::name("BufferCopied")
                  .category("convert-gpt2-to-plan")
                  .function(function.getSymName());
  remark::missed(op->getLoc(), opts)
      << remark::add("'{0}' needs a copy of {1} bytes: the old value is used "
                     "or kept elsewhere",
                     op->getName().getStringRef(),
                     plan::bytesOf(cast<MemRefType>(from.getType())));
}

Value ProgramLowering::createDestination(OpResult result,
                                         ArrayRef<Value> updated) {
  Location loc = result.getLoc();
  Value &buffer = buffers[result];
  if (gpt2::WriteOp write = findDirectWrite(result, updated)) {
    buffer = globalRef(loc, write.getGlobal(), bufferTypeOf(result.getType()));
    ++counts.directWrites;
  } else {
    buffer = alloc(loc, result.getType());
  }
  return buffer;
}

/// Whether a value is written to the global, or what takes its place is.
static bool endsIn(StringRef global, Value value) {
  for (OpOperand &use : value.getUses()) {
    if (auto write = dyn_cast<gpt2::WriteOp>(use.getOwner()))
      if (write.getGlobal() == global)
        return true;
    auto op = dyn_cast<gpt2::PrecisionOpInterface>(use.getOwner());
    for (OpResult result : use.getOwner()->getResults())
      if (op &&
          op.getTypeSource(result.getResultNumber()) ==
              use.getOperandNumber() &&
          endsIn(global, result))
        return true;
  }
  return false;
}

Value ProgramLowering::takeOver(OpResult result, OpOperand &operand) {
  Operation *op = result.getOwner();
  Value old = bufferOf(operand.get());
  bool usedLater = llvm::any_of(operand.get().getUsers(), [&](Operation *user) {
    return op->isBeforeInBlock(user);
  });
  StringRef global = globalOf(old);
  if (!usedLater && (global.empty() || endsIn(global, result)))
    return buffers[result] = old;
  Value fresh = alloc(op->getLoc(), result.getType());
  copy(op, old, fresh);
  return buffers[result] = fresh;
}

gpt2::WriteOp ProgramLowering::findDirectWrite(OpResult result,
                                               ArrayRef<Value> updated) {
  for (Operation *user : result.getUsers())
    if (auto write = dyn_cast<gpt2::WriteOp>(user))
      if (!isReadFrom(write.getGlobal(), result.getOwner(), updated))
        return write;
  return {};
}

bool ProgramLowering::isReadFrom(StringRef global, Operation *from,
                                 ArrayRef<Value> updated) {
  for (gpt2::ReadOp read : reads.lookup(global)) {
    bool isUpdated = llvm::is_contained(updated, read.getResult());
    for (Operation *user : read.getResult().getUsers())
      if ((user == from && !isUpdated) || from->isBeforeInBlock(user))
        return true;
  }
  return false;
}

bool ProgramLowering::followsCount(int64_t rows) const {
  return info.getCount() && rows == info.getRows();
}
