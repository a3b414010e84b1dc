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
// Registers of partial sums of a dot product; `lanes` sums at every width.
constexpr int64_t lanes = 32;
constexpr int64_t parts = lanes / width;
// Weight rows read side by side: more streams than one hide the page walks.
constexpr int64_t rowsPerBlock = 4;

using Vec [[gnu::vector_size(width * 4)]] = float;
using VecInMemory
    [[gnu::vector_size(width * 4), gnu::aligned(4), gnu::may_alias]] = float;
using HalfInMemory
    [[gnu::vector_size(width * 2), gnu::aligned(2), gnu::may_alias]] = uint16_t;
using Bits [[gnu::vector_size(width * 4)]] = uint32_t;

struct F32 {
  using Storage = float;
  static float load(const Storage *p) { return *p; }
  static Vec loadVec(const Storage *p) {
    return *reinterpret_cast<const VecInMemory *>(p);
  }
  static Storage store(float value) { return value; }
};

struct BF16 {
  using Storage = uint16_t;
  static float load(const Storage *p) { return bfloat16ToFloat(*p); }
  static Vec loadVec(const Storage *p) {
    auto half = *reinterpret_cast<const HalfInMemory *>(p);
    return (Vec)(__builtin_convertvector(half, Bits) << 16);
  }
  static Storage store(float value) { return floatToBFloat16(value); }
};

// Sums the lanes pairwise, halving; the same order at every width.
float sumLanes(const Vec (&v)[parts]) {
  float part[lanes];
  std::memcpy(part, v, sizeof(part));
  for (int64_t half = lanes / 2; half; half /= 2)
    for (int64_t i = 0; i < half; ++i)
      part[i] += part[i + half];
  return part[0];
}

template <typename T>
float dot(const typename T::Storage *a, const typename T::Storage *b,
          int64_t k) {
  Vec acc[parts] = {};
  int64_t i = 0;
  for (; i + lanes <= k; i += lanes)
    for (int64_t p = 0; p < parts; ++p)
      acc[p] += T::loadVec(a + i + p * width) * T::loadVec(b + i + p * width);
  float tail = 0;
  for (; i < k; ++i)
    tail += T::load(a + i) * T::load(b + i);
  return sumLanes(acc) + tail;
}

// ROWS rows of x against rowsPerBlock weight rows.
template <typename T, int ROWS>
void matvecBlock(const MatvecArgs &args, int64_t firstRow, int64_t n,
                 float (&sums)[ROWS][rowsPerBlock]) {
  using S = typename T::Storage;
  const int64_t k = args.k;
  const S *x = static_cast<const S *>(args.x) + firstRow * k;
  const S *w = static_cast<const S *>(args.weight) + n * k;
  Vec acc[ROWS][rowsPerBlock][parts] = {};
  int64_t i = 0;
  for (; i + lanes <= k; i += lanes) {
#pragma GCC unroll 4
    for (int64_t p = 0; p < parts; ++p) {
      Vec weight[rowsPerBlock];
#pragma GCC unroll 4
      for (int64_t j = 0; j < rowsPerBlock; ++j)
        weight[j] = T::loadVec(w + j * k + i + p * width);
#pragma GCC unroll 4
      for (int r = 0; r < ROWS; ++r) {
        Vec value = T::loadVec(x + r * k + i + p * width);
#pragma GCC unroll 4
        for (int64_t j = 0; j < rowsPerBlock; ++j)
          acc[r][j][p] += value * weight[j];
      }
    }
  }
  for (int r = 0; r < ROWS; ++r)
    for (int64_t j = 0; j < rowsPerBlock; ++j) {
      float tail = 0;
      for (int64_t t = i; t < k; ++t)
        tail += T::load(x + r * k + t) * T::load(w + j * k + t);
      sums[r][j] = sumLanes(acc[r][j]) + tail;
    }
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

template <typename T, int ROWS>
void matvecRows(const MatvecArgs &args, int64_t firstRow, int64_t begin,
                int64_t end) {
  using S = typename T::Storage;
  int64_t n = begin;
  for (; n + rowsPerBlock <= end; n += rowsPerBlock) {
    float sums[ROWS][rowsPerBlock];
    matvecBlock<T, ROWS>(args, firstRow, n, sums);
    for (int r = 0; r < ROWS; ++r)
      for (int64_t j = 0; j < rowsPerBlock; ++j)
        storeOut<T>(args, firstRow + r, n + j, sums[r][j]);
  }
  for (; n < end; ++n)
    for (int r = 0; r < ROWS; ++r) {
      const S *x = static_cast<const S *>(args.x) + (firstRow + r) * args.k;
      const S *w = static_cast<const S *>(args.weight) + n * args.k;
      storeOut<T>(args, firstRow + r, n, dot<T>(x, w, args.k));
    }
}

template <typename T>
void matvecTyped(const MatvecArgs &args, int64_t begin, int64_t end) {
  // Blocks of weight rows small enough to stay in the first-level cache while
  // the rows of x pass over them.
  int64_t row = 0;
  for (; row + 4 <= args.rows; row += 4)
    matvecRows<T, 4>(args, row, begin, end);
  for (; row + 2 <= args.rows; row += 2)
    matvecRows<T, 2>(args, row, begin, end);
  for (; row < args.rows; ++row)
    matvecRows<T, 1>(args, row, begin, end);
}

void matvec(const MatvecArgs &args, int64_t begin, int64_t end) {
  // A few weight rows at a time pass through the cache for all rows of x.
  int64_t step = args.rows > 1 ? 8 : end - begin;
  for (int64_t n = begin; n < end; n += step) {
    int64_t last = std::min(n + step, end);
    if (args.type == DType::F32)
      matvecTyped<F32>(args, n, last);
    else
      matvecTyped<BF16>(args, n, last);
  }
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
    for (int64_t p = 0; p < parts; ++p)
      sums[p] += F32::loadVec(v + i + p * width);
  }
  float tail = 0;
  for (; i < count; ++i) {
    v[i] = expNonPositive(v[i] * scale - largest);
    tail += v[i];
  }
  return sumLanes(sums) + tail;
}

template <typename T>
void decodeAttentionTyped(const DecodeAttentionArgs &args) {
  using S = typename T::Storage;
  const int64_t d = args.headSize;
  auto *query = static_cast<const S *>(args.query);
  auto *keys = static_cast<const S *>(args.keys);
  auto *values = static_cast<const S *>(args.values);
  for (int64_t i = 0; i < args.length; ++i)
    args.scores[i] = dot<T>(query, keys + i * d, d);
  float sum = softmaxWeights(args.scores, args.length, args.scale);
  float acc[maxHeadSize];
  std::fill_n(acc, d, 0.0f);
  for (int64_t i = 0; i < args.length; ++i) {
    float weight = args.scores[i];
    const S *value = values + i * d;
    for (int64_t j = 0; j < d; ++j)
      acc[j] += weight * T::load(value + j);
  }
  auto *out = static_cast<S *>(args.out);
  for (int64_t j = 0; j < d; ++j)
    out[j] = T::store(acc[j] / sum);
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
