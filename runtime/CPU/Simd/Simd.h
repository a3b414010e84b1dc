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

/// Softmax of a block of score rows: row i keeps columns [0, visible + i],
/// the others become 0. Probabilities are written as `type` over the scores'
/// own rows (in place, `stride` floats apart), so a row of 16-bit
/// probabilities starts where its scores did.
struct CausalSoftmaxArgs {
  float *scores;
  int64_t rows;
  int64_t columns; ///< Columns of the block, all of which are written.
  int64_t stride;  ///< Floats between rows.
  int64_t visible; ///< Last column that row 0 sees.
  float scale;
  DType type; ///< F32 or BF16.
};

/// One implementation of the loops.
struct SimdKernels {
  const char *name; ///< "x86-64-v3" or "x86-64-v4"
  void (*matvec)(const MatvecArgs &args, int64_t begin, int64_t end);
  void (*decodeAttention)(const DecodeAttentionArgs &args);
  void (*causalSoftmax)(const CausalSoftmaxArgs &args);
};

/// The best implementation this CPU runs, or null below x86-64-v3.
const SimdKernels *selectSimdKernels();

/// The highest of "x86-64-v4", "x86-64-v3" that this CPU has, or "x86-64".
const char *cpuLevel();

} // namespace gpt2rt::cpu
