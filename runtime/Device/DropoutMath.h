// Which elements dropout keeps: one counter-based hash for every target.
// SPDX-License-Identifier: Apache-2.0
//
// Nothing is stored: forward, backward and a recomputation hash the same
// counters (seed, step, op, sample, position, column) and agree. The compiler's
// row kernels and the CUDA templates spell the same functions out in their own
// languages; their tests compare them with these. Arithmetic is modulo 2^32.

#ifndef GPT2_RUNTIME_DEVICE_DROPOUTMATH_H
#define GPT2_RUNTIME_DEVICE_DROPOUTMATH_H

#include <cstdint>

namespace gpt2rt {

/// "lowbias32" of C. Wellons' hash prospector
/// (https://github.com/skeeto/hash-prospector): every bit of x reaches all
/// bits.
constexpr uint32_t dropoutMix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  x ^= x >> 16;
  return x;
}

/// Of one op in one step. `rng` is the state slot: the seed's halves, the step
/// and the index in the step of the micro-batch's first sample.
constexpr uint32_t dropoutKey(const int32_t *rng, uint32_t id) {
  uint32_t key = dropoutMix(uint32_t(rng[0]) + 0x9e3779b9u * id);
  key = dropoutMix(key ^ uint32_t(rng[1]));
  return dropoutMix(key ^ uint32_t(rng[2]));
}

/// Of one sequence of the micro-batch.
constexpr uint32_t dropoutSample(uint32_t key, const int32_t *rng,
                                 uint32_t sequence) {
  return dropoutMix(key ^ (uint32_t(rng[3]) + sequence));
}

/// Of one row of a sequence, whose elements are numbered by column.
constexpr uint32_t dropoutRow(uint32_t sample, uint32_t position) {
  return dropoutMix(sample ^ position);
}

/// Of one query of one head, whose elements are numbered by key position.
constexpr uint32_t dropoutQuery(uint32_t sample, uint32_t position,
                                uint32_t head) {
  return dropoutMix(dropoutRow(sample, position) ^ head);
}

/// Elements whose hash is below the threshold become 0.
constexpr uint32_t dropoutThreshold(float probability) {
  return static_cast<uint32_t>(double(probability) * 0x1p32);
}

constexpr bool dropoutKeeps(uint32_t row, uint32_t column, uint32_t threshold) {
  return dropoutMix(row ^ column) >= threshold;
}

/// What kept elements are multiplied by.
constexpr float dropoutScale(float probability) {
  return static_cast<float>(1.0 / (1.0 - double(probability)));
}

} // namespace gpt2rt

#endif // GPT2_RUNTIME_DEVICE_DROPOUTMATH_H
