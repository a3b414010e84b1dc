// mixed-precision: chooses the types of parameters, caches and activations.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/Passes.h"

#include "dialects/GPT2/GPT2Ops.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::gpt2c {
#define GEN_PASS_DEF_MIXEDPRECISION
#include "compiler/Transforms/Passes.h.inc"
} // namespace mlir::gpt2c

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;

namespace {

StringRef nameOf(Precision precision) {
  switch (precision) {
  case Precision::FP32:
    return "fp32";
  case Precision::TF32:
    return "tf32";
  case Precision::FP16:
    return "fp16";
  case Precision::BF16:
    return "bf16";
  }
  llvm_unreachable("every precision is handled");
}

FloatType floatOf(Value value) {
  return dyn_cast<FloatType>(getElementTypeOrSelf(value));
}

RankedTensorType withElement(Type type, Type element) {
  return cast<RankedTensorType>(type).clone(element);
}

class MixedPrecisionPass
    : public gpt2c::impl::MixedPrecisionBase<MixedPrecisionPass> {
public:
  using gpt2c::impl::MixedPrecisionBase<MixedPrecisionPass>::MixedPrecisionBase;
  void runOnOperation() override;

private:
  SmallVector<func::FuncOp> getPrograms();
  /// The parameter that a value is read from, or null.
  GlobalOp parameterOf(Value value);
  void findMasters();
  LogicalResult retypeGlobals();
  LogicalResult addWorkingCopy(GlobalOp master);
  /// What an update does beyond its steps in f32.
  void completeUpdate(func::FuncOp update);
  void addLowResult(AdamWOp step);
  void retype(func::FuncOp program);
  void retype(PrecisionOpInterface op);
  /// The type that `op` computes in.
  FloatType computeType(PrecisionOpInterface op);
  /// Makes the operand's element type `element`.
  void castOperand(OpOperand &operand, FloatType element);

  void report();

  FloatType low;
  int64_t castCount = 0, parameterCount = 0, cacheCount = 0, copyCount = 0;
  DenseSet<StringAttr> masters;          ///< parameters that an update steps
  DenseSet<StringAttr> narrowedBiases;   ///< what a linear adds to a low result
  DenseMap<StringAttr, GlobalOp> copies; ///< working copies of masters
  /// Casts of the program at hand, so that users of a value share one.
  DenseMap<std::pair<Value, Type>, Value> casts;
};

void MixedPrecisionPass::runOnOperation() {
  ModuleOp module = getOperation();
  if (module->hasAttr(precisionAttrName)) {
    module.emitError("the module already has the precision ")
        << module->getAttr(precisionAttrName);
    return signalPassFailure();
  }
  module->setAttr(precisionAttrName,
                  StringAttr::get(&getContext(), nameOf(precision)));
  if (precision == Precision::FP32 || precision == Precision::TF32)
    return;
  if (precision == Precision::FP16)
    low = Float16Type::get(&getContext());
  else
    low = BFloat16Type::get(&getContext());
  findMasters();
  if (failed(retypeGlobals()))
    return signalPassFailure();
  for (func::FuncOp program : getPrograms()) {
    retype(program);
    if (getProgram(program).getRole() == ProgramRole::Update)
      completeUpdate(program);
  }
  report();
}

SmallVector<func::FuncOp> MixedPrecisionPass::getPrograms() {
  SmallVector<func::FuncOp> programs;
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (getProgram(function))
      programs.push_back(function);
  return programs;
}

void MixedPrecisionPass::report() {
  numCasts += castCount;
  numParameters += parameterCount;
  numCaches += cacheCount;
  numCopies += copyCount;
  remark::analysis(
      getOperation().getLoc(),
      remark::RemarkOpts::name("types-chosen").category("mixed-precision"))
      << remark::metric("casts", castCount)
      << remark::metric("parameters", parameterCount)
      << remark::metric("caches", cacheCount)
      << remark::metric("working-copies", copyCount);
}

GlobalOp MixedPrecisionPass::parameterOf(Value value) {
  auto read = value ? value.getDefiningOp<ReadOp>() : ReadOp();
  if (!read)
    return {};
  auto global = SymbolTable::lookupNearestSymbolFrom<GlobalOp>(
      read, read.getGlobalAttr());
  return global.getKind() == GlobalKind::Parameter ? global : GlobalOp();
}

void MixedPrecisionPass::findMasters() {
  masters.clear();
  narrowedBiases.clear();
  copies.clear();
  for (func::FuncOp program : getPrograms()) {
    for (auto step : program.getBody().getOps<AdamWOp>())
      if (GlobalOp parameter = parameterOf(step.getP()))
        masters.insert(parameter.getSymNameAttr());
    for (auto linear : program.getBody().getOps<LinearOp>())
      if (narrowBiases && !linear.getF32Result())
        if (GlobalOp bias = parameterOf(linear.getBias()))
          narrowedBiases.insert(bias.getSymNameAttr());
  }
}

LogicalResult MixedPrecisionPass::retypeGlobals() {
  for (auto global : llvm::to_vector(getOperation().getOps<GlobalOp>())) {
    StringAttr name = global.getSymNameAttr();
    bool isCache = global.getKind() == GlobalKind::Cache;
    bool isMatrix = global.getKind() == GlobalKind::Parameter &&
                    global.getTensorType().getRank() == 2;
    if (masters.contains(name)) {
      if ((isMatrix || narrowedBiases.contains(name)) &&
          failed(addWorkingCopy(global)))
        return failure();
    } else if (isCache || isMatrix) {
      global.setTypeAttr(
          TypeAttr::get(withElement(global.getTensorType(), low)));
      ++(isCache ? cacheCount : parameterCount);
    }
  }
  return success();
}

/// Adds NAME.low, which comes from the checkpoint as its master does.
LogicalResult MixedPrecisionPass::addWorkingCopy(GlobalOp master) {
  auto name = StringAttr::get(&getContext(), master.getSymName() + ".low");
  if (Operation *taken = SymbolTable::lookupSymbolIn(getOperation(), name))
    return taken->emitError("the symbol ")
           << name << " is taken: '" << master.getSymName()
           << "' has a working copy of that name";
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(master);
  auto copy = cast<GlobalOp>(builder.clone(*master));
  copy.setSymNameAttr(name);
  copy.setTypeAttr(TypeAttr::get(withElement(master.getTensorType(), low)));
  copies[master.getSymNameAttr()] = copy;
  ++copyCount;
  return success();
}

void MixedPrecisionPass::completeUpdate(func::FuncOp update) {
  for (auto step : llvm::to_vector(update.getBody().getOps<AdamWOp>()))
    addLowResult(step);
  // Only gradients in f16 leave its range.
  for (auto state : update.getBody().getOps<StepStateOp>())
    state.setDynamic(precision == Precision::FP16);
}

/// Lets a step write the working copy of its parameter, too.
void MixedPrecisionPass::addLowResult(AdamWOp step) {
  GlobalOp parameter = parameterOf(step.getP());
  GlobalOp copy =
      parameter ? copies.lookup(parameter.getSymNameAttr()) : GlobalOp();
  if (!copy)
    return;
  OpBuilder builder(step);
  Type type = step.getP().getType();
  auto both = AdamWOp::create(builder, step.getLoc(), type, type, type, type,
                              copy.getTensorType(), step.getP(), step.getM(),
                              step.getV(), step.getG(), step.getStepParams(),
                              step.getTrainState(), step.getDecay());
  WriteOp::create(builder, step.getLoc(), copy.getSymName(), both.getLow());
  step->replaceAllUsesWith(both->getResults().drop_back());
  step.erase();
}

void MixedPrecisionPass::retype(func::FuncOp program) {
  casts.clear();
  bool isUpdate = getProgram(program).getRole() == ProgramRole::Update;
  SymbolTableCollection symbols;
  auto elementOf = [&](Operation *op, FlatSymbolRefAttr name) {
    return symbols.lookupNearestSymbolFrom<GlobalOp>(op, name)
        .getTensorType()
        .getElementType();
  };
  for (Operation &op : llvm::make_early_inc_range(program.getOps())) {
    if (auto read = dyn_cast<ReadOp>(op)) {
      GlobalOp copy = copies.lookup(read.getGlobalAttr().getAttr());
      if (copy && !isUpdate)
        read.setGlobal(copy.getSymName());
      Type element = elementOf(read, read.getGlobalAttr());
      read.getResult().setType(read.getResult().getType().clone(element));
    } else if (auto write = dyn_cast<WriteOp>(op)) {
      Type element = elementOf(write, write.getGlobalAttr());
      if (auto type = dyn_cast<FloatType>(element))
        castOperand(write.getValueMutable(), type);
    } else if (auto precise = dyn_cast<PrecisionOpInterface>(op)) {
      retype(precise);
    } else if (isa<FusedOp>(op)) {
      op.emitOpError("stands before mixed-precision: run fuse after it");
      signalPassFailure();
    }
  }
}

FloatType MixedPrecisionPass::computeType(PrecisionOpInterface op) {
  FloatType f32 = Float32Type::get(&getContext());
  switch (op.getPrecisionClass()) {
  case PrecisionClass::Allow:
    return low;
  case PrecisionClass::Deny:
    return f32;
  case PrecisionClass::Infer:
    break;
  }
  for (OpOperand &operand : op->getOpOperands())
    if (floatOf(operand.get()) == f32 &&
        !op.isStorageOperand(operand.getOperandNumber()))
      return f32;
  return low;
}

void MixedPrecisionPass::retype(PrecisionOpInterface op) {
  FloatType type = computeType(op);
  for (OpOperand &operand : op->getOpOperands())
    if (floatOf(operand.get()) &&
        !op.isStorageOperand(operand.getOperandNumber()))
      castOperand(operand, type);
  for (OpResult result : op->getResults()) {
    if (!floatOf(result))
      continue;
    unsigned number = result.getResultNumber();
    Type element = type;
    if (std::optional<unsigned> source = op.getTypeSource(number))
      element = floatOf(op->getOperand(*source));
    else if (op.isF32Result(number))
      element = Float32Type::get(&getContext());
    result.setType(withElement(result.getType(), element));
  }
}

void MixedPrecisionPass::castOperand(OpOperand &operand, FloatType element) {
  Value value = operand.get();
  if (floatOf(value) == element)
    return;
  Value &cast = casts[{value, element}];
  if (!cast) {
    // Right behind the value, so that every later user may share the cast.
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(value);
    cast = CastOp::create(builder, value.getLoc(),
                          withElement(value.getType(), element), value);
    if (Operation *producer = value.getDefiningOp())
      if (Attribute layer = producer->getAttr(layerAttrName))
        cast.getDefiningOp()->setAttr(layerAttrName, layer);
    ++castCount;
  }
  operand.set(cast);
}

} // namespace
