//===- SelectCudaKernels.cpp - Templates, grids and workspaces
//--------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Argument orders and configs are those of
// compiler/Codegen/CUDA/Templates/TemplateGeometry.h.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/KernelGeometry.h"
#include "compiler/Conversion/KernelTable.h"
#include "compiler/Conversion/Passes.h"
#include "dialects/Plan/PlanCost.h"
#include "mlir/IR/Builders.h"

#include <algorithm>
#include <optional>

namespace mlir::gpt2c {
#define GEN_PASS_DEF_SELECTCUDAKERNELSPASS
#include "compiler/Conversion/Passes.h.inc"
} // namespace mlir::gpt2c

using namespace mlir;
using namespace mlir::gpt2c;

namespace {

// Zero when a plan is loaded, and left zero by every kernel: how many blocks
// of a row and head are done.
constexpr llvm::StringLiteral countersName = "counters";

MemRefType typeOf(Value buffer) { return cast<MemRefType>(buffer.getType()); }

Value createWorkspace(OpBuilder &builder, Location loc, int64_t bytes) {
  auto type = MemRefType::get({bytes}, builder.getI8Type());
  return plan::AllocOp::create(builder, loc, type, plan::AllocKind::Workspace,
                               IntegerAttr(), IntegerAttr(), IntegerAttr());
}

/// Buffers of a template's launch.
struct LaunchBuffers {
  SmallVector<Value> ins;
  SmallVector<Value> outs;
  SmallVector<int32_t> updates;
  SmallVector<int32_t> scalars;

  void addUpdate(Value buffer) {
    updates.push_back(outs.size());
    outs.push_back(buffer);
  }
  /// What attention with dropout reads beside its tensors.
  template <typename Op>
  void addDropout(Op op) {
    if (!op.getRng())
      return;
    ins.push_back(op.getRng());
    scalars.push_back(static_cast<int32_t>(*op.getDropoutId()));
  }
};

struct SelectCudaKernels
    : gpt2c::impl::SelectCudaKernelsPassBase<SelectCudaKernels> {
  using SelectCudaKernelsPassBase::SelectCudaKernelsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    kernels.emplace(module);
    geometries.clear();
    maxHeads = 1;
    module.walk([&](plan::AttentionOp op) {
      maxHeads = std::max<int64_t>(maxHeads, op.getHeads());
    });
    for (auto program : module.getOps<plan::ProgramOp>())
      if (failed(selectIn(program)))
        return signalPassFailure();
  }

private:
  LogicalResult selectIn(plan::ProgramOp program);
  template <typename Op>
  LogicalResult selectAll(plan::ProgramOp program) {
    for (Op op : llvm::to_vector(program.getBody().getOps<Op>()))
      if (failed(select(op)))
        return failure();
    return success();
  }
  LogicalResult select(plan::AttentionOp op);
  LogicalResult select(plan::AttentionGradOp op);
  LogicalResult select(plan::EmbedGradOp op);
  LogicalResult select(plan::CacheAppendOp op);
  LogicalResult select(plan::SampleOp op);
  LogicalResult setGrid(plan::LaunchOp op);
  LogicalResult selectDecode(plan::AttentionOp op);
  LogicalResult selectFlash(plan::AttentionOp op);
  LogicalResult selectFlashForward(plan::AttentionOp op);

  /// Launches a template before `op`. The workspace that the template asks for,
  /// and the counters if `counted`, become its last outputs.
  FailureOr<plan::LaunchOp> launch(Operation *op, StringRef kind,
                                   ArrayRef<NamedAttribute> config,
                                   int64_t rows, LaunchBuffers buffers,
                                   bool counted = false);
  /// Replaces `op` by a launch of a template.
  LogicalResult replace(Operation *op, StringRef kind,
                        ArrayRef<NamedAttribute> config, int64_t rows,
                        LaunchBuffers buffers, bool counted = false) {
    if (failed(launch(op, kind, config, rows, std::move(buffers), counted)))
      return failure();
    op->erase();
    return success();
  }
  Value counters(OpBuilder &builder, Location loc);

