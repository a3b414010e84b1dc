//===- Kernels.cpp - Matvec and the table of a level's loops --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CPU/Simd/Lanes.h"

namespace gpt2rt::cpu {
namespace GPT2_SIMD_NAMESPACE {

// Weight rows that are read side by side, half of the range apart: two long
// streams are what the hardware prefetches best (measured: 95% of the read
// bandwidth, while neighbouring rows, short streams of 4 KiB, reach half).
constexpr int64_t streams = 2;
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

} // namespace GPT2_SIMD_NAMESPACE

extern const SimdKernels GPT2_SIMD_KERNELS;
const SimdKernels GPT2_SIMD_KERNELS = {GPT2_SIMD_NAME,
                                       GPT2_SIMD_NAMESPACE::matvec,
                                       GPT2_SIMD_NAMESPACE::decodeAttention,
                                       GPT2_SIMD_NAMESPACE::causalSoftmax,
                                       GPT2_SIMD_NAMESPACE::divideRows,
                                       GPT2_SIMD_NAMESPACE::softmaxGrad};

} // namespace gpt2rt::cpu
