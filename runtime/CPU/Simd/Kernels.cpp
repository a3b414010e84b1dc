//===- Kernels.cpp - Matvec, decode attention and causal softmax ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiled twice, with GPT2_SIMD_KERNELS and GPT2_SIMD_NAME naming the copy
// and the compiler's flags setting the vector width. The loops are plain C++
// over fixed-width blocks that the compiler turns into vectors: `lanes`
// partial sums, so that the order of a sum is written down here.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/Simd/Simd.h"
#include "runtime/Support/Convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gpt2rt::cpu {
namespace {

// Floats in a vector register of this copy.
#ifdef __AVX512F__
constexpr int64_t width = 16;
#else
constexpr int64_t width = 8;
#endif
// Partial sums of a dot product, at every width, and the registers they fill.
constexpr int64_t lanes = 32;
constexpr int64_t parts = lanes / width;
// Weight rows that are read side by side, half of the range apart: two long
// streams are what the hardware prefetches best (measured: 95% of the read
// bandwidth, while neighbouring rows, short streams of 4 KiB, reach half).
constexpr int64_t streams = 2;

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

template <typename T>
void storeOut(const MatvecArgs &args, int64_t row, int64_t n, float sum) {
  float value = sum + (args.bias ? args.bias[n] : 0.0f);
  int64_t index = row * args.n + n;
  if (args.outType == DType::F32)
    static_cast<float *>(args.out)[index] = value;
  else
    static_cast<typename T::Storage *>(args.out)[index] = T::store(value);
}

// ROWS rows of x, from `row` on, against weight rows n, n + step, ... (COUNT).
template <typename T, int ROWS, int COUNT>
[[gnu::always_inline]] inline void
matvecBlock(const MatvecArgs &args, int64_t row, int64_t n, int64_t step) {
  using S = typename T::Storage;
  const int64_t k = args.k;
  const S *x = static_cast<const S *>(args.x) + row * k;
  const S *w = static_cast<const S *>(args.weight) + n * k;
  Vec acc[ROWS][COUNT][parts] = {};
  int64_t i = 0;
  for (; i + lanes <= k; i += lanes) {
    Vec value[ROWS][parts];
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; ++r)
      T::loadLanes(x + r * k + i, value[r]);
#pragma GCC unroll 4
    for (int j = 0; j < COUNT; ++j) {
      Vec weight[parts];
      T::loadLanes(w + j * step * k + i, weight);
#pragma GCC unroll 4
      for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 4
        for (int64_t p = 0; p < parts; ++p)
          acc[r][j][p] += value[r][p] * weight[p];
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 4
    for (int j = 0; j < COUNT; ++j) {
      float sum = sumLanes(acc[r][j]);
      if (i < k)
        sum += dotTail<T>(x + r * k + i, w + j * step * k + i, k - i);
      storeOut<T>(args, row + r, n + j * step, sum);
    }
}

// ROWS rows of x against weight rows n + j * step, j < streams, as many at a
// time as leave registers for the sums.
template <typename T, int ROWS>
void matvecStreams(const MatvecArgs &args, int64_t row, int64_t n,
                   int64_t step) {
  constexpr int count = width == 16 || ROWS == 1 ? streams : 1;
  for (int64_t j = 0; j < streams; j += count)
    matvecBlock<T, ROWS, count>(args, row, n + j * step, step);
}

// All rows of x: the weight rows stay in the first-level cache meanwhile.
template <typename T>
void matvecTyped(const MatvecArgs &args, int64_t begin, int64_t end) {
  constexpr int most = width == 16 ? 4 : 2;
  int64_t step = (end - begin) / streams;
  for (int64_t n = begin; n < begin + step; ++n) {
    int64_t row = 0;
    for (; row + most <= args.rows; row += most)
      matvecStreams<T, most>(args, row, n, step);
    for (; row + 2 <= args.rows; row += 2)
      matvecStreams<T, 2>(args, row, n, step);
    if (row < args.rows)
      matvecStreams<T, 1>(args, row, n, step);
  }
  for (int64_t n = begin + step * streams; n < end; ++n)
    for (int64_t row = 0; row < args.rows; ++row)
      matvecBlock<T, 1, 1>(args, row, n, 0);
}

void matvec(const MatvecArgs &args, int64_t begin, int64_t end) {
  if (args.type == DType::F32)
    matvecTyped<F32>(args, begin, end);
  else
    matvecTyped<BF16>(args, begin, end);
}

// e^x for x <= 0 with a relative error below 2e-7: 2^n * p(r), the fraction r
// in [-0.5, 0.5] ln 2 through a polynomial of degree 6.
inline float expNonPositive(float x) {
  x = std::max(x, -87.0f);
  float n = std::nearbyintf(x * 1.44269504f);
  float r = x - n * 0.693145752f - n * 1.42860677e-6f;
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  auto exponent = static_cast<int32_t>(n) + 127;
  return p * std::bit_cast<float>(exponent << 23);
}

// Replaces v[0, count) by exp(v * scale - max) and returns the sum, in lanes.
float softmaxWeights(float *v, int64_t count, float scale) {
  float part[lanes];
  std::fill_n(part, lanes, -INFINITY);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int64_t j = 0; j < lanes; ++j)
      part[j] = v[i + j] * scale > part[j] ? v[i + j] * scale : part[j];
  float largest = *std::max_element(part, part + lanes);
  for (; i < count; ++i)
    largest = std::max(largest, v[i] * scale);

  Vec sums[parts] = {};
  for (i = 0; i + lanes <= count; i += lanes) {
    for (int64_t j = 0; j < lanes; ++j)
      v[i + j] = expNonPositive(v[i + j] * scale - largest);
    Vec weights[parts];
    F32::loadLanes(v + i, weights);
    for (int64_t p = 0; p < parts; ++p)
      sums[p] += weights[p];
  }
  float tail = 0;
  for (; i < count; ++i) {
    v[i] = expNonPositive(v[i] * scale - largest);
    tail += v[i];
  }
  return sumLanes(sums) + tail;
}

// Sums weighted rows of values in CHUNKS * lanes columns, which stay in
// registers over all rows, and stores them divided by `total`.
template <typename T, int CHUNKS>
void weighColumns(const DecodeAttentionArgs &args, int64_t column,
                  float total) {
  using S = typename T::Storage;
  Vec acc[CHUNKS][parts] = {};
  auto *value = static_cast<const S *>(args.values) + column;
  for (int64_t i = 0; i < args.length; ++i, value += args.headSize) {
    float weight = args.scores[i];
#pragma GCC unroll 2
    for (int c = 0; c < CHUNKS; ++c) {
      Vec v[parts];
      T::loadLanes(value + c * lanes, v);
#pragma GCC unroll 4
      for (int64_t p = 0; p < parts; ++p)
        acc[c][p] += weight * v[p];
    }
  }
  float sums[CHUNKS][lanes];
  std::memcpy(sums, acc, sizeof(sums));
  auto *out = static_cast<S *>(args.out) + column;
  for (int c = 0; c < CHUNKS; ++c)
    for (int64_t j = 0; j < lanes; ++j)
      out[c * lanes + j] = T::store(sums[c][T::laneOf(j)] / total);
}

template <typename T>
void decodeAttentionTyped(const DecodeAttentionArgs &args) {
  using S = typename T::Storage;
  const int64_t d = args.headSize;
  auto *query = static_cast<const S *>(args.query);
  auto *keys = static_cast<const S *>(args.keys);
  for (int64_t i = 0; i < args.length; ++i)
    args.scores[i] = dot<T>(query, keys + i * d, d);
  float total = softmaxWeights(args.scores, args.length, args.scale);
  int64_t column = 0;
  for (; column + 2 * lanes <= d; column += 2 * lanes)
    weighColumns<T, 2>(args, column, total);
  for (; column + lanes <= d; column += lanes)
    weighColumns<T, 1>(args, column, total);
  for (; column < d; ++column) {
    float sum = 0;
    for (int64_t i = 0; i < args.length; ++i)
      sum += args.scores[i] *
             T::load(static_cast<const S *>(args.values) + i * d + column);
    static_cast<S *>(args.out)[column] = T::store(sum / total);
  }
}

void decodeAttention(const DecodeAttentionArgs &args) {
  if (args.type == DType::F32)
    decodeAttentionTyped<F32>(args);
  else
    decodeAttentionTyped<BF16>(args);
}

template <typename T>
void causalSoftmaxTyped(const CausalSoftmaxArgs &args) {
  using S = typename T::Storage;
  for (int64_t r = 0; r < args.rows; ++r) {
    float *row = args.scores + r * args.stride;
    int64_t count = std::min(args.visible + r + 1, args.columns);
    float inverse = 1.0f / softmaxWeights(row, count, args.scale);
    // 16-bit values are written below the floats still to be read.
    S *out = reinterpret_cast<S *>(row);
    for (int64_t j = 0; j < count; ++j)
      out[j] = T::store(row[j] * inverse);
    for (int64_t j = count; j < args.columns; ++j)
      out[j] = 0;
  }
}

void causalSoftmax(const CausalSoftmaxArgs &args) {
  if (args.type == DType::F32)
    causalSoftmaxTyped<F32>(args);
  else
    causalSoftmaxTyped<BF16>(args);
}

} // namespace

extern const SimdKernels GPT2_SIMD_KERNELS;
const SimdKernels GPT2_SIMD_KERNELS = {GPT2_SIMD_NAME, matvec, decodeAttention,
                                       causalSoftmax};

} // namespace gpt2rt::cpu
