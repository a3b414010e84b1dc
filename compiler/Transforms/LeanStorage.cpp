// lean-storage: no resident 16-bit weights and 16-bit gradients.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/Passes.h"

#include "dialects/GPT2/GPT2Ops.h"

#include "mlir/IR/Remarks.h"

namespace mlir::gpt2c {
#define GEN_PASS_DEF_LEANSTORAGE
#include "compiler/Transforms/Passes.h.inc"
} // namespace mlir::gpt2c

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;

namespace {

class LeanStoragePass : public gpt2c::impl::LeanStorageBase<LeanStoragePass> {
public:
  using gpt2c::impl::LeanStorageBase<LeanStoragePass>::LeanStorageBase;
  void runOnOperation() override;

private:
  LogicalResult check();
  GlobalOp globalOf(Operation *op, FlatSymbolRefAttr name) {
    return SymbolTable::lookupNearestSymbolFrom<GlobalOp>(op, name);
  }
  /// Drops the working copies of matrices, which a step writes.
  void dropCopies();
  /// Reads masters in place of copies, cast for each op that computes in `low`.
  void readMasters(func::FuncOp program);
  void castUses(ReadOp read, FloatType low);
  /// Lets products write gradients that nothing else adds to.
  void narrowGradients();
  void narrow(WeightGradOp grad);
  void widenReads(func::FuncOp update);
  void report();

