// The globals that a program reads and writes.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/ProgramState.h"

#include "dialects/GPT2/GPT2Ops.h"

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;

ProgramState::ProgramState(func::FuncOp program)
    : block(program.getBody().front()) {
  for (auto read : block.getOps<ReadOp>())
    values[read.getGlobal()] = read.getResult();
  for (Operation &op : block) {
    if (!isa<ReadOp>(op))
      break;
    lastRead = &op;
  }
}

Value ProgramState::read(StringRef global, Type type) {
  Value &value = values[global];
  if (value)
    return value;
  OpBuilder builder(block.getParentOp()->getContext());
  if (lastRead)
    builder.setInsertionPointAfter(lastRead);
  else
    builder.setInsertionPointToStart(&block);
  auto read = ReadOp::create(
      builder, NameLoc::get(builder.getStringAttr(global)), type, global);
  lastRead = read;
  return value = read.getResult();
}

void ProgramState::write(StringRef global, Value value) {
  OpBuilder builder(block.getTerminator());
  WriteOp::create(builder, NameLoc::get(builder.getStringAttr(global)), global,
                  value);
}

void ProgramState::addColumns(OpBuilder &builder, StringRef global,
                              Value partials) {
  auto type = cast<RankedTensorType>(partials.getType());
  Value sum = read(global, RankedTensorType::get({type.getDimSize(0)},
                                                 type.getElementType()));
  write(global,
        ColumnFinishOp::create(builder, partials.getLoc(), partials, sum));
}
