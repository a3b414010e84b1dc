// How the next token is chosen: parameters, and the algorithm that the CPU and
// CUDA targets both implement, so that equal logits give equal tokens.
//
// SPDX-License-Identifier: Apache-2.0
//
// Order as in Hugging Face generate: temperature, top-k, top-p, draw. The
// scalar parts are in SamplingMath.h.
//
//  1. m = largest of the first `vocab` logits. If any is NaN or m is not
//     finite, the token is invalidToken and nothing else happens (the host
//     reports it). Greedy (temperature == 0 or top_k == 1): the lowest index
//     whose logit equals m. Done.
//  2. w_i = sampleWeight(l_i, m, samplingScale(temperature)): an integer,
//     2^40 for the largest logit, so every later sum is exact and does not
//     depend on its order.
//  3. top_k > 0: drop i unless l_i >= the k-th largest logit (ties kept).
//  4. top_p < 1: let W be the sum of what is left. Keep the smallest set of
//     largest logits whose weight reaches nucleusWeight(W, top_p) =
//     ceil(top_p * W), ties kept, at least the largest one.
//  5. u = philoxDraw(position, seedLow, seedHigh), 64 bits; target =
//     multiplyHigh(u, W_kept). The token is the first index, in vocabulary
//     order over what is kept, whose running sum exceeds target.
//
// `position` is where the drawn token will stand, the value that is written to
// positions[slot+b], so a sequence's draws depend on its seed and its own
// length only, never on its batch.

#ifndef GPT2_RUNTIME_DEVICE_SAMPLINGPARAMS_H
#define GPT2_RUNTIME_DEVICE_SAMPLINGPARAMS_H

#include <cstdint>

namespace gpt2rt {

/// One row of the `sampling` slot: 8 words of 4 bytes.
struct SamplingParams {
  float temperature = 0.0f; ///< 0 is greedy.
  int32_t topK = 0;         ///< 0 keeps all.
  float topP = 1.0f;        ///< In (0, 1]; 1 keeps all.
  uint32_t seedLow = 0;
  uint32_t seedHigh = 0;
  uint32_t reserved[3] = {0, 0, 0};
};
static_assert(sizeof(SamplingParams) == 32);

} // namespace gpt2rt

#endif // GPT2_RUNTIME_DEVICE_SAMPLINGPARAMS_H
