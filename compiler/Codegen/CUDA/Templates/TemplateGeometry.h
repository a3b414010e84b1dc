//===- TemplateGeometry.h - Launches of the attention templates -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Grid, block, shared memory, workspace and argument order of the templates
// below. Plain C++, so that the compiler's template registry and the GPU tests
// share one copy.
//
// Arguments are in this order, `int rows` last (C = heads * head_size, B the
// slots of the caches; `dtype` is f32, f16 or bf16 everywhere in one kernel,
// and in flash kernels also tf32: f32 in memory, multiplied on tensor cores):
//
// decode_attention  config: dtype heads head_size positions scale
//   ins   qkv dtype[rows,3C]  starts i32[rows]
//   outs  k_cache dtype[B,heads,positions,head_size] (read and written)
//         v_cache likewise
//         out dtype[rows,C]
//         workspace u8 (read and written)
//         counters i32[>= rows*heads] (read and written)
//
// flash_attention   config: dtype heads head_size positions scale cached
//   cached = 1 (prefill; one sequence, rows = chunk size, positions = length
//   of a cache row; rows past count are left unwritten):
//     ins   qkv dtype[rows,3C]  k_cache  v_cache  starts i32[1]  slot i32[1]
//           count i32[1]
//     outs  out dtype[rows,C]
//   cached = 0 (eval; positions = tokens of one sequence, which divides rows):
//     ins   qkv dtype[rows,3C]
//     outs  out dtype[rows,C]
//
// flash_forward, flash_backward_query, flash_backward_key (training)
//   config: dtype heads head_size positions scale dropout_threshold
//   dropout_scale; positions = tokens of one sequence, divides rows;
//   dropout_threshold = uint32(probability * 2^32): 0 is no dropout, and then
//   there is no rng (i32[4]), nor the scalar `int` behind rows, dropout's
//   number; dropout_scale = 1 / (1 - probability).
//   flash_forward:
//     ins   qkv dtype[rows,3C]  (rng)
//     outs  out dtype[rows,C]  lse f32[rows,heads]
//   flash_backward_query, which must run before flash_backward_key:
//     ins   qkv  out  lse  dout dtype[rows,C]  (rng)
//     outs  dqkv dtype[rows,3C] (its first third)
//           workspace u8 (8 bytes a row and head)
//   flash_backward_key:
//     ins   qkv  dout  workspace (of the former)  (rng)
//     outs  dqkv (its second and last third; the first stays)
//
// embed_grad        config: columns vocab positions (tokens of one sequence)
//     ins   dx f32[rows,columns]  tokens i32[rows]
//           order i32[rows] (rows sorted stably by their token)
//     outs  dwte f32[vocab,columns]  dwpe f32[>= positions,columns] (both read
//           and written)
//
// cache_append      config: dtype heads head_size positions
//     ins   qkv dtype[rows,3C]  starts i32[1]  slot i32[1]  count i32[1]
//     outs  k_cache  v_cache
//
// sample            config: vocab padded_vocab positions_limit prefill
//   prefill = 1 (rows = 1):
//     ins   logits f32[rows,padded_vocab]  sampling i32[B,8]  starts i32[1]
//           count i32[1]  slot i32[1]
//     outs  tokens i32[B]  positions i32[B]  workspace u8  counters i32
//   prefill = 0:
//     ins   logits  sampling  starts i32[rows] (may be `positions` itself)
//     outs  tokens  positions  workspace u8  counters i32[>= rows]
//
// `counters` is one state global, i32[B, heads], shared by every launch of
// decode_attention and sample. It is zero when a plan is loaded (the executor
// zeroes state arenas) and every kernel leaves it zero. The workspaces need no
// initialisation.
//
//===----------------------------------------------------------------------===//
#ifndef GPT2C_CODEGEN_CUDA_TEMPLATES_TEMPLATEGEOMETRY_H
#define GPT2C_CODEGEN_CUDA_TEMPLATES_TEMPLATEGEOMETRY_H

