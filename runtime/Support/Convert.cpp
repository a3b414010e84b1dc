//===- Convert.cpp - Conversions between float formats --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Support/Convert.h"

#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace gpt2rt;

float gpt2rt::doubleToFloatForNarrowing(double value) {
  float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value)
    return nearest;
  // Magnitude truncated towards zero, then the sticky bit.
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value))
    --bits;
  return std::bit_cast<float>(bits | 1);
}

namespace {

// One tag type per format: how it is stored, and its way to and from float.
struct F64 {
  using Storage = double;
  static double widen(double value) { return value; }
  static double narrow(float value) { return value; }
};
struct F32 {
  using Storage = float;
  static float widen(float value) { return value; }
  static float narrow(float value) { return value; }
};
struct F16 {
  using Storage = uint16_t;
  static float widen(uint16_t value) { return halfToFloat(value); }
  static uint16_t narrow(float value) { return floatToHalf(value); }
};
struct BF16 {
  using Storage = uint16_t;
  static float widen(uint16_t value) { return bfloat16ToFloat(value); }
  static uint16_t narrow(float value) { return floatToBFloat16(value); }
};

template <typename From, typename To>
typename To::Storage convertOne(typename From::Storage value) {
  if constexpr (std::is_same_v<From, F64> && std::is_same_v<To, F32>)
    return static_cast<float>(value);
  else if constexpr (std::is_same_v<From, F64>)
    return To::narrow(doubleToFloatForNarrowing(value));
  else
    return To::narrow(From::widen(value));
}

/// memcpy makes the loads and stores legal at any alignment: tensors in files
/// lie where they lie.
template <typename From, typename To>
void convertArray(const void *from, void *to, size_t count) {
  auto *source = static_cast<const std::byte *>(from);
  auto *target = static_cast<std::byte *>(to);
  for (size_t i = 0; i < count; ++i) {
    typename From::Storage input;
    std::memcpy(&input, source + i * sizeof(input), sizeof(input));
    typename To::Storage output = convertOne<From, To>(input);
    std::memcpy(target + i * sizeof(output), &output, sizeof(output));
  }
}

#if defined(__x86_64__)
// F16 is what most checkpoints hold, so it takes the hardware's instructions
// where there are any; baseline x86-64 code cannot assume them.
__attribute__((target("avx,f16c"))) size_t
halfToFloatF16C(const std::byte *from, std::byte *to, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    auto *source = reinterpret_cast<const __m128i *>(from + i * 2);
    auto *target = reinterpret_cast<float *>(to + i * 4);
    _mm256_storeu_ps(target, _mm256_cvtph_ps(_mm_loadu_si128(source)));
  }
  return i;
}

__attribute__((target("avx,f16c"))) size_t
floatToHalfF16C(const std::byte *from, std::byte *to, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    auto *source = reinterpret_cast<const float *>(from + i * 4);
    auto *target = reinterpret_cast<__m128i *>(to + i * 2);
    _mm_storeu_si128(target, _mm256_cvtps_ph(_mm256_loadu_ps(source),
                                             _MM_FROUND_TO_NEAREST_INT));
  }
  return i;
}

/// The elements done by hardware; the caller converts the rest.
size_t convertWithHardware(DType fromType, const void *from, DType toType,
                           void *to, size_t count) {
  // Every processor with AVX2 has F16C, a name that clang 14 does not know.
  static const bool supported = __builtin_cpu_supports("avx2");
  auto *source = static_cast<const std::byte *>(from);
  auto *target = static_cast<std::byte *>(to);
  if (supported && fromType == DType::F16 && toType == DType::F32)
    return halfToFloatF16C(source, target, count);
  if (supported && fromType == DType::F32 && toType == DType::F16)
    return floatToHalfF16C(source, target, count);
  return 0;
}
#else
size_t convertWithHardware(DType, const void *, DType, void *, size_t) {
  return 0;
}
#endif

using ConvertFunction = void (*)(const void *, void *, size_t);

template <typename From>
ConvertFunction selectTarget(DType toType) {
  switch (toType) {
  case DType::F64:
    return convertArray<From, F64>;
  case DType::F32:
    return convertArray<From, F32>;
  case DType::F16:
    return convertArray<From, F16>;
  case DType::BF16:
    return convertArray<From, BF16>;
  default:
    return nullptr;
  }
}

ConvertFunction selectFunction(DType fromType, DType toType) {
  switch (fromType) {
  case DType::F64:
    return selectTarget<F64>(toType);
  case DType::F32:
    return selectTarget<F32>(toType);
  case DType::F16:
    return selectTarget<F16>(toType);
  case DType::BF16:
    return selectTarget<BF16>(toType);
  default:
    return nullptr;
  }
}

} // namespace

Status gpt2rt::convertElements(DType fromType, const void *from, DType toType,
                               void *to, size_t count) {
  ConvertFunction function = selectFunction(fromType, toType);
  if (!function)
    return invalidArgument("cannot convert ", name(fromType), " to ",
                           name(toType), ": only float types are converted");
  if (count == 0)
    return {};
  if (fromType == toType) {
    std::memmove(to, from, count * sizeOf(fromType));
    return {};
  }
  size_t done = convertWithHardware(fromType, from, toType, to, count);
  function(static_cast<const std::byte *>(from) + done * sizeOf(fromType),
           static_cast<std::byte *>(to) + done * sizeOf(toType), count - done);
  return {};
}
