//===- MatvecEmitter.h - matvec kernels -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// out[r, n] = epilogue(dot(prologue(x)[r], W[n])) for up to 8 rows. The dot
// product is Templates/matvec.cuh; prologue and epilogue are row programs.
//
//===----------------------------------------------------------------------===//
#ifndef GPT2C_CODEGEN_CUDA_MATVECEMITTER_H
#define GPT2C_CODEGEN_CUDA_MATVECEMITTER_H

#include "dialects/Plan/PlanOps.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::gpt2c {

/// How the weight matrix is cut.
struct MatvecShape {
  static constexpr unsigned warps = 8;
  static constexpr int64_t maxRows = 8;

  MatvecShape(RankedTensorType weight);

  int64_t n, k;
  unsigned vector;        // columns of one access, 16 bytes at the most
  unsigned split;         // warps that share a weight row
  unsigned rowsPerWarp;   // weight rows of a warp
  int64_t tiles() const;  // pieces of the weight rows that a block takes
  int64_t blocks() const; // as many as tiles, or as fit the chip at once
  bool loops() const { return tiles() > blocks(); }
  int64_t steps() const; // loads of a lane for one weight row
  /// Blocks that a multiprocessor should hold, so that one computes while the
  /// weights of others arrive; it bounds the registers of a thread.
  unsigned residentBlocks() const;
};

/// The same for a large matrix that only ever meets one row of x, as all of a
/// plan of batch 1 do: Templates/matvec_one.cuh says what for.
struct OneRowShape {
  static constexpr unsigned warps = 16;
  static constexpr unsigned residentBlocks = 2; // one waits for the other

  /// Whether the kernel is one of these.
  static bool serves(plan::KernelOp kernel);
  explicit OneRowShape(plan::KernelOp kernel);

  int64_t n, k;
  unsigned vector;    // columns of one access, 16 bytes at the most
  int64_t blocks;     // each has as many weight rows as the others, or one less
  unsigned split = 1; // warps that share a weight row
  int64_t slots;      // rows of a warp that shared memory holds
  int64_t ringBytes;  // of all slots
  int64_t rowsPerBlock() const;

private:
  void chooseSplit();
};

/// Bytes of shared memory for x; 0 where the prologue is the input itself.
int64_t matvecSharedBytes(plan::KernelOp kernel);

/// A whole `matvec` kernel after the preamble and matvecSource().
LogicalResult emitMatvecKernel(plan::KernelOp kernel, llvm::raw_ostream &os);

/// What precedes the first matvec kernel of a translation unit.
llvm::StringRef matvecSource();

} // namespace mlir::gpt2c

#endif // GPT2C_CODEGEN_CUDA_MATVECEMITTER_H