#include <algorithm>
#include <cstdint>

namespace mlir::gpt2c::cuda {

struct LaunchShape {
  unsigned blockThreads = 0;
  unsigned dynamicSharedBytes = 0;
  unsigned grid[3] = {1, 1, 1};
  int64_t workspaceBytes = 0;
};

/// What the attention templates are specialised for.
struct AttentionShape {
  unsigned elementBytes = 2;
  int64_t heads = 12;
  int64_t headSize = 64;
  int64_t positions = 1024;
  bool tf32 = false; // 4 bytes an element, but on tensor cores

  constexpr bool isSimt() const { return elementBytes == 4 && !tf32; }
};

/// Larger heads would not fit the registers of flash_attention.
inline constexpr int64_t maxHeadSize = 128;

/// Keys of one split of decode_attention. Splits are combined in order, so
/// the number of them never changes a sum.
inline constexpr int64_t decodeChunk = 128;

/// Elements of one load: the widest of 16 bytes or less that divides a head.
constexpr int64_t vectorElements(unsigned elementBytes, int64_t headSize) {
  int64_t elements = 16 / elementBytes;
  while (headSize % elements != 0)
    elements /= 2;
  return elements;
}

/// Lanes that share one key of decode_attention: a power of two, at most 32.
constexpr int64_t decodeLanes(unsigned elementBytes, int64_t headSize) {
  int64_t vector = vectorElements(elementBytes, headSize);
  int64_t lanes = 4;
  while (lanes < 32 && lanes * vector < headSize)
    lanes *= 2;
  return lanes;
}

constexpr LaunchShape decodeAttentionLaunch(const AttentionShape &shape,
                                            int64_t rows) {
  LaunchShape launch;
  // A thread keeps its keys and values in registers: 8 loads of each at most.
  launch.blockThreads =
      decodeLanes(shape.elementBytes, shape.headSize) == 32 ? 512 : 256;
  int64_t chunks = (shape.positions + decodeChunk - 1) / decodeChunk;
  launch.grid[0] = shape.heads;
  launch.grid[1] = rows;
  launch.grid[2] = chunks;
  // Per chunk: the weighted sum of values, the maximum and the denominator.
  launch.workspaceBytes =
      rows * shape.heads * chunks * (shape.headSize + 2) * int64_t(4);
  return launch;
}

/// Head size as the tensor cores take it.
constexpr int64_t paddedHeadSize(int64_t headSize) {
  return (headSize + 15) / 16 * 16;
}

/// Bytes of rows of a head in shared memory: 16 more than they have, so that
/// reads of 8 rows meet no bank twice.
constexpr int64_t tileBytes(const AttentionShape &shape, int64_t rows) {
  return rows * (paddedHeadSize(shape.headSize) * shape.elementBytes + 16);
}

/// Row tiles of 16 that a warp on tensor cores owns: two share each load of
/// what passes by, where the registers allow it.
constexpr int64_t flashRowTiles(int64_t headSize) {
  return paddedHeadSize(headSize) <= 64 ? 2 : 1;
}

/// Query rows of one block of flash_attention, and keys of one step.
constexpr int64_t flashRows(const AttentionShape &shape, bool cached) {
  bool narrow = cached || shape.isSimt();
  return 64 * (narrow ? 1 : flashRowTiles(shape.headSize));
}
constexpr int64_t flashKeys(const AttentionShape &shape) {
  bool wide = shape.tf32 && paddedHeadSize(shape.headSize) > 64;
  return wide || shape.isSimt() ? 32 : 64;
}

constexpr LaunchShape flashAttentionLaunch(const AttentionShape &shape,
                                           int64_t rows, bool cached) {
  LaunchShape launch;
  int64_t tileRows = flashRows(shape, cached);
  int64_t tileKeys = flashKeys(shape);
  int64_t tokens = cached ? rows : shape.positions;
  launch.grid[0] = (tokens + tileRows - 1) / tileRows;
  launch.grid[1] = shape.heads;
  launch.grid[2] = rows / tokens;
  if (shape.isSimt()) {
    // Q, K, V and the probabilities, rows padded by 4 floats.
    launch.blockThreads = 256;
    launch.dynamicSharedBytes = tileBytes(shape, tileRows + 2 * tileKeys) +
                                4 * tileRows * (tileKeys + 4);
  } else {
    // Two stages of K and V (Q passes through the second).
    launch.blockThreads = 128;
    launch.dynamicSharedBytes = tileBytes(shape, 2 * 2 * tileKeys);
  }
  return launch;
}

/// Both kernels of the backward pass: a block a tile of own rows, a head and a
/// sequence.
constexpr LaunchShape flashBackwardLaunch(const AttentionShape &shape,
                                          int64_t rows, bool ownsKeys) {
  LaunchShape launch;
  int64_t padded = paddedHeadSize(shape.headSize);
  int64_t own = 64, other = 64;
  launch.blockThreads = 128;
  if (shape.isSimt()) {
    // Two tiles of own rows and two of others, dS and P, both padded by 4
    // floats, and statistics of 32 queries.
    own = other = 32;
    launch.blockThreads = 256;
    launch.dynamicSharedBytes =
        tileBytes(shape, 4 * own) + 4 * 2 * own * (own + 4) + own * (8 + 4);
  } else {
    // Two stages of two tiles of others (own rows pass through them first, or
    // lie behind them) and two tiles' statistics.
    bool keepsOwn = shape.tf32 && padded > 80;
    if (keepsOwn)
      own = 32, other = 16, launch.blockThreads = 64;
    else if (shape.tf32 && padded > 64)
      other = 32;
    else if (!shape.tf32 && !ownsKeys)
      own = 64 * flashRowTiles(shape.headSize);
    launch.dynamicSharedBytes =
        tileBytes(shape, 2 * 2 * other + (keepsOwn ? 2 * own : 0)) +
        2 * 64 * (8 + 4);
  }
  launch.grid[0] = (shape.positions + own - 1) / own;
  launch.grid[1] = shape.heads;
  launch.grid[2] = rows / shape.positions;
  // The kernel of the keys reads the other one's workspace.
  launch.workspaceBytes = ownsKeys ? 0 : rows * shape.heads * int64_t(8);
  return launch;
}

constexpr LaunchShape embedGradLaunch(int64_t columns, int64_t positions,
                                      int64_t rows) {
  constexpr int64_t warps = 8, window = 64;
  LaunchShape launch;
  launch.blockThreads = 32 * warps;
  launch.grid[0] =
      (rows + window - 1) / window + (positions + warps - 1) / warps;
  int64_t vector = columns % 4 == 0 ? 4 : columns % 2 == 0 ? 2 : 1;
  launch.grid[1] = (columns + 32 * vector - 1) / (32 * vector);
  return launch;
}

constexpr LaunchShape cacheAppendLaunch(int64_t rows) {
  LaunchShape launch;
  launch.blockThreads = 256;
  launch.grid[0] = rows;
  return launch;
}

/// Sums of weights of a histogram bin must fit 32 bits a digit.
inline constexpr int64_t maxSampleVocab = 1 << 18;

/// Blocks that share one row of logits while its maximum is found.
inline constexpr unsigned sampleBlocks = 8;

constexpr LaunchShape sampleLaunch(int64_t rows) {
  LaunchShape launch;
  launch.blockThreads = 1024;
  launch.grid[0] = sampleBlocks;
  launch.grid[1] = rows;
  // Per block: its maximum and where it is first found.
  launch.workspaceBytes = rows * sampleBlocks * int64_t(8);
  return launch;
}

} // namespace mlir::gpt2c::cuda

#endif // GPT2C_CODEGEN_CUDA_TEMPLATES_TEMPLATEGEOMETRY_H
