//===- ConvertTest.cpp - Float formats ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The references here compute with exact doubles and std::nearbyint, and share
// no bit tricks with the code under test.
//
//===----------------------------------------------------------------------===//

#include "test/unit/Support/TestSupport.h"

#include "runtime/Support/Convert.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace gpt2rt;

namespace {

/// What a 16-bit float with these fields is worth.
double decode16(uint16_t bits, int exponentBits, int mantissaBits) {
  int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = bits >> mantissaBits & ((1 << exponentBits) - 1);
  int mantissa = bits & ((1 << mantissaBits) - 1);
  double sign = bits >> 15 ? -1 : 1;
  if (exponent == (1 << exponentBits) - 1)
    return mantissa ? std::nan("") : sign * INFINITY;
  if (exponent == 0)
    return sign * std::ldexp(mantissa, 1 - bias - mantissaBits);
  return sign * std::ldexp((1 << mantissaBits) + mantissa,
                           exponent - bias - mantissaBits);
}

/// The value rounded to the format, as a double.
double round16(double value, int exponentBits, int mantissaBits) {
  if (std::isnan(value) || std::isinf(value) || value == 0)
    return value;
  int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = std::max(std::ilogb(value), 1 - bias);
  double unit = std::ldexp(1.0, exponent - mantissaBits);
  double rounded = std::nearbyint(value / unit) * unit; // ties to even
  double limit = std::ldexp(2.0, bias);
  return std::fabs(rounded) >= limit ? std::copysign(INFINITY, value) : rounded;
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         (a == b && std::signbit(a) == std::signbit(b));
}

TEST(Half, EveryValueDecodesAndReturns) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    float wide = halfToFloat(half);
    ASSERT_TRUE(same(wide, decode16(half, 5, 10))) << bits;
    if (!std::isnan(wide))
      ASSERT_EQ(floatToHalf(wide), half) << bits;
    else
      ASSERT_TRUE(std::isnan(halfToFloat(floatToHalf(wide)))) << bits;
  }
}

TEST(BFloat16, EveryValueDecodesAndReturns) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    auto value = static_cast<uint16_t>(bits);
    float wide = bfloat16ToFloat(value);
    ASSERT_TRUE(same(wide, decode16(value, 8, 7))) << bits;
    if (!std::isnan(wide))
      ASSERT_EQ(floatToBFloat16(wide), value) << bits;
    else
      ASSERT_TRUE(std::isnan(bfloat16ToFloat(floatToBFloat16(wide)))) << bits;
  }
}

/// Floats where rounding is decided: between neighbours, on the tie, and one
/// unit to each side of it.
TEST(Half, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    float low = halfToFloat(static_cast<uint16_t>(bits));
    float high = bits == 0x7bff ? 65536.0f
                                : halfToFloat(static_cast<uint16_t>(bits + 1));
    float tie = (low + high) / 2;
    for (float value :
         {tie, std::nextafter(tie, low), std::nextafter(tie, high), -tie})
      ASSERT_TRUE(same(halfToFloat(floatToHalf(value)), round16(value, 5, 10)))
          << value;
  }
}

