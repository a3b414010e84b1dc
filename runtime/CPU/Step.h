//===- Step.h - One prepared instruction of a CPU program -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CPU/Arenas.h"
#include "runtime/CPU/KernelLibrary.h"
#include "runtime/CPU/OneDnn.h"
#include "runtime/CPU/Simd/Simd.h"
#include "runtime/Device/DropoutMath.h"

#include <memory>

namespace gpt2rt::cpu {

/// What steps are prepared from. Outlives them.
struct StepContext {
  const Plan &plan;
  const Arenas &arenas;
  const KernelLibrary &kernels;
  const SimdKernels &simd;
  OneDnnPool &matmuls;
  /// Every parallel region of a decode step has this many threads, also where
  /// fewer have work: libgomp allocates when the size of a team changes.
  int threads;

  template <typename T = std::byte>
  T *address(int64_t buffer) const {
    if (buffer < 0)
      return nullptr;
    const fb::Buffer &fb = plan.buffer(static_cast<uint32_t>(buffer));
    return reinterpret_cast<T *>(arenas.address(fb));
  }
  DType dtype(uint32_t buffer) const {
    return static_cast<DType>(plan.buffer(buffer).dtype());
  }
  uint64_t bytes(int64_t buffer) const {
    return buffer < 0 ? 0 : plan.buffer(static_cast<uint32_t>(buffer)).bytes();
  }
};

/// Everything that can be decided when the plan is loaded is decided in the
/// constructor; run() allocates nothing once each row count has been seen.
class Step {
public:
  virtual ~Step() = default;

  /// `count` is the program's number of valid tokens: steps with dynamic rows
  /// may leave rows from there on undefined. Negative: all rows.
  virtual Status run(int64_t count) = 0;
};

using StepOrError = Result<std::unique_ptr<Step>>;

StepOrError makeLaunchStep(const StepContext &, const fb::Launch &);
StepOrError makeMatmulStep(const StepContext &, const fb::Matmul &);
StepOrError makeAttentionStep(const StepContext &, const fb::Attention &);
StepOrError makeAttentionGradStep(const StepContext &,
                                  const fb::AttentionGrad &);
StepOrError makeEmbedGradStep(const StepContext &, const fb::EmbedGrad &);
StepOrError makeCacheAppendStep(const StepContext &, const fb::CacheAppend &);
StepOrError makeSampleStep(const StepContext &, const fb::Sample &);
StepOrError makeCopyStep(const StepContext &, const fb::Copy &);
StepOrError makeFillStep(const StepContext &, const fb::Fill &);

/// Dropout of an attention instruction, forward or backward.
class DropoutOfAttention {
public:
  DropoutOfAttention(const int32_t *rng, float probability, uint32_t id)
      : rng(rng), id(id), threshold(rng ? dropoutThreshold(probability) : 0),
        scale(dropoutScale(probability)) {}

  /// Of a block of queries from position `query` on; threshold 0 without.
  AttentionDropout of(int64_t sequence, int64_t head, int64_t query) const {
    if (threshold == 0)
      return {};
    return {dropoutSample(dropoutKey(rng, id), rng,
                          static_cast<uint32_t>(sequence)),
            static_cast<uint32_t>(head), static_cast<uint32_t>(query),
            threshold, scale};
  }

private:
  const int32_t *rng;
  uint32_t id, threshold;
  float scale;
};

constexpr int64_t roundUp(int64_t value, int64_t step) {
  return (value + step - 1) / step * step;
}

/// Prefill's attention rounds query rows at the end of a prompt and the keys
/// of a block up to these; the cache is clean as far as that.
inline constexpr int64_t attentionRowStep = 16, attentionKeyStep = 64;

/// Rows to work on: `planned`, or fewer where they follow the count.
inline int64_t liveRows(int64_t planned, bool dynamicRows, int64_t count) {
  return dynamicRows && count >= 0 && count < planned ? count : planned;
}

} // namespace gpt2rt::cpu
