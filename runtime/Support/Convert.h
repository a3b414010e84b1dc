//===- Convert.h - Conversions between float formats ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Round to nearest even, infinities and NaNs kept. The scalar forms have no
// branches on data, so loops over them vectorise.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/DType.h"
#include "runtime/Support/Status.h"

#include <bit>

namespace gpt2rt {

inline uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = (bits >> 16) & 0x8000;
  bits &= 0x7fffffff;
  // Rebias the exponent from 127 to 15 and round away 13 mantissa bits; a
  // carry out of the mantissa is the next exponent, as it should be.
  uint32_t normal = (bits - (112u << 23) + 0xfff + ((bits >> 13) & 1)) >> 13;
  // Below 2^-14 the unit is 2^-24, which is the last bit of a float near 0.5:
  // the adder does the rounding.
  uint32_t subnormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(bits) + 0.5f) - 0x3f000000;
  uint32_t nan = 0x7e00 | ((bits >> 13) & 0x3ff);
  uint32_t result = bits < (113u << 23) ? subnormal : normal;
  result = bits >= (143u << 23) ? 0x7c00 : result;
  result = bits > 0x7f800000 ? nan : result;
  return static_cast<uint16_t>(sign | result);
}

inline float halfToFloat(uint16_t half) {
  uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  uint32_t magnitude = half & 0x7fff;
  uint32_t normal = (magnitude << 13) + (112u << 23);
  uint32_t subnormal = std::bit_cast<uint32_t>(
      std::bit_cast<float>(magnitude | 0x3f000000) - 0.5f);
  uint32_t special = (magnitude << 13) | 0x7f800000;
  uint32_t result = magnitude < 0x400 ? subnormal : normal;
  result = magnitude >= 0x7c00 ? special : result;
  return std::bit_cast<float>(sign | result);
}

inline uint16_t floatToBFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  // Rounding could carry a NaN into infinity; keep it quiet instead.
  uint32_t nan = (bits >> 16) | 0x40;
  bool isNan = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<uint16_t>(isNan ? nan : rounded);
}

inline float bfloat16ToFloat(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

/// A float that rounds on to f16 or bf16 as the double itself would: rounded
/// to odd, so that the second rounding sees every tie as it is.
float doubleToFloatForNarrowing(double value);

/// Converts `count` elements between float types. The arrays need no
/// alignment and must not overlap, unless they are the same and the types too.
/// An error for integer types, which hold no weights.
Status convertElements(DType fromType, const void *from, DType toType, void *to,
                       size_t count);

} // namespace gpt2rt
