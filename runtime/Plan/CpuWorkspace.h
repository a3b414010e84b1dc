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

/// oneDNN's scratch of one block of attention (measured: under 300 KiB at head
/// sizes up to 256).
inline constexpr uint64_t attentionScratchBytes = 512 << 10;

constexpr uint64_t roundUpTo(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}

/// Scratch of a matmul with `rows` rows and K columns: oneDNN copies a panel
/// of the weights a thread, 128 bytes for each of the K columns and some more.
constexpr uint64_t matmulWorkspaceBytes(uint64_t rows, uint64_t k) {
  return rows <= maxMatvecRows ? 0 : plannedThreads * ((64 << 10) + k * 128);
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

} // namespace gpt2rt::cpu
