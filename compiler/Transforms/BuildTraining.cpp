// build-training: gradients, optimizer state and the update program.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/BackwardBuilder.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/UpdateProgram.h"

#include "mlir/IR/Remarks.h"

namespace mlir::gpt2c {
#define GEN_PASS_DEF_BUILDTRAINING
#include "compiler/Transforms/Passes.h.inc"
} // namespace mlir::gpt2c

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;

namespace {

class BuildTrainingPass
    : public gpt2c::impl::BuildTrainingBase<BuildTrainingPass> {
public:
  using gpt2c::impl::BuildTrainingBase<BuildTrainingPass>::BuildTrainingBase;
  void runOnOperation() override {
    if (failed(check()) || failed(build()))
      signalPassFailure();
  }

private:
  LogicalResult check();
  LogicalResult checkSlots();
  LogicalResult build();
  /// The parameters that `backward` has a gradient of, those that decay first.
  SmallVector<GlobalOp> findTrained(const BackwardBuilder &backward);
  /// Adds NAME.grad, NAME.m and NAME.v for each parameter.
  LogicalResult addGlobals(ArrayRef<GlobalOp> parameters);
  void sumLosses(func::FuncOp validate);
  void report(int64_t parameters, int64_t ops);

  remark::RemarkOpts remarkOf(StringRef name) {
    return remark::RemarkOpts::name(name).category("build-training");
  }

  func::FuncOp accumulate;
};

/// Finds the program to differentiate.
LogicalResult BuildTrainingPass::check() {
  ModuleOp module = getOperation();
  accumulate = {};
  if (rowBlocks < 1)
    return module.emitError("row-blocks must be at least 1, not ")
           << int64_t(rowBlocks);
  if (Attribute precision = module->getAttr(precisionAttrName))
    return module.emitError("the module has the precision ")
           << precision << " already: run build-training before "
           << "mixed-precision";
  for (auto function : module.getOps<func::FuncOp>()) {
    ProgramAttr program = getProgram(function);
    if (!program)
      continue;
    if (program.getRole() == ProgramRole::Update)
      return function.emitError("the module has the update program '")
             << function.getName() << "' already";
    if (program.getRole() != ProgramRole::Accumulate)
      continue;
    if (accumulate)
      return function.emitError("'")
             << function.getName() << "' is a second accumulate program";
    accumulate = function;
  }
  if (!accumulate)
    return module.emitError("the module has no accumulate program to "
                            "differentiate");
  return checkSlots();
}

/// Checks that there are slots for what the training ops read.
LogicalResult BuildTrainingPass::checkSlots() {
  Builder builder(&getContext());
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  std::pair<StringRef, RankedTensorType> slots[] = {
      {"order", RankedTensorType::get({getProgram(accumulate).getRows()}, i32)},
      {"loss_sum", RankedTensorType::get({1}, f32)},
      {"step_params", RankedTensorType::get({16}, f32)},
      {"train_state", RankedTensorType::get({8}, f32)}};
  for (auto [name, type] : slots) {
    auto global = SymbolTable::lookupNearestSymbolFrom<GlobalOp>(
        getOperation(), builder.getStringAttr(name));
    if (!global || global.getTensorType() != type ||
        global.getKind() != GlobalKind::State)
      return getOperation().emitError("a training module needs the state '")
             << name << "' of type " << type;
  }
  return success();
}

LogicalResult BuildTrainingPass::build() {
  SymbolTable symbols(getOperation());
  Block &block = accumulate.getBody().front();
  auto before = static_cast<int64_t>(block.getOperations().size());
  BackwardBuilder backward(accumulate, symbols, rowBlocks);
  if (failed(backward.run()))
    return failure();
  SmallVector<GlobalOp> parameters = findTrained(backward);
  if (failed(addGlobals(parameters)))
    return failure();
  for (GlobalOp parameter : parameters)
    backward.getState().write((parameter.getSymName() + ".grad").str(),
                              backward.getSum(parameter));
  buildUpdateProgram(accumulate, parameters, rowBlocks);
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (ProgramAttr program = getProgram(function))
      if (program.getRole() == ProgramRole::Validate)
        sumLosses(function);
  report(static_cast<int64_t>(parameters.size()),
         static_cast<int64_t>(block.getOperations().size()) - before);
  return success();
}

SmallVector<GlobalOp>
BuildTrainingPass::findTrained(const BackwardBuilder &backward) {
  SmallVector<GlobalOp> matrices, vectors;
  for (auto global : getOperation().getOps<GlobalOp>()) {
    if (global.getKind() != GlobalKind::Parameter)
      continue;
    if (!backward.getSum(global))
      remark::missed(global.getLoc(), remarkOf("not-trained"))
          << remark::add("the loss does not depend on '{0}', so it has no "
                         "gradient and no step changes it",
                         global.getSymName().str());
    else if (global.getTensorType().getRank() == 2)
      matrices.push_back(global);
    else
      vectors.push_back(global);
  }
  matrices.append(vectors);
  return matrices;
}

LogicalResult BuildTrainingPass::addGlobals(ArrayRef<GlobalOp> parameters) {
  SymbolTable symbols(getOperation());
  if (Operation *taken = symbols.lookup("update"))
    return taken->emitError("the symbol 'update' is taken: a training module "
                            "gets a program of that name");
  auto globals = llvm::to_vector(getOperation().getOps<GlobalOp>());
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(globals.back());
  auto add = [&](GlobalOp parameter, StringRef suffix,
                 GlobalKind kind) -> LogicalResult {
    std::string name = (parameter.getSymName() + suffix).str();
    if (Operation *taken = symbols.lookup(name))
      return taken->emitError("the symbol '")
             << name << "' is taken: '" << parameter.getSymName()
             << "' has training state of that name";
    GlobalOp::create(builder, parameter.getLoc(), builder.getStringAttr(name),
                     parameter.getTypeAttr(),
                     GlobalKindAttr::get(&getContext(), kind),
                     /*names=*/nullptr, /*source=*/nullptr,
                     /*transpose=*/nullptr);
    return success();
  };
  for (GlobalOp parameter : parameters)
    if (failed(add(parameter, ".grad", GlobalKind::Gradient)))
      return failure();
  for (GlobalOp parameter : parameters)
    if (failed(add(parameter, ".m", GlobalKind::Moment)) ||
        failed(add(parameter, ".v", GlobalKind::Moment)))
      return failure();
  return success();
}

/// Adds the losses of a validation to their sum.
void BuildTrainingPass::sumLosses(func::FuncOp validate) {
  ProgramState state(validate);
  for (auto op : llvm::to_vector(
           validate.getBody().getOps<DifferentiableOpInterface>())) {
    Value losses = op.getLoss();
    if (!losses)
      continue;
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(op);
    auto type = cast<RankedTensorType>(losses.getType());
    int64_t blocks = std::min<int64_t>(rowBlocks, type.getDimSize(0));
    state.addColumns(
        builder, "loss_sum",
        ColumnSumOp::create(
            builder, op->getLoc(),
            RankedTensorType::get({1, blocks}, type.getElementType()), losses));
  }
}

void BuildTrainingPass::report(int64_t parameters, int64_t ops) {
  numParameters += parameters;
  numOps += ops;
  remark::analysis(accumulate.getLoc(),
                   remarkOf("differentiated").function(accumulate.getName()))
      << remark::metric("parameters", parameters)
      << remark::metric("ops-added", ops);
}

} // namespace
