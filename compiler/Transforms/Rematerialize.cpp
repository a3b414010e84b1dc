// rematerialize: keeps less from the forward to the backward half.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/RematerializeModel.h"

#include "mlir/IR/Remarks.h"

namespace mlir::gpt2c {
#define GEN_PASS_DEF_REMATERIALIZE
#include "compiler/Transforms/Passes.h.inc"
} // namespace mlir::gpt2c

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;

namespace {

class RematerializePass
    : public gpt2c::impl::RematerializeBase<RematerializePass> {
public:
  using gpt2c::impl::RematerializeBase<RematerializePass>::RematerializeBase;
  void runOnOperation() override;

private:
  LogicalResult checkOptions();
  LogicalResult rematerialize(func::FuncOp program, const OpCosts &costs);
  std::optional<Rematerialization> choose(func::FuncOp program,
                                          const RematerializeModel &model);
  void report(func::FuncOp program, const Rematerialization &choice,
              RematerializeModel::Built built, const ProgramCost &whole);
};

LogicalResult RematerializePass::checkOptions() {
  auto error = [&] { return getOperation().emitError("rematerialize: "); };
  if (mode == RematMode::Auto && budget <= 0)
    return error() << "mode=auto needs a budget of at least 1 byte";
  if (mode != RematMode::Auto && budget != 0)
    return error() << "a budget is for mode=auto";
  if (matmulRate <= 0 || byteRate <= 0)
    return error() << "rates must be greater than 0";
  return success();
}

void RematerializePass::runOnOperation() {
  if (failed(checkOptions()))
    return signalPassFailure();
  OpCosts costs(matmulRate, byteRate);
  if (!costTable.empty())
    if (llvm::Error error = costs.readTable(costTable)) {
      getOperation().emitError(llvm::toString(std::move(error)));
      return signalPassFailure();
    }
  bool hasProgram = false;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    ProgramAttr program = getProgram(function);
    if (!program || program.getRole() != ProgramRole::Accumulate)
      continue;
    hasProgram = true;
    if (failed(rematerialize(function, costs)))
      return signalPassFailure();
  }
  if (hasProgram || mode == RematMode::None)
    return;
  getOperation().emitError(
      "rematerialize needs a program of role accumulate; this module has none");
  signalPassFailure();
}

std::optional<Rematerialization>
RematerializePass::choose(func::FuncOp program,
                          const RematerializeModel &model) {
  switch (mode) {
  case RematMode::None:
    return model.keepAll();
  case RematMode::Block:
    return model.keepBlocks();
  case RematMode::Auto:
    break;
  }
  std::optional<Rematerialization> choice = model.keepWithin(budget);
  if (!choice)
    program.emitError("'")
        << program.getName() << "' does not fit " << int64_t(budget)
        << " bytes of activations; the least that rematerialization reaches is "
        << model.leastBudget();
  return choice;
}

LogicalResult RematerializePass::rematerialize(func::FuncOp program,
                                               const OpCosts &costs) {
  RematerializeModel model(program, costs);
  if (failed(model.analyze()))
    return failure();
  std::optional<Rematerialization> choice = choose(program, model);
  if (!choice)
    return failure();
  ProgramCost whole = model.costOfProgram();
  report(program, *choice, model.build(*choice), whole);
  return success();
}

void RematerializePass::report(func::FuncOp program,
                               const Rematerialization &choice,
                               RematerializeModel::Built built,
                               const ProgramCost &whole) {
  numValues += built.values;
  numOps += built.ops;
  keptBytes += choice.kept;
  peakBytes.updateMax(choice.peak);
  auto opts = remark::RemarkOpts::name("rematerialized")
                  .category("rematerialize")
                  .function(program.getName());
  double share = whole.seconds > 0 ? choice.seconds / whole.seconds : 0;
  // Hundredths of a percent, so that the remark is a whole number.
  remark::analysis(program.getLoc(), opts)
      << remark::metric("layers", int64_t(choice.masks.size()))
      << remark::metric("kept-bytes", choice.kept)
      << remark::metric("peak-bytes", choice.peak)
      << remark::metric("values", built.values)
      << remark::metric("ops", built.ops)
      << remark::metric("work-added-bp", int64_t(share * 1e4 + 0.5))
      << remark::metric("program-us", int64_t(whole.seconds * 1e6 + 0.5))
      << remark::metric("measured-ops", whole.measured)
      << remark::metric("unmeasured-ops", whole.ops - whole.measured);
}

} // namespace