TEST(Half, LargeAndTinyFloats) {
  EXPECT_EQ(floatToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(floatToHalf(1e30f), 0x7c00);
  EXPECT_EQ(floatToHalf(-INFINITY), 0xfc00);
  EXPECT_EQ(floatToHalf(-0.0f), 0x8000);
  EXPECT_EQ(floatToHalf(1e-40f), 0);
  EXPECT_EQ(floatToHalf(0x1p-25f), 0); // tie, to even
  EXPECT_EQ(floatToHalf(0x1.8p-25f), 1);
}

TEST(BFloat16, RoundsToNearestEven) {
  std::mt19937 random(7);
  for (int i = 0; i < 200'000; ++i) {
    float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    float tie = std::bit_cast<float>(
        (std::bit_cast<uint32_t>(value) & 0xffff0000) | 0x8000);
    ASSERT_TRUE(
        same(bfloat16ToFloat(floatToBFloat16(value)), round16(value, 8, 7)))
        << value;
    ASSERT_TRUE(same(bfloat16ToFloat(floatToBFloat16(tie)), round16(tie, 8, 7)))
        << tie;
  }
}

/// Via a nearest float these would be rounded twice, to the wrong neighbour.
TEST(Convert, DoublesAreRoundedOnce) {
  for (double tie : {1 + 0x1p-11, 0x1p-24 * 2.5, 1 + 3 * 0x1p-11}) {
    for (double value : {tie, tie * (1 + 0x1p-50), tie * (1 - 0x1p-50), -tie}) {
      uint16_t half = 0;
      ASSERT_OK(convertElements(DType::F64, &value, DType::F16, &half, 1));
      EXPECT_TRUE(same(halfToFloat(half), round16(value, 5, 10))) << value;
    }
  }
  double value = (1 + 0x1p-8) * (1 + 0x1p-50);
  uint16_t narrow = 0;
  ASSERT_OK(convertElements(DType::F64, &value, DType::BF16, &narrow, 1));
  EXPECT_TRUE(same(bfloat16ToFloat(narrow), round16(value, 8, 7)));
}

TEST(Convert, DoublesOutsideTheRange) {
  double values[] = {1e300, -1e300, 1e-300, INFINITY, std::nan("")};
  float floats[5];
  uint16_t halves[5];
  ASSERT_OK(convertElements(DType::F64, values, DType::F32, floats, 5));
  ASSERT_OK(convertElements(DType::F64, values, DType::F16, halves, 5));
  EXPECT_EQ(floats[0], INFINITY);
  EXPECT_EQ(halves[0], 0x7c00);
  EXPECT_EQ(halves[1], 0xfc00);
  EXPECT_EQ(floats[2], 0.0f);
  EXPECT_EQ(halves[2], 0);
  EXPECT_EQ(halves[3], 0x7c00);
  EXPECT_TRUE(std::isnan(floats[4]));
  EXPECT_TRUE(std::isnan(halfToFloat(halves[4])));
}

/// Arrays take vector paths and hardware instructions; both must agree with
/// the scalar forms at every length and alignment.
TEST(Convert, ArraysEqualScalars) {
  std::mt19937 random(3);
  for (size_t count : {0, 1, 7, 8, 9, 31, 1000}) {
    std::vector<std::byte> floats(count * 4 + 1), halves(count * 2 + 1);
    std::vector<std::byte> wide(count * 4 + 1);
    for (size_t i = 0; i < count; ++i) {
      float value = halfToFloat(static_cast<uint16_t>(random())) *
                    (1 + static_cast<float>(random() % 4096) * 0x1p-23f);
      std::memcpy(&floats[1 + 4 * i], &value, 4);
    }
    ASSERT_OK(convertElements(DType::F32, floats.data() + 1, DType::F16,
                              halves.data() + 1, count));
    ASSERT_OK(convertElements(DType::F16, halves.data() + 1, DType::F32,
                              wide.data() + 1, count));
    for (size_t i = 0; i < count; ++i) {
      float value, back;
      uint16_t half;
      std::memcpy(&value, &floats[1 + 4 * i], 4);
      std::memcpy(&half, &halves[1 + 2 * i], 2);
      std::memcpy(&back, &wide[1 + 4 * i], 4);
      ASSERT_TRUE(same(halfToFloat(half), round16(value, 5, 10))) << value;
      ASSERT_TRUE(same(back, halfToFloat(half)));
    }
  }
}

TEST(Convert, EveryPairOfFloatTypes) {
  const DType types[] = {DType::F64, DType::F32, DType::F16, DType::BF16};
  double values[] = {0, 1, -2.5, 96, 0x1p-10}; // exact in all four
  for (DType from : types)
    for (DType to : types) {
      std::byte source[5 * 8], target[5 * 8];
      double back[5];
      ASSERT_OK(convertElements(DType::F64, values, from, source, 5));
      ASSERT_OK(convertElements(from, source, to, target, 5));
      ASSERT_OK(convertElements(to, target, DType::F64, back, 5));
      EXPECT_TRUE(std::equal(values, values + 5, back))
          << name(from) << " to " << name(to);
    }
}

TEST(Convert, RefusesIntegers) {
  int32_t source = 1;
  float target = 0;
  EXPECT_ERROR(convertElements(DType::I32, &source, DType::F32, &target, 1),
               ErrorCode::InvalidArgument, "cannot convert I32 to F32");
  EXPECT_ERROR(convertElements(DType::F32, &target, DType::I8, &source, 1),
               ErrorCode::InvalidArgument, "cannot convert F32 to I8");
}

TEST(DTypes, NamesAndSizesAgree) {
  for (unsigned i = 0; i < numDTypes; ++i) {
    auto type = static_cast<DType>(i);
    EXPECT_EQ(parseDType(name(type)), type);
    EXPECT_GT(sizeOf(type), 0u);
  }
  EXPECT_EQ(sizeOf(DType::BF16), 2u);
  EXPECT_EQ(sizeOf(DType::F64), 8u);
  EXPECT_EQ(parseDType("F8_E4M3"), std::nullopt);
  EXPECT_EQ(parseDType("f32"), std::nullopt);
}

} // namespace
