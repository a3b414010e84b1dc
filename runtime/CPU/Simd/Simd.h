//===- Simd.h - Hand-vectorised loops of the CPU target ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What batch-1 decode spends its time in: weights and caches streamed from
// memory once a token. The loops are compiled once for each x86-64 level and
// chosen when the executor starts. Every sum has an order that depends on the
// shape only, never on the thread count or on the other rows of the batch.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/DType.h"

#include <cstdint>

namespace gpt2rt::cpu {

/// out[r, n] = sum_k x[r, k] * weight[n, k] + bias[n] for n in [begin, end).
struct MatvecArgs {
  const void *x;      ///< [rows, k], dense, of type `type`.
  const void *weight; ///< [n, k], dense, of type `type`.
  const float *bias;  ///< [n], or null.
  void *out;          ///< [rows, n], dense, of type `outType`.
  int64_t rows;       ///< A few: the weights are streamed once for all.
  int64_t n;
  int64_t k;
  DType type;    ///< F32 or BF16.
  DType outType; ///< F32 or `type`.
};

/// One new token of one (row, head): attends over cache rows [0, length).
struct DecodeAttentionArgs {
  const void *query;  ///< [headSize]
  const void *keys;   ///< [length, headSize], dense.
  const void *values; ///< [length, headSize], dense.
  void *out;          ///< [headSize]
  float *scores;      ///< Scratch of length floats.
  int64_t length;     ///< At least 1.
  int64_t headSize;   ///< At most maxHeadSize.
  float scale;
  DType type; ///< F32 or BF16, of all four tensors.
};

inline constexpr int64_t maxHeadSize = 1024;

/// Dropout of a block of attention weights: row i is query `position` + i
/// (runtime/Device/DropoutMath.h).
struct AttentionDropout {
  uint32_t sample = 0; ///< dropoutSample() of the sequence.
  uint32_t head = 0;
  uint32_t position = 0;
  uint32_t threshold = 0; ///< 0: everything is kept as it is.
  float scale = 1;
};

/// Softmax of a block of score rows, but for its division: weights are
/// exp(scale * score), the row's largest being 1. Row i keeps columns
/// [0, visible + i], the others become 0. Weights are written as `type` over
/// the scores' own rows (in place, `stride` floats apart), so a row of 16-bit
/// weights starts where its scores did.
struct CausalSoftmaxArgs {
  float *scores;
  int64_t rows;
  int64_t columns; ///< Columns of the block, all of which are written.
  int64_t stride;  ///< Floats between rows.
  int64_t visible; ///< Last column that row 0 sees.
  float scale;
  DType type; ///< F32 or BF16.
  /// Of row i at i * lseStride, or null: ln(sum of exp(scale * score)).
  float *lse = nullptr;
  int64_t lseStride = 0;
  AttentionDropout dropout = {};
  /// Of row i: what its product with the values is to be divided by.
  float *sums = nullptr;
};

/// out[r, c] = values[r, c] / sums[r].
struct DivideRowsArgs {
  const float *values; ///< [rows, columns]
  const float *sums;   ///< [rows]
  int64_t rows;
  int64_t columns;
  void *out;
  int64_t outStride; ///< Elements between rows.
  DType type;        ///< Of `out`: F32 or BF16.
};

/// The backward of CausalSoftmaxArgs for one block of rows: from scores S and
/// the gradient G of the weights that multiply the values, the weights
/// themselves and the gradient of S. Both are written as `type` over their own
/// rows, like probabilities.
struct SoftmaxGradArgs {
  float *scores;    ///< S, becomes the weights (after dropout).
  float *gradients; ///< G, becomes the gradient of S.
  int64_t rows;
  int64_t columns;
  int64_t stride;
  int64_t visible;
  float scale;
  DType type;
  const float *lse; ///< Of row i at i * lseStride.
  int64_t lseStride;
  const void *out;  ///< Attention's result for the rows' head, `outStride`
  const void *dout; ///< elements between rows, and its gradient.
  int64_t outStride;
  int64_t headSize;
  AttentionDropout dropout = {};
};

/// One implementation of the loops.
struct SimdKernels {
  const char *name; ///< "x86-64-v3" or "x86-64-v4"
  void (*matvec)(const MatvecArgs &args, int64_t begin, int64_t end);
  void (*decodeAttention)(const DecodeAttentionArgs &args);
  void (*causalSoftmax)(const CausalSoftmaxArgs &args);
  void (*divideRows)(const DivideRowsArgs &args);
  void (*softmaxGrad)(const SoftmaxGradArgs &args);
};

/// The best implementation this CPU runs, or null below x86-64-v3.
const SimdKernels *selectSimdKernels();

/// The highest of "x86-64-v4", "x86-64-v3" that this CPU has, or "x86-64".
const char *cpuLevel();

} // namespace gpt2rt::cpu
