//===- Attention.cpp - Softmax of attention, decode, and its gradient -----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CPU/Simd/Lanes.h"
#include "runtime/Device/DropoutMath.h"

namespace gpt2rt::cpu::GPT2_SIMD_NAMESPACE {

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

struct Softmax {
  float largest; // score, scaled
  float sum;     // of the weights, the largest being 1
};

// Replaces v[0, count) by exp(v * scale - largest).
Softmax softmaxWeights(float *v, int64_t count, float scale) {
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
  return {largest, sumLanes(sums) + tail};
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
  float total = softmaxWeights(args.scores, args.length, args.scale).sum;
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

// `lanes` numbers of a row. Rows are rewritten in place as `type`, 16-bit
// values over the floats before those still to be read: whole blocks are loaded
// first.
using Block = float[lanes];

inline void loadBlock(const float *from, int64_t count, Block &block) {
  std::memcpy(block, from, static_cast<size_t>(count) * sizeof(float));
}

template <typename T>
void storeBlock(const Block &block, typename T::Storage *to, int64_t count) {
  typename T::Storage rounded[lanes];
  for (int64_t i = 0; i < lanes; ++i)
    rounded[i] = T::store(block[i]);
  std::memcpy(to, rounded, static_cast<size_t>(count) * sizeof(*to));
}

// What dropout multiplies a query's weights with, from a column on: 0 or the
// scale.
inline void dropFactors(AttentionDropout dropout, uint32_t query,
                        int64_t column, Block &factors) {
  auto first = static_cast<uint32_t>(column);
  for (uint32_t i = 0; i < lanes; ++i)
    factors[i] = dropoutKeeps(query, first + i, dropout.threshold)
                     ? dropout.scale
                     : 0.0f;
}

inline uint32_t queryHash(const AttentionDropout &dropout, int64_t row) {
  return dropoutQuery(dropout.sample,
                      dropout.position + static_cast<uint32_t>(row),
                      dropout.head);
}

// Rounds a row's weights in place, drops some, and returns what divides their
// product with the values: the sum of the weights as they were rounded. With
// the exact sum the rounding errors of weights that are alike would add up and
// scale the whole result by up to 2^-9.
template <typename T>
float roundWeights(float *row, int64_t count, const AttentionDropout &dropout,
                   uint32_t query) {
  auto *out = reinterpret_cast<typename T::Storage *>(row);
  Block sums = {};
  for (int64_t j = 0; j < count; j += lanes) {
    int64_t n = std::min(lanes, count - j);
    Block weights = {};
    loadBlock(row + j, n, weights);
    for (int64_t i = 0; i < lanes; ++i) {
      auto rounded = T::store(weights[i]);
      weights[i] = T::load(&rounded);
      sums[i] += weights[i];
    }
    for (int64_t i = 0; dropout.threshold && i < n; ++i)
      if (!dropoutKeeps(query, static_cast<uint32_t>(j + i), dropout.threshold))
        weights[i] = 0;
    storeBlock<T>(weights, out + j, n);
  }
  for (int64_t half = lanes / 2; half; half /= 2)
    for (int64_t i = 0; i < half; ++i)
      sums[i] += sums[i + half];
  return dropout.threshold ? sums[0] / dropout.scale : sums[0];
}

template <typename T>
void causalSoftmaxTyped(const CausalSoftmaxArgs &args) {
  using S = typename T::Storage;
  for (int64_t r = 0; r < args.rows; ++r) {
    float *row = args.scores + r * args.stride;
    int64_t count = std::min(args.visible + r + 1, args.columns);
    Softmax softmax = softmaxWeights(row, count, args.scale);
    if (args.lse)
      args.lse[r * args.lseStride] = softmax.largest + std::log(softmax.sum);
    args.sums[r] =
        roundWeights<T>(row, count, args.dropout, queryHash(args.dropout, r));
    S *out = reinterpret_cast<S *>(row);
    std::fill(out + count, out + args.columns, S(0));
  }
}

void causalSoftmax(const CausalSoftmaxArgs &args) {
  if (args.type == DType::F32)
    causalSoftmaxTyped<F32>(args);
  else
    causalSoftmaxTyped<BF16>(args);
}

template <typename T>
void divideRowsTyped(const DivideRowsArgs &args) {
  auto *out = static_cast<typename T::Storage *>(args.out);
  for (int64_t r = 0; r < args.rows; ++r, out += args.outStride) {
    const float *values = args.values + r * args.columns;
    float inverse = 1.0f / args.sums[r];
    for (int64_t c = 0; c < args.columns; ++c)
      out[c] = T::store(values[c] * inverse);
  }
}

void divideRows(const DivideRowsArgs &args) {
  if (args.type == DType::F32)
    divideRowsTyped<F32>(args);
  else
    divideRowsTyped<BF16>(args);
}

template <typename T>
void softmaxGradTyped(const SoftmaxGradArgs &args) {
  using S = typename T::Storage;
  const float scale = args.scale;
  for (int64_t r = 0; r < args.rows; ++r) {
    float *scores = args.scores + r * args.stride;
    float *gradients = args.gradients + r * args.stride;
    int64_t count = std::min(args.visible + r + 1, args.columns);
    float lse = args.lse[r * args.lseStride];
    // What the gradients of a row's weights have in common, dropped or not.
    float mean = dot<T>(static_cast<const S *>(args.out) + r * args.outStride,
                        static_cast<const S *>(args.dout) + r * args.outStride,
                        args.headSize);
    uint32_t query = queryHash(args.dropout, r);
    S *weightsOut = reinterpret_cast<S *>(scores);
    S *gradientsOut = reinterpret_cast<S *>(gradients);
    for (int64_t j = 0; j < count; j += lanes) {
      int64_t n = std::min(lanes, count - j);
      Block p = {}, g = {}, weights;
      loadBlock(scores + j, n, p);
      loadBlock(gradients + j, n, g);
      for (int64_t i = 0; i < lanes; ++i)
        weights[i] = p[i] = expNonPositive(p[i] * scale - lse);
      if (args.dropout.threshold) {
        Block factors;
        dropFactors(args.dropout, query, j, factors);
        for (int64_t i = 0; i < lanes; ++i) {
          weights[i] *= factors[i];
          g[i] *= factors[i];
        }
      }
      for (int64_t i = 0; i < lanes; ++i)
        g[i] = p[i] * (g[i] - mean) * scale;
      storeBlock<T>(weights, weightsOut + j, n);
      storeBlock<T>(g, gradientsOut + j, n);
    }
    std::fill(weightsOut + count, weightsOut + args.columns, S(0));
    std::fill(gradientsOut + count, gradientsOut + args.columns, S(0));
  }
}

void softmaxGrad(const SoftmaxGradArgs &args) {
  if (args.type == DType::F32)
    softmaxGradTyped<F32>(args);
  else
    softmaxGradTyped<BF16>(args);
}

} // namespace gpt2rt::cpu::GPT2_SIMD_NAMESPACE