  NamedAttribute intEntry(StringRef name, int64_t value) {
    Builder builder(&getContext());
    return {name, builder.getI64IntegerAttr(value)};
  }
  SmallVector<NamedAttribute> headEntries(Value qkv, int64_t heads,
                                          int64_t headSize, int64_t positions) {
    return headEntries(typeOf(qkv).getElementType(), heads, headSize,
                       positions);
  }
  SmallVector<NamedAttribute> headEntries(Type dtype, int64_t heads,
                                          int64_t headSize, int64_t positions) {
    return {NamedAttribute("dtype", TypeAttr::get(dtype)),
            intEntry("heads", heads), intEntry("head_size", headSize),
            intEntry("positions", positions)};
  }

  /// The type that attention multiplies in: with precision tf32 less than what
  /// is stored.
  Type productType(Value qkv) {
    Type stored = typeOf(qkv).getElementType();
    auto precision =
        getOperation()->getAttrOfType<StringAttr>(plan::precisionAttrName);
    bool rounds = precision && precision.getValue() == "tf32";
    return rounds && stored.isF32() ? FloatTF32Type::get(&getContext())
                                    : stored;
  }

  /// The config of attention in training and of its gradient.
  template <typename Op>
  SmallVector<NamedAttribute> trainingEntries(Op op) {
    SmallVector<NamedAttribute> config =
        headEntries(productType(op.getQkv()), op.getHeads(), op.getHeadSize(),
                    /*positions=*/op.getTokens());
    double dropout = op.getDropout() ? op.getDropout()->convertToDouble() : 0.0;
    Builder builder(&getContext());
    config.emplace_back("scale", op.getScaleAttr());
    config.push_back(
        intEntry("dropout_threshold", static_cast<uint32_t>(dropout * 0x1p32)));
    config.emplace_back(
        "dropout_scale",
        builder.getF32FloatAttr(static_cast<float>(1.0 / (1.0 - dropout))));
    return config;
  }

  std::optional<KernelTable> kernels;
  DenseMap<std::pair<Attribute, int64_t>, KernelGeometry> geometries;
  int64_t maxHeads = 1;
};

LogicalResult SelectCudaKernels::selectIn(plan::ProgramOp program) {
  // Attention first: it takes over the append before it.
  if (failed(selectAll<plan::AttentionOp>(program)) ||
      failed(selectAll<plan::AttentionGradOp>(program)) ||
      failed(selectAll<plan::EmbedGradOp>(program)) ||
      failed(selectAll<plan::CacheAppendOp>(program)) ||
      failed(selectAll<plan::SampleOp>(program)))
    return failure();
  for (auto launch : program.getBody().getOps<plan::LaunchOp>())
    if (failed(setGrid(launch)))
      return failure();
  if (matmulWorkspace > 0)
    for (auto matmul : program.getBody().getOps<plan::MatmulOp>()) {
      OpBuilder builder(matmul);
      matmul.getWorkspaceMutable().assign(
          createWorkspace(builder, matmul.getLoc(), matmulWorkspace));
    }
  return success();
}

FailureOr<plan::LaunchOp>
SelectCudaKernels::launch(Operation *op, StringRef kind,
                          ArrayRef<NamedAttribute> config, int64_t rows,
                          LaunchBuffers buffers, bool counted) {
  OpBuilder builder(op);
  plan::KernelOp kernel = kernels->internTemplate(
      op->getLoc(), kind, builder.getDictionaryAttr(config));
  FailureOr<KernelGeometry> geometry = geometryFor(kernel, rows);
  if (failed(geometry))
    return failure();
  if (geometry->workspaceBytes)
    buffers.outs.push_back(
        createWorkspace(builder, op->getLoc(), geometry->workspaceBytes));
  if (counted)
    buffers.addUpdate(counters(builder, op->getLoc()));
  auto updates = buffers.updates.empty()
                     ? DenseI32ArrayAttr()
                     : builder.getDenseI32ArrayAttr(buffers.updates);
  auto scalars = buffers.scalars.empty()
                     ? DenseI32ArrayAttr()
                     : builder.getDenseI32ArrayAttr(buffers.scalars);
  ++numTemplates;
  auto launch = plan::LaunchOp::create(
      builder, op->getLoc(), kernel.getSymName(), rows, buffers.ins,
      buffers.outs, updates, scalars, /*grid=*/DenseI32ArrayAttr(),
      /*dynamic_rows=*/false, /*programmatic=*/false);
  // Of several launches the first has it.
  if (Attribute cost = op->removeAttr(plan::costAttrName))
    launch->setAttr(plan::costAttrName, cost);
  return launch;
}

