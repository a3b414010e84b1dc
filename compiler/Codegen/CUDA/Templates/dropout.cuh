// Which attention probabilities dropout keeps.
// SPDX-License-Identifier: Apache-2.0
//
// A counter-based hash, the same on every target (docs/architecture.md): of
// seed, step and op first, then of sample, query position, head and key
// position. DROPOUT_THRESHOLD is probability * 2^32; 0 means no dropout, and
// the functions then cost nothing. What is kept is scaled by DROPOUT_SCALE.

#ifndef DROPOUT_THRESHOLD
#define DROPOUT_THRESHOLD 0
#define DROPOUT_SCALE 1.0f
#endif

namespace attention {

constexpr bool DROPS = DROPOUT_THRESHOLD != 0;

// lowbias32 of C. Wellons' hash prospector.
DEVICE unsigned mix(unsigned x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

// Of one sequence of the batch; `rng` holds the seed's halves, the step and
// the index of the batch's first sample in the step; `id` is the op's number,
// which a launch passes, so that layers share their kernels.
DEVICE unsigned sampleKey(const int *rng, int id, int sequence) {
  if constexpr (!DROPS)
    return 0;
  unsigned seed = (unsigned)rng[0] + 0x9e3779b9u * (unsigned)id;
  unsigned key = mix(mix(mix(seed) ^ (unsigned)rng[1]) ^ (unsigned)rng[2]);
  return mix(key ^ (unsigned)(rng[3] + sequence));
}

// Of one query of one head.
DEVICE unsigned queryKey(unsigned sample, int position, int head) {
  return DROPS ? mix(mix(sample ^ (unsigned)position) ^ (unsigned)head) : 0;
}

// What a probability is multiplied by.
DEVICE float dropoutFactor(unsigned queryKey, int keyPosition) {
  if constexpr (!DROPS)
    return 1.0f;
  bool kept = mix(queryKey ^ (unsigned)keyPosition) >=
              (unsigned)DROPOUT_THRESHOLD;
  return kept ? DROPOUT_SCALE : 0.0f;
}

} // namespace attention
