//===- CpuWorkspace.h - Scratch that the CPU target's steps use -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The compiler reserves these bytes for each instruction, the executor lives
// within them: it uses fewer threads where a machine has more of them than
// were counted on. Both sides call the same functions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpt2rt::cpu {

/// Threads that a step can keep busy without more scratch than planned.
inline constexpr uint64_t plannedThreads = 32;

/// Rows up to which a matmul over [N, K] weights runs as a matvec.
inline constexpr uint64_t maxMatvecRows = 8;

/// Query rows of one block of attention.
inline constexpr uint64_t attentionBlockRows = 64;

/// Scratch of one block of attention or of its gradient: oneDNN's (measured:
/// under 300 KiB at head sizes up to 256) and the block's result.
inline constexpr uint64_t attentionScratchBytes = 512 << 10;

/// The product of a block's weights and the values in f32, and the divisors of
/// its rows: 64.25 KiB at head size 256.
constexpr uint64_t attentionResultBytes(uint64_t headSize) {
  return attentionBlockRows * (headSize + 1) * 4;
}

constexpr uint64_t roundUpTo(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}

/// Scratch of a matmul of `rows` rows, summing over k: oneDNN copies a panel of
/// the weights a thread, 128 bytes for each of k and some more, in blocks where
/// k is large; with A transposed a panel of A, too, which 16 threads share less
/// of (measured over the presets' shapes, CpuTests).
constexpr uint64_t matmulWorkspaceBytes(uint64_t rows, uint64_t k,
                                        bool weightNk, bool transposeA) {
  constexpr uint64_t fixed = 64 << 10;
  if (transposeA)
    return plannedThreads * (fixed + std::min<uint64_t>(k, 1536) * 512);
  if (weightNk && rows <= maxMatvecRows)
    return 0;
  return plannedThreads * (fixed + std::min<uint64_t>(k, 4096) * 128);
}

/// Scores of the rows that one thread works on.
constexpr uint64_t attentionScoreBytes(bool decode, uint64_t keys) {
  uint64_t rows = decode ? 1 : attentionBlockRows;
  return rows * roundUpTo(keys, 64) * 4;
}

/// Scratch of an attention instruction: `keys` is the cache's length, or the
/// number of tokens without a cache; decode is one token a row with a cache.
constexpr uint64_t attentionWorkspaceBytes(bool decode, uint64_t batch,
                                           uint64_t heads, uint64_t tokens,
                                           uint64_t keys) {
  uint64_t blocks =
      decode ? 1 : (tokens + attentionBlockRows - 1) / attentionBlockRows;
  uint64_t tasks = std::min(batch * heads * blocks, plannedThreads);
  return tasks * (attentionScoreBytes(decode, keys) +
                  (decode ? 0 : attentionScratchBytes));
}

/// What one thread needs for the gradient of one head of one sequence: a block
/// of scores and one of their gradients, the sums of the gradients of all keys
/// and values in f32, and the library's scratch.
constexpr uint64_t attentionGradThreadBytes(uint64_t tokens,
                                            uint64_t headSize) {
  return 2 * attentionScoreBytes(/*decode=*/false, tokens) +
         2 * roundUpTo(tokens * headSize * 4, 64) + attentionScratchBytes;
}

/// Scratch of an attention_grad instruction.
constexpr uint64_t attentionGradWorkspaceBytes(uint64_t batch, uint64_t heads,
                                               uint64_t tokens,
                                               uint64_t headSize) {
  return std::min(batch * heads, plannedThreads) *
         attentionGradThreadBytes(tokens, headSize);
}

} // namespace gpt2rt::cpu