Value SelectCudaKernels::counters(OpBuilder &builder, Location loc) {
  ModuleOp module = getOperation();
  auto global = module.lookupSymbol<plan::GlobalOp>(countersName);
  if (!global) {
    auto batch = module->getAttrOfType<IntegerAttr>(plan::batchAttrName);
    auto type = MemRefType::get({batch ? batch.getInt() : 1, maxHeads},
                                builder.getI32Type());
    auto moduleBuilder = OpBuilder::atBlockBegin(module.getBody());
    global = plan::GlobalOp::create(
        moduleBuilder, module.getLoc(), plan::GlobalKind::State, countersName,
        type, /*names=*/ArrayAttr(), /*transpose=*/false, IntegerAttr());
  }
  return plan::GlobalRefOp::create(builder, loc, global.getMemRefType(),
                                   countersName);
}

/// The append whose rows `op` attends to, if `op` can do it itself: the only
/// instruction between that and `op` that touches a cache.
static plan::CacheAppendOp findAppendBefore(plan::AttentionOp op) {
  for (Operation *prev = op->getPrevNode(); prev; prev = prev->getPrevNode()) {
    auto append = dyn_cast<plan::CacheAppendOp>(prev);
    if (append && append.getQkv() == op.getQkv() &&
        append.getKCache() == op.getKCache() &&
        append.getVCache() == op.getVCache() &&
        append.getStarts() == op.getStarts() && !append.getCount() &&
        !append.getSlot())
      return append;
    if (llvm::is_contained(prev->getOperands(), op.getKCache()) ||
        llvm::is_contained(prev->getOperands(), op.getVCache()))
      return {};
  }
  return {};
}

LogicalResult SelectCudaKernels::select(plan::AttentionOp op) {
  if (op.getKCache() && op.getTokens() == 1 && !op.getSlot())
    return selectDecode(op);
  if (op.getLse() || op.getRng())
    return selectFlashForward(op);
  return selectFlash(op);
}

LogicalResult SelectCudaKernels::selectDecode(plan::AttentionOp op) {
  plan::CacheAppendOp append = findAppendBefore(op);
  if (!append)
    return op.emitOpError("of one token a sequence needs the cache_append of "
                          "its qkv right before it");
  append.erase();
  ++numFusedAppends;
  SmallVector<NamedAttribute> config =
      headEntries(op.getQkv(), op.getHeads(), op.getHeadSize(),
                  typeOf(op.getKCache()).getDimSize(2));
  config.emplace_back("scale", op.getScaleAttr());
  LaunchBuffers buffers;
  buffers.ins = {op.getQkv(), op.getStarts()};
  buffers.addUpdate(op.getKCache());
  buffers.addUpdate(op.getVCache());
  buffers.outs.push_back(op.getOut());
  return replace(op, "decode_attention", config, op.getBatch(),
                 std::move(buffers), /*counted=*/true);
}

LogicalResult SelectCudaKernels::selectFlash(plan::AttentionOp op) {
  bool cached = bool(op.getKCache());
  int64_t rows = op.getBatch() * op.getTokens();
  int64_t positions =
      cached ? typeOf(op.getKCache()).getDimSize(2) : op.getTokens();
  SmallVector<NamedAttribute> config = headEntries(
      productType(op.getQkv()), op.getHeads(), op.getHeadSize(), positions);
  config.emplace_back("scale", op.getScaleAttr());
  config.push_back(intEntry("cached", cached));
  LaunchBuffers buffers;
  buffers.ins = {op.getQkv()};
  if (cached) {
    auto program = op->getParentOfType<plan::ProgramOp>();
    if (op.getBatch() != 1 || !op.getSlot() || !program.getCount())
      return op.emitOpError("with a cache and several tokens needs one "
                            "sequence, a slot and a program with a count");
    OpBuilder builder(op);
    Value count = plan::GlobalRefOp::create(
        builder, op.getLoc(), typeOf(op.getSlot()), *program.getCount());
    buffers.ins.append(
        {op.getKCache(), op.getVCache(), op.getStarts(), op.getSlot(), count});
  }
  buffers.outs.push_back(op.getOut());
  return replace(op, "flash_attention", config, rows, std::move(buffers));
}

LogicalResult SelectCudaKernels::selectFlashForward(plan::AttentionOp op) {
  if (!op.getLse())
    return op.emitOpError("with dropout needs an lse: only training drops");
  LaunchBuffers buffers;
  buffers.ins = {op.getQkv()};
  buffers.addDropout(op);
  buffers.outs = {op.getOut(), op.getLse()};
  return replace(op, "flash_forward", trainingEntries(op),
                 op.getBatch() * op.getTokens(), std::move(buffers));
}

