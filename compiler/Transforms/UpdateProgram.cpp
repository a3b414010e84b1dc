// The update program of a training module.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/UpdateProgram.h"

#include "compiler/Transforms/ProgramState.h"

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;

namespace {

class UpdateBuilder {
public:
  UpdateBuilder(func::FuncOp program, int64_t rowBlocks)
      : state(program), builder(program.getBody().front().getTerminator()),
        rowBlocks(rowBlocks), f32(builder.getF32Type()),
        stepParams(state.read("step_params", RankedTensorType::get({16}, f32))),
        trainState(state.read("train_state", RankedTensorType::get({8}, f32))) {
  }

  /// Reads all, so that the reads stand in one order.
  void read(GlobalOp parameter);
  void addToNorm(GlobalOp parameter);
  void decide();
  void step(GlobalOp parameter);

private:
  Value valueOf(GlobalOp parameter, StringRef suffix) {
    return state.read((parameter.getSymName() + suffix).str(),
                      parameter.getTensorType());
  }

  ProgramState state;
  OpBuilder builder;
  int64_t rowBlocks;
  Type f32;
  Value stepParams, trainState;
  Value squaredNorm; ///< of the gradients so far
};

void UpdateBuilder::read(GlobalOp parameter) {
  for (StringRef suffix : {"", ".m", ".v", ".grad"})
    valueOf(parameter, suffix);
}

void UpdateBuilder::addToNorm(GlobalOp parameter) {
  int64_t rows = parameter.getTensorType().getDimSize(0);
  Value partials = SquareSumOp::create(
      builder, parameter.getLoc(),
      RankedTensorType::get({1, std::min(rowBlocks, rows)}, f32),
      valueOf(parameter, ".grad"), trainState);
  squaredNorm = ColumnFinishOp::create(builder, parameter.getLoc(), partials,
                                       squaredNorm);
}

void UpdateBuilder::decide() {
  Location loc = NameLoc::get(builder.getStringAttr("step"));
  trainState =
      StepStateOp::create(builder, loc, trainState.getType(), squaredNorm,
                          stepParams, trainState, /*dynamic=*/false);
  state.write("train_state", trainState);
}

void UpdateBuilder::step(GlobalOp parameter) {
  Type type = parameter.getTensorType();
  auto op = AdamWOp::create(builder, parameter.getLoc(), type, type, type, type,
                            /*low=*/Type(), valueOf(parameter, ""),
                            valueOf(parameter, ".m"), valueOf(parameter, ".v"),
                            valueOf(parameter, ".grad"), stepParams, trainState,
                            /*decay=*/parameter.getTensorType().getRank() == 2);
  auto write = [&](StringRef suffix, Value value) {
    state.write((parameter.getSymName() + suffix).str(), value);
  };
  write("", op.getPResult());
  write(".m", op.getMResult());
  write(".v", op.getVResult());
  write(".grad", op.getGResult());
}

} // namespace

void gpt2c::buildUpdateProgram(func::FuncOp accumulate,
                               ArrayRef<GlobalOp> parameters,
                               int64_t rowBlocks) {
  OpBuilder builder(accumulate.getContext());
  builder.setInsertionPointAfter(accumulate);
  Location loc = NameLoc::get(builder.getStringAttr("update"));
  auto program = func::FuncOp::create(builder, loc, "update",
                                      builder.getFunctionType({}, {}));
  // Its rows are those of the parameters, not of a batch.
  program->setAttr(programAttrName,
                   ProgramAttr::get(builder.getContext(), ProgramRole::Update,
                                    /*batch=*/1, /*tokens=*/1,
                                    FlatSymbolRefAttr()));
  builder.setInsertionPointToEnd(program.addEntryBlock());
  func::ReturnOp::create(builder, loc);
  UpdateBuilder update(program, rowBlocks);
  for (GlobalOp parameter : parameters)
    update.read(parameter);
  for (GlobalOp parameter : parameters)
    update.addToNorm(parameter);
  update.decide();
  for (GlobalOp parameter : parameters)
    update.step(parameter);
}
