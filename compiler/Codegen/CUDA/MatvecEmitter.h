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

/// Bytes of shared memory for x; 0 where the prologue is the input itself.
int64_t matvecSharedBytes(plan::KernelOp kernel);

/// A whole `matvec` kernel after the preamble and matvecSource().
LogicalResult emitMatvecKernel(plan::KernelOp kernel, llvm::raw_ostream &os);

/// What precedes the first matvec kernel of a translation unit.
llvm::StringRef matvecSource();

} // namespace mlir::gpt2c

#endif // GPT2C_CODEGEN_CUDA_MATVECEMITTER_H