LogicalResult SelectCudaKernels::select(plan::AttentionGradOp op) {
  SmallVector<NamedAttribute> config = trainingEntries(op);
  int64_t rows = op.getBatch() * op.getTokens();
  LaunchBuffers query;
  query.ins = {op.getQkv(), op.getOut(), op.getLse(), op.getDout()};
  query.addDropout(op);
  query.outs = {op.getDqkv()};
  FailureOr<plan::LaunchOp> first =
      launch(op, "flash_backward_query", config, rows, std::move(query));
  if (failed(first))
    return failure();
  // What the first kernel leaves for the second one.
  Value workspace = first->getOuts().back();
  LaunchBuffers key;
  key.ins = {op.getQkv(), op.getDout(), workspace};
  key.addDropout(op);
  key.addUpdate(op.getDqkv());
  return replace(op, "flash_backward_key", config, rows, std::move(key));
}

LogicalResult SelectCudaKernels::select(plan::EmbedGradOp op) {
  MemRefType dwte = typeOf(op.getDwte());
  NamedAttribute config[] = {intEntry("columns", dwte.getDimSize(1)),
                             intEntry("vocab", dwte.getDimSize(0)),
                             intEntry("positions", op.getTokensPerSequence())};
  LaunchBuffers buffers;
  buffers.ins = {op.getDx(), op.getTokens(), op.getOrder()};
  buffers.addUpdate(op.getDwte());
  buffers.addUpdate(op.getDwpe());
  return replace(op, "embed_grad", config, typeOf(op.getDx()).getDimSize(0),
                 std::move(buffers));
}

LogicalResult SelectCudaKernels::select(plan::CacheAppendOp op) {
  if (op.getBatch() != 1 || !op.getSlot() || !op.getCount())
    return op.emitOpError("needs one sequence, a slot and a count, or the "
                          "attention of one token a sequence after it");
  SmallVector<NamedAttribute> config =
      headEntries(op.getQkv(), op.getHeads(), op.getHeadSize(),
                  typeOf(op.getKCache()).getDimSize(2));
  LaunchBuffers buffers;
  buffers.ins = {op.getQkv(), op.getStarts(), op.getSlot(), op.getCount()};
  buffers.addUpdate(op.getKCache());
  buffers.addUpdate(op.getVCache());
  return replace(op, "cache_append", config, op.getTokens(),
                 std::move(buffers));
}

LogicalResult SelectCudaKernels::select(plan::SampleOp op) {
  bool prefill = bool(op.getSlot());
  if (prefill != bool(op.getCount()))
    return op.emitOpError("needs slot and count together");
  MemRefType logits = typeOf(op.getLogits());
  NamedAttribute config[] = {
      intEntry("vocab", op.getVocab()),
      intEntry("padded_vocab", logits.getDimSize(1)),
      intEntry("positions_limit", op.getPositionsLimit()),
      intEntry("prefill", prefill)};
  LaunchBuffers buffers;
  buffers.ins = {op.getLogits(), op.getSampling(), op.getStarts()};
  if (prefill)
    buffers.ins.append({op.getCount(), op.getSlot()});
  buffers.addUpdate(op.getTokens());
  buffers.addUpdate(op.getPositions());
  return replace(op, "sample", config, logits.getDimSize(0), std::move(buffers),
                 /*counted=*/true);
}

LogicalResult SelectCudaKernels::setGrid(plan::LaunchOp op) {
  // Layers launch the same kernels over the same rows.
  auto [known, isNew] =
      geometries.try_emplace({op.getKernelAttr(), op.getRows()});
  if (isNew) {
    auto kernel = getOperation().lookupSymbol<plan::KernelOp>(op.getKernel());
    FailureOr<KernelGeometry> computed = geometryFor(kernel, op.getRows());
    if (failed(computed))
      return failure();
    known->second = *computed;
  }
  const KernelGeometry &geometry = known->second;
  const int32_t grid[] = {int32_t(geometry.gridX), int32_t(geometry.gridY),
                          int32_t(geometry.gridZ)};
  op.setGrid(ArrayRef<int32_t>(grid));
  // Every generated kernel waits for its predecessor by itself.
  op.setProgrammatic(true);
  return success();
}

} // namespace
