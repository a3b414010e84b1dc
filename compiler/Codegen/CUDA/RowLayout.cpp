//===- RowLayout.cpp - Where a row program keeps its values ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/RowLayout.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <optional>

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

/// Every supported GPU gives a block 99 KiB, of which reductions take a little:
/// a 16-bit row of GPT-2's vocabulary fits.
static constexpr int64_t sharedLimit = 99 * 1024 - 512;

static int64_t inputBytes(const RowProgram &program) {
  double words = program.getInputWordsPerColumn();
  return static_cast<int64_t>(words * 4 * program.getColumns());
}

/// Rows too wide for registers.
static RowLayout wide(const RowProgram &program, unsigned vector) {
  constexpr unsigned lanes = 512;
  // Many narrow inputs: all lanes get a part of each.
  while (vector > 1 && program.getColumns() / vector < lanes)
    vector /= 2;
  RowLayout layout = registers(program, vector, lanes);
  layout.blocksPerSM = 2; // one loads while another computes
  int64_t bytes = inputBytes(program);
  layout.kind = bytes <= sharedLimit ? RowLayout::Shared : RowLayout::Streamed;
  layout.sharedBytes = layout.kind == RowLayout::Shared ? bytes : 0;
  return layout;
}

/// Columns that move as one access so that lanes have the fewest idle columns.
static unsigned evenVector(int64_t columns, unsigned lanes) {
  unsigned best = vectorWidth(columns, 8);
  auto held = [&](unsigned vector) {
    return llvm::divideCeil(columns / vector, lanes) * vector;
  };
  if (columns % 4 == 0 && held(4) < held(best))
    best = 4;
  return best;
}

/// No reduction over columns: a thread owns a vector or a few of them.
static RowLayout independentColumns(const RowProgram &program) {
  RowLayout layout =
      registers(program, vectorWidth(program.getColumns(), 8), 1);
  constexpr int64_t mostLanes = 512;
  layout.perLane = llvm::divideCeil(layout.vectors, mostLanes);
  layout.lanes = llvm::divideCeil(layout.vectors, layout.perLane);
  layout.blockThreads = std::max(256 / layout.lanes, 1u) * layout.lanes;
  // Little is computed, so many loads must be in flight.
  constexpr double budget = 48;
  double held = layout.perLane * layout.vector;
  double words = 2 * held * program.getInputWordsPerColumn();
  double sums = held * program.getColumnResults();
  layout.rowsPerRound = 4;
  while (layout.rowsPerRound > 1 && layout.rowsPerRound * words + sums > budget)
    layout.rowsPerRound /= 2;
  double rounds = layout.rowsPerRound * words + sums;
  layout.prefetches = rounds <= budget;
  // 512 row blocks run in one wave of four blocks an SM where registers allow
  // it (addresses take a dozen), else in two waves of two; three would leave a
  // second wave of a third.
  constexpr double registersOfSM = 65536;
  bool fitsOneWave = rounds + 12 <= registersOfSM / (4 * layout.blockThreads);
  layout.blocksPerSM = fitsOneWave ? 4 : layout.blockThreads > 384 ? 1 : 2;
  return layout;
}

/// All threads of an SM hold a row: half of their 64 registers.
static std::optional<RowLayout> staged(const RowProgram &program) {
  constexpr unsigned lanes = 1024;
  constexpr double budget = 32;
  unsigned vector = vectorWidth(program.getColumns(), 8);
  RowLayout layout = registers(program, vector, lanes);
  layout.isStaged = true;
  layout.sharedBytes = inputBytes(program);
  bool isCopied = llvm::all_of(program.getInputs(), [&](Value input) {
    return program.getForm(input) != Form::Element ||
           elementTypeOf(input).getIntOrFloatBitWidth() * vector == 128;
  });
  double words = double(layout.perLane) * vector * program.getWordsPerColumn();
  if (!isCopied || words > budget || layout.sharedBytes > sharedLimit ||
      program.getColumnResults() != 0)
    return std::nullopt;
  return layout;
}

/// Programs that run over blocks of rows. 512 threads an SM with 128 registers
/// each: the 512 row blocks of a plan then run at once on 132 SMs.
static RowLayout columnSumLayout(const RowProgram &program) {
  constexpr double budget = 84;
  constexpr int64_t mostColumns = 64; // a lane; more unrolls into too much code
  int64_t columns = program.getColumns();
  bool hasSingle = llvm::any_of(program.getOutputs(), [&](Value output) {
    return program.getForm(output) == Form::Single;
  });
  if (!program.hasReductions() && !hasSingle)
    if (RowLayout layout = independentColumns(program);
        layout.perLane * layout.vector <= mostColumns)
      return layout;
  double sums = program.getColumnResults();
  for (bool prefetches : {true, false})
    for (unsigned lanes = 1; lanes <= 512; lanes *= 2) {
      RowLayout layout = registers(program, evenVector(columns, lanes), lanes);
      double words = program.getWordsPerColumn() + sums;
      if (prefetches)
        words += program.getInputWordsPerColumn();
      bool isSpread = lanes >= 32 || lanes >= layout.vectors;
      layout.prefetches = prefetches;
      layout.blocksPerSM = 512 / layout.blockThreads;
      int64_t held = layout.perLane * layout.vector;
      if (isSpread && held <= mostColumns && held * words <= budget)
        return layout;
    }
  if (std::optional<RowLayout> layout = staged(program))
    return *layout;
  return wide(program, vectorWidth(columns, 8));
}

RowLayout gpt2c::chooseRowLayout(const RowProgram &program) {
  if (program.hasColumnSums())
    return columnSumLayout(program);
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
  return wide(program, vector);
}

RowLayout gpt2c::singleRowLayout(const RowProgram &program,
                                 unsigned blockThreads) {
  return registers(program, evenVector(program.getColumns(), blockThreads),
                   blockThreads);
}

RowLayout gpt2c::blockLayout(const RowProgram &program, unsigned blockThreads) {
  unsigned vector = vectorWidth(program.getColumns(), 8);
  RowLayout layout = registers(program, vector, blockThreads);
  layout.kind = RowLayout::Block;
  return layout;
}