  SmallVector<func::FuncOp> accumulates; ///< one for each length of sequences
  func::FuncOp update;
  DenseMap<StringAttr, GlobalOp> masters; ///< of working copies, by name
  DenseSet<StringAttr> narrowed;          ///< gradients
  int64_t copyCount = 0, castCount = 0, gradientCount = 0;
};

LogicalResult LeanStoragePass::check() {
  ModuleOp module = getOperation();
  auto precision = module->getAttrOfType<StringAttr>(precisionAttrName);
  if (!precision ||
      (precision.getValue() != "fp16" && precision.getValue() != "bf16"))
    return module.emitError("lean-storage needs a module of the precision fp16 "
                            "or bf16: run mixed-precision first");
  for (auto function : module.getOps<func::FuncOp>()) {
    ProgramAttr program = getProgram(function);
    if (program && program.getRole() == ProgramRole::Accumulate)
      accumulates.push_back(function);
    if (program && program.getRole() == ProgramRole::Update)
      update = function;
  }
  if (accumulates.empty() || !update)
    return module.emitError("lean-storage needs accumulate and update programs:"
                            " run build-training first");
  return success();
}

void LeanStoragePass::runOnOperation() {
  accumulates.clear();
  update = {};
  copyCount = castCount = gradientCount = 0;
  masters.clear();
  narrowed.clear();
  if (failed(check()))
    return signalPassFailure();
  dropCopies();
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (getProgram(function) && function != update)
      readMasters(function);
  for (auto &[name, master] : masters)
    SymbolTable::lookupSymbolIn(getOperation(), name)->erase();
  narrowGradients();
  widenReads(update);
  // A second micro-batch would overwrite the first one's gradients.
  getOperation()->setAttr(maxAccumulationAttrName,
                          Builder(&getContext()).getI64IntegerAttr(1));
  report();
}

void LeanStoragePass::dropCopies() {
  for (auto step : llvm::to_vector(update.getBody().getOps<AdamWOp>())) {
    auto read = step.getP().getDefiningOp<ReadOp>();
    if (!read || !step.getLow() ||
        cast<RankedTensorType>(step.getP().getType()).getRank() != 2)
      continue;
    for (Operation *user : llvm::to_vector(step.getLow().getUsers())) {
      auto write = cast<WriteOp>(user);
      masters[write.getGlobalAttr().getAttr()] =
          globalOf(read, read.getGlobalAttr());
      write.erase();
      ++copyCount;
    }
    OpBuilder builder(step);
    Type type = step.getP().getType();
    auto lean = AdamWOp::create(builder, step.getLoc(), type, type, type, type,
                                /*low=*/Type(), step.getP(), step.getM(),
                                step.getV(), step.getG(), step.getStepParams(),
                                step.getTrainState(), step.getDecay());
    for (auto [before, after] : llvm::zip(step->getResults().take_front(4),
                                          lean->getResults().take_front(4)))
      before.replaceAllUsesWith(after);
    step.erase();
  }
}

void LeanStoragePass::readMasters(func::FuncOp program) {
  for (auto read : program.getBody().getOps<ReadOp>()) {
    GlobalOp master = masters.lookup(read.getGlobalAttr().getAttr());
    if (!master)
      continue;
    auto low = cast<FloatType>(read.getResult().getType().getElementType());
    read.setGlobal(master.getSymName());
    read.getResult().setType(master.getTensorType());
    castUses(read, low);
  }
}

void LeanStoragePass::castUses(ReadOp read, FloatType low) {
  for (OpOperand &use : llvm::make_early_inc_range(read->getUses())) {
    auto op = cast<PrecisionOpInterface>(use.getOwner());
    if (op.getPrecisionClass() != PrecisionClass::Allow)
      continue; // a table, read in whatever type it has
    // One cast for each use: none is held from one to the next.
    OpBuilder builder(op);
    auto cast = CastOp::create(builder, op.getLoc(),
                               read.getResult().getType().clone(low), read);
    if (Attribute layer = op->getAttr(layerAttrName))
      cast->setAttr(layerAttrName, layer);
    use.set(cast);
    ++castCount;
  }
}

/// The global that a product alone adds to in its program, or null.
static StringAttr soleGradientOf(WeightGradOp grad) {
  auto read = grad.getAcc() ? grad.getAcc().getDefiningOp<ReadOp>() : ReadOp();
  if (!read || !read->hasOneUse() || !grad->hasOneUse())
    return {};
  auto write = dyn_cast<WriteOp>(*grad->getUsers().begin());
  if (!write || write.getGlobalAttr() != read.getGlobalAttr())
    return {};
  return read.getGlobalAttr().getAttr();
}

void LeanStoragePass::narrowGradients() {
  llvm::MapVector<StringAttr, SmallVector<WeightGradOp>> products;
  for (func::FuncOp accumulate : accumulates)
    for (auto grad : accumulate.getBody().getOps<WeightGradOp>())
      if (StringAttr global = soleGradientOf(grad))
        products[global].push_back(grad);
  for (auto &[name, grads] : products) {
    if (grads.size() != accumulates.size())
      continue; // another program adds to it in another way
    llvm::for_each(grads, [&](WeightGradOp grad) { narrow(grad); });
    narrowed.insert(name);
    ++gradientCount;
  }
}

void LeanStoragePass::narrow(WeightGradOp grad) {
  auto read = grad.getAcc().getDefiningOp<ReadOp>();
  OpBuilder builder(grad);
  auto lean = WeightGradOp::create(builder, grad.getLoc(), grad.getDy(),
                                   grad.getX(), /*acc=*/Value());
  globalOf(read, read.getGlobalAttr())
      .setTypeAttr(TypeAttr::get(lean.getResult().getType()));
  grad.replaceAllUsesWith(lean.getResult());
  grad.erase();
  read.erase();
}

void LeanStoragePass::widenReads(func::FuncOp update) {
  // The next micro-batch overwrites what a step would clear.
  for (auto write : llvm::to_vector(update.getBody().getOps<WriteOp>()))
    if (narrowed.contains(write.getGlobalAttr().getAttr()))
      write.erase();
  for (auto read : update.getBody().getOps<ReadOp>()) {
    if (!narrowed.contains(read.getGlobalAttr().getAttr()))
      continue;
    Type wide = read.getResult().getType();
    read.getResult().setType(
        globalOf(read, read.getGlobalAttr()).getTensorType());
    for (OpOperand &use : llvm::make_early_inc_range(read->getUses())) {
      OpBuilder builder(use.getOwner());
      use.set(CastOp::create(builder, use.getOwner()->getLoc(), wide, read));
      ++castCount;
    }
  }
}

void LeanStoragePass::report() {
  numCopies += copyCount;
  numCasts += castCount;
  numGradients += gradientCount;
  remark::analysis(
      getOperation().getLoc(),
      remark::RemarkOpts::name("storage-reduced").category("lean-storage"))
      << remark::metric("working-copies-dropped", copyCount)
      << remark::metric("gradients-narrowed", gradientCount)
      << remark::metric("casts", castCount);
}

} // namespace
