//===- Lanes.h - Vectors and sums of one x86-64 level -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Included by loops that are compiled once a level, in a namespace a level
// (GPT2_SIMD_NAMESPACE), with the compiler's flags setting the vector width.
// The loops are plain C++ over fixed-width blocks that the compiler turns into
// vectors: `lanes` partial sums, so that the order of a sum is written down
// here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CPU/Simd/Simd.h"
#include "runtime/Support/Convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gpt2rt::cpu::GPT2_SIMD_NAMESPACE {

void matvec(const MatvecArgs &args, int64_t begin, int64_t end);
void decodeAttention(const DecodeAttentionArgs &args);
void causalSoftmax(const CausalSoftmaxArgs &args);
void divideRows(const DivideRowsArgs &args);
void softmaxGrad(const SoftmaxGradArgs &args);

// Floats in a vector register of this copy.
#ifdef __AVX512F__
constexpr int64_t width = 16;
#else
constexpr int64_t width = 8;
#endif
// Partial sums of a dot product, at every width, and the registers they fill.
constexpr int64_t lanes = 32;
constexpr int64_t parts = lanes / width;

using Vec [[gnu::vector_size(width * 4)]] = float;
using Vec8 [[gnu::vector_size(32)]] = float;
using Vec4 [[gnu::vector_size(16)]] = float;
using VecInMemory
    [[gnu::vector_size(width * 4), gnu::aligned(4), gnu::may_alias]] = float;
using Bits [[gnu::vector_size(width * 4)]] = uint32_t;
using BitsInMemory
    [[gnu::vector_size(width * 4), gnu::aligned(2), gnu::may_alias]] = uint32_t;

// loadLanes() fills `lanes` elements into `parts` registers.
struct F32 {
  using Storage = float;
  static float load(const Storage *p) { return *p; }
  static Storage store(float value) { return value; }
  static void loadLanes(const Storage *p, Vec (&out)[parts]) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < parts; ++i)
      out[i] = *reinterpret_cast<const VecInMemory *>(p + i * width);
  }
  // Where element i of `lanes` lies among the lanes.
  static constexpr int64_t laneOf(int64_t i) { return i; }
};

// A word holds two elements: even ones go to the lower half of the lanes, odd
// ones to the upper half, with one operation a register and no shuffle.
struct BF16 {
  using Storage = uint16_t;
  static float load(const Storage *p) { return bfloat16ToFloat(*p); }
  static Storage store(float value) { return floatToBFloat16(value); }
  static void loadLanes(const Storage *p, Vec (&out)[parts]) {
#pragma GCC unroll 2
    for (int64_t i = 0; i < parts / 2; ++i) {
      Bits words = *reinterpret_cast<const BitsInMemory *>(p + 2 * i * width);
      out[i] = (Vec)(words << 16);
      out[i + parts / 2] = (Vec)(words & 0xffff0000u);
    }
  }
  static constexpr int64_t laneOf(int64_t i) {
    return i / 2 + i % 2 * (lanes / 2);
  }
};

// Sums the lanes of `lanes` partial sums by halves, down to four.
inline Vec4 foldToFour(const Vec (&sums)[parts]) {
  Vec v[parts];
  std::copy_n(sums, parts, v);
  for (int64_t half = parts / 2; half; half /= 2)
    for (int64_t i = 0; i < half; ++i)
      v[i] += v[i + half];
#ifdef __AVX512F__
  Vec8 eight =
      __builtin_shufflevector(v[0], v[0], 0, 1, 2, 3, 4, 5, 6, 7) +
      __builtin_shufflevector(v[0], v[0], 8, 9, 10, 11, 12, 13, 14, 15);
#else
  Vec8 eight = v[0];
#endif
  return __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
         __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
}

// The same order at every width: 32 lanes, 16, 8, 4, 2, 1.
inline float sumLanes(const Vec (&sums)[parts]) {
  Vec4 four = foldToFour(sums);
  return (four[0] + four[2]) + (four[1] + four[3]);
}

// What is left of a dot product: fewer elements than lanes, one by one. Apart,
// so that it takes no registers from the loops.
template <typename T>
[[gnu::noinline]] float dotTail(const typename T::Storage *a,
                                const typename T::Storage *b, int64_t count) {
  float sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += T::load(a + i) * T::load(b + i);
  return sum;
}

template <typename T>
float dot(const typename T::Storage *a, const typename T::Storage *b,
          int64_t k) {
  Vec acc[parts] = {};
  int64_t i = 0;
  for (; i + lanes <= k; i += lanes) {
    Vec x[parts], y[parts];
    T::loadLanes(a + i, x);
    T::loadLanes(b + i, y);
#pragma GCC unroll 4
    for (int64_t p = 0; p < parts; ++p)
      acc[p] += x[p] * y[p];
  }
  float sum = sumLanes(acc);
  return i < k ? sum + dotTail<T>(a + i, b + i, k - i) : sum;
}

} // namespace gpt2rt::cpu::GPT2_SIMD_NAMESPACE
