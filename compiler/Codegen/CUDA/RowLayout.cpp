//===- RowLayout.cpp - Where a row program keeps its values ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/RowLayout.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::gpt2c;

unsigned gpt2c::vectorWidth(int64_t columns, unsigned limit) {
  unsigned width = limit;
  while (columns % width != 0)
    width /= 2;
  return width;
}

/// Words a thread may keep across passes. The rest of its registers (255, or
/// 65536 a block) hold addresses and what one pass works on.
static double wordBudget(unsigned lanes) {
  if (lanes <= 256)
    return 64;
  return lanes == 512 ? 56 : 24;
}

static RowLayout registers(const RowProgram &program, unsigned vector,
                           unsigned lanes) {
  RowLayout layout;
  layout.kind = RowLayout::Registers;
  layout.vector = vector;
  layout.lanes = lanes;
  // Four warps are enough to hide a reduction's latency, and leave more blocks
  // to balance than eight.
  layout.blockThreads = std::max(128u, lanes);
  layout.vectors = program.getColumns() / vector;
  layout.perLane = llvm::divideCeil(layout.vectors, lanes);
  return layout;
}

static bool fits(const RowProgram &program, const RowLayout &layout) {
  double perLane = double(layout.perLane) * layout.vector;
  return perLane * program.getWordsPerColumn() <= wordBudget(layout.lanes);
}

RowLayout gpt2c::chooseRowLayout(const RowProgram &program) {
  int64_t columns = program.getColumns();
  unsigned vector = vectorWidth(columns, 8);
  bool rowResults = llvm::any_of(program.getOutputs(), [&](Value output) {
    return program.getForm(output) == Form::Row;
  });
  // A result once a row needs an owner of the row, unless rows are elements.
  if (!program.hasReductions() && (!rowResults || columns == 1)) {
    RowLayout layout;
    layout.vector = vector;
    layout.vectors = columns / vector;
    return layout;
  }
  int64_t vectors = columns / vector;
  unsigned lanes = 1;
  while (lanes < 32 && lanes < vectors)
    lanes *= 2;
  for (; lanes <= 1024; lanes *= 2) {
    RowLayout layout = registers(program, vector, lanes);
    if (fits(program, layout))
      return layout;
  }
  RowLayout layout = registers(program, vector, 512);
  layout.kind = RowLayout::Streamed;
  return layout;
}

RowLayout gpt2c::blockLayout(const RowProgram &program, unsigned blockThreads) {
  unsigned vector = vectorWidth(program.getColumns(), 8);
  RowLayout layout = registers(program, vector, blockThreads);
  layout.kind = RowLayout::Block;
  return layout;
}
