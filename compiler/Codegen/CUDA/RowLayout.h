//===- RowLayout.h - Where a row program keeps its values -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2C_CODEGEN_CUDA_ROWLAYOUT_H
#define GPT2C_CODEGEN_CUDA_ROWLAYOUT_H

#include "compiler/Codegen/CUDA/RowProgram.h"

namespace mlir::gpt2c {

struct RowLayout {
  enum Kind {
    Flat,      // no reductions: a thread an aligned vector of columns
    Registers, // `lanes` threads a row, which holds its values in registers
    Shared,    // too wide for that: kept in shared memory
    Streamed,  // too wide for that, too: every pass reads its inputs again
    Block      // a block walks over all rows in every pass (matvec's x)
  };
  Kind kind = Flat;
  unsigned vector = 1; // columns that move as one access: 1, 2, 4 or 8
  unsigned lanes = 1;  // threads a row
  unsigned blockThreads = 256;
  /// Column sums: blocks that an SM must have room for, so that all row blocks
  /// run at once or in equal waves, rows that lanes take a round, and whether
  /// the next round's are loaded before the present one's are worked on.
  unsigned blocksPerSM = 1;
  unsigned rowsPerRound = 1;
  bool prefetches = false;
  /// Column sums: 16-bit rows that fill the registers. The next row's inputs
  /// arrive in shared memory while lanes work on the present one.
  bool isStaged = false;
  /// Vectors a row, and vectors a lane.
  int64_t vectors = 1;
  int64_t perLane = 1;
  /// A row of a vocabulary: so long that its code is worth special cases.
  bool isWide() const { return kind == Shared || kind == Streamed || isStaged; }
  unsigned rowsPerBlock() const { return blockThreads / lanes; }
  /// Shared memory that holds inputs of a row.
  int64_t sharedBytes = 0;
};

/// The layout of a kernel of its own.
RowLayout chooseRowLayout(const RowProgram &program);

/// The layout of code inside a block that computes a few rows for itself: all
/// threads share a row, and a thread keeps next to nothing in registers. The
/// order of a sum does not depend on the number of rows.
RowLayout blockLayout(const RowProgram &program, unsigned blockThreads);

/// The same for one row, kept in registers by all threads of the block.
RowLayout singleRowLayout(const RowProgram &program, unsigned blockThreads);

/// Columns that move as one access where rows have `columns` of them.
unsigned vectorWidth(int64_t columns, unsigned limit);

} // namespace mlir::gpt2c

#endif // GPT2C_CODEGEN_CUDA_ROWLAYOUT_H
