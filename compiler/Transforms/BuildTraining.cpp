// build-training: gradients, optimizer state and the update program.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/BackwardBuilder.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/UpdateProgram.h"

#include "mlir/IR/Remarks.h"

#include <deque>

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
  /// Checks that programs for other lengths train the same parameters.
  LogicalResult checkTrained(func::FuncOp program,
                             const BackwardBuilder &backward,
                             ArrayRef<GlobalOp> parameters);
  /// Adds NAME.grad, NAME.m and NAME.v for each parameter.
  LogicalResult addGlobals(ArrayRef<GlobalOp> parameters);
  void sumLosses(func::FuncOp validate);
  void report(func::FuncOp program, int64_t parameters, int64_t ops);

  remark::RemarkOpts remarkOf(StringRef name) {
    return remark::RemarkOpts::name(name).category("build-training");
  }

  /// One for each length of sequences.
  SmallVector<func::FuncOp> programs;
};

/// Finds the programs to differentiate.
LogicalResult BuildTrainingPass::check() {
  ModuleOp module = getOperation();
  programs.clear();
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
    for (func::FuncOp other : programs)
      if (getProgram(other) == program)
        return function.emitError("'")
               << function.getName() << "' is a second accumulate program of "
               << program.getBatch() << " x " << program.getTokens()
               << " tokens";
    programs.push_back(function);
  }
  if (programs.empty())
    return module.emitError("the module has no accumulate program to "
                            "differentiate");
  return checkSlots();
}

/// Checks that there are slots for what the training ops read.
LogicalResult BuildTrainingPass::checkSlots() {
  Builder builder(&getContext());
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  int64_t rows = 0;
  for (func::FuncOp program : programs)
    rows = std::max(rows, getProgram(program).getRows());
  std::pair<StringRef, RankedTensorType> slots[] = {
      {"order", RankedTensorType::get({rows}, i32)},
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

static int64_t countOps(func::FuncOp program) {
  return static_cast<int64_t>(program.getBody().front().getOperations().size());
}

LogicalResult BuildTrainingPass::build() {
  SymbolTable symbols(getOperation());
  auto before = llvm::map_to_vector(programs, countOps);
  std::deque<BackwardBuilder> backwards; // which do not move
  for (func::FuncOp program : programs)
    if (failed(
            backwards.emplace_back(program, symbols, int64_t(rowBlocks)).run()))
      return failure();
  SmallVector<GlobalOp> parameters = findTrained(backwards.front());
  for (auto [program, backward] : llvm::zip_equal(programs, backwards))
    if (failed(checkTrained(program, backward, parameters)))
      return failure();
  if (failed(addGlobals(parameters)))
    return failure();
  for (BackwardBuilder &backward : backwards)
    for (GlobalOp parameter : parameters)
      backward.getState().write((parameter.getSymName() + ".grad").str(),
                                backward.getSum(parameter));
  buildUpdateProgram(programs.front(), parameters, rowBlocks);
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (ProgramAttr program = getProgram(function))
      if (program.getRole() == ProgramRole::Validate)
        sumLosses(function);
  numParameters += parameters.size();
  for (auto [program, ops] : llvm::zip_equal(programs, before))
    report(program, static_cast<int64_t>(parameters.size()),
           countOps(program) - ops);
  return success();
}

LogicalResult BuildTrainingPass::checkTrained(func::FuncOp program,
                                              const BackwardBuilder &backward,
                                              ArrayRef<GlobalOp> parameters) {
  for (auto global : getOperation().getOps<GlobalOp>())
    if (global.getKind() == GlobalKind::Parameter &&
        llvm::is_contained(parameters, global) != bool(backward.getSum(global)))
      return program.emitError("'")
             << program.getName() << "' and '" << programs.front().getName()
             << "' do not train the same parameters: only one has a gradient "
                "of '"
             << global.getSymName() << "'";
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

void BuildTrainingPass::report(func::FuncOp program, int64_t parameters,
                               int64_t ops) {
  numOps += ops;
  remark::analysis(program.getLoc(),
                   remarkOf("differentiated").function(program.getName()))
      << remark::metric("parameters", parameters)
      << remark::metric("ops-added", ops);
}

} // namespace
