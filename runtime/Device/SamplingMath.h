//===- SamplingMath.h - Arithmetic of the sampling algorithm ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The shared scalar parts of SamplingParams.h, for the host compiler and for
// NVRTC: no standard library. NVRTC text that takes this file in defines
// GPT2_HOST_DEVICE ("__device__ __forceinline__") and the fixed-width integer
// types before it.
//
// All of it is integer arithmetic but for one subtraction, one product and one
// division in fp32, with no sum of a product for a compiler to contract: both
// targets get the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef GPT2_RUNTIME_DEVICE_SAMPLINGMATH_H
#define GPT2_RUNTIME_DEVICE_SAMPLINGMATH_H

#ifndef GPT2_HOST_DEVICE
#define GPT2_HOST_DEVICE inline
#endif
#ifndef __CUDACC_RTC__
#include <cstdint>
#endif

namespace gpt2rt {

/// Token that stands for "these logits cannot be sampled".
constexpr int32_t invalidToken = -1;

/// Maps the bits of a float to an integer of the same order: -0 and +0 get one
/// key, every NaN the largest.
/// No branches, so that loops over a vocabulary vectorise.
GPT2_HOST_DEVICE uint32_t orderedKey(uint32_t bits) {
  uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t negative = 0u - ((bits >> 31) & (magnitude != 0));
  uint32_t key = (magnitude | 0x80000000u) ^ negative;
  return magnitude > 0x7f800000u ? 0xffffffffu : key;
}

/// Keys of the infinities: the largest key of a row that can be sampled lies
/// strictly between them.
constexpr uint32_t keyOfMinusInfinity = 0x007fffffu;
constexpr uint32_t keyOfInfinity = 0xff800000u;

/// The factor from logits to powers of two. A temperature near zero must not
/// give infinity, which times zero would be NaN for the largest logit.
GPT2_HOST_DEVICE float samplingScale(float temperature) {
  float scale = 1.44269504f / temperature;
  return scale < 1.0e30f ? scale : 1.0e30f;
}

/// 2^(-units / 2^23) in units of 2^-40, for units in [0, 126 * 2^23].
GPT2_HOST_DEVICE uint64_t expTwo(uint32_t units) {
  // -units = f - whole with the fraction f in [0, 1), taken to 32 bits.
  uint32_t whole = (units + 0x7fffffu) >> 23;
  uint32_t fraction = ((whole << 23) - units) << 9;
  // (2^f - 1) / f by a polynomial of degree 6 (error 1e-9), coefficients and
  // sums in units of 2^-32.
  constexpr uint32_t coefficients[7] = {0xb17217f9, 0x3d7f7ba6, 0x0e3589f8,
                                        0x02763464, 0x0057bf1a, 0x00099317,
                                        0x00015bd3};
  uint32_t sum = coefficients[6];
  for (int i = 5; i >= 0; --i)
    sum = coefficients[i] + uint32_t((uint64_t(sum) * fraction) >> 32);
  uint32_t power =
      0x80000000u + (uint32_t((uint64_t(sum) * fraction) >> 32) >> 1);
  // `power` is 2^f in units of 2^-31.
  return whole < 64 ? (uint64_t(power) << 9) >> whole : 0;
}

/// Weight of a logit: at most 2^40, and exactly that for the largest one. Rows
/// of up to 2^23 logits have sums below 2^63.
GPT2_HOST_DEVICE uint64_t sampleWeight(float logit, float largest,
                                       float scale) {
  float power = (logit - largest) * scale;
  // Also taken by minus infinity.
  if (!(power > -126.0f))
    power = -126.0f;
  return expTwo(uint32_t(int32_t(power * -8388608.0f)));
}

/// ceil(topP * total), at least 1, with topP in (0, 1] taken to 32 bits.
GPT2_HOST_DEVICE uint64_t nucleusWeight(uint64_t total, float topP) {
  uint64_t fraction = uint64_t(topP * 4294967296.0f);
  uint64_t high = (total >> 32) * fraction;
  uint64_t low = (total & 0xffffffffu) * fraction;
  uint64_t weight = high + (low >> 32) + ((low & 0xffffffffu) != 0);
  return weight ? weight : 1;
}

/// The high 64 bits of a * b.
GPT2_HOST_DEVICE uint64_t multiplyHigh(uint64_t a, uint64_t b) {
  uint64_t aLow = a & 0xffffffffu, aHigh = a >> 32;
  uint64_t bLow = b & 0xffffffffu, bHigh = b >> 32;
  uint64_t middle = aHigh * bLow + ((aLow * bLow) >> 32);
  uint64_t carry = aLow * bHigh + (middle & 0xffffffffu);
  return aHigh * bHigh + (middle >> 32) + (carry >> 32);
}

/// The first two words of philox4x32-10 with counter {position, 0, 0, 0} and
/// key {seedLow, seedHigh}; the second word is the high half.
GPT2_HOST_DEVICE uint64_t philoxDraw(uint32_t position, uint32_t seedLow,
                                     uint32_t seedHigh) {
  uint32_t c0 = position, c1 = 0, c2 = 0, c3 = 0;
  uint32_t k0 = seedLow, k1 = seedHigh;
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xd2511f53u) * c0;
    uint64_t p1 = uint64_t(0xcd9e8d57u) * c2;
    c0 = uint32_t(p1 >> 32) ^ c1 ^ k0;
    c1 = uint32_t(p1);
    c2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
    c3 = uint32_t(p0);
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return (uint64_t(c1) << 32) | c0;
}

} // namespace gpt2rt

#endif // GPT2_RUNTIME_DEVICE_SAMPLINGMATH_H
