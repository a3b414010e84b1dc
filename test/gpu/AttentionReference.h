//===- AttentionReference.h - Attention in fp64 -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace gpt2rt::gputest {

/// out = softmax(q K^T * scale) V for one query over `keys` keys, each
/// `stride` elements after the one before.
inline void attend(const float *query, const float *key, const float *value,
                   int64_t stride, int64_t keys, int64_t headSize, double scale,
                   double *out) {
  std::vector<double> weights(keys);
  double largest = -HUGE_VAL, sum = 0;
  for (int64_t k = 0; k < keys; ++k) {
    double dot = 0;
    for (int64_t d = 0; d < headSize; ++d)
      dot += double(query[d]) * key[k * stride + d];
    weights[k] = dot * scale;
    largest = std::max(largest, weights[k]);
  }
  for (double &weight : weights)
    sum += weight = std::exp(weight - largest);
  std::fill(out, out + headSize, 0.0);
  for (int64_t k = 0; k < keys; ++k)
    for (int64_t d = 0; d < headSize; ++d)
      out[d] += weights[k] / sum * value[k * stride + d];
}

/// |a - b| / |b|; infinite where a holds a NaN.
inline double relativeError(const std::vector<float> &a,
                            const std::vector<double> &b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  double error = std::sqrt(difference / norm);
  return std::isnan(error) ? HUGE_VAL : error;
}

} // namespace gpt2rt::gputest
