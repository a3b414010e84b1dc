// Attention, linear and embed with their gradients in double.
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/GPT2/TrainingReference.h"

#include "runtime/Device/DropoutMath.h"

#include <algorithm>
#include <cmath>

namespace gpt2test {

double Attention::factorOf(int64_t sequence, int64_t head, int64_t query,
                           int64_t key) const {
  if (dropout == 0)
    return 1;
  uint32_t sample = gpt2rt::dropoutSample(
      gpt2rt::dropoutKey(rng.data(), dropoutId), rng.data(), sequence);
  bool isKept = gpt2rt::dropoutKeeps(gpt2rt::dropoutQuery(sample, query, head),
                                     key, gpt2rt::dropoutThreshold(dropout));
  return isKept ? 1 / (1 - double(dropout)) : 0;
}

Attention::Weights Attention::weightsOf(const Matrix &qkv, int64_t sequence,
                                        int64_t head, int64_t query) const {
  Weights weights;
  double top = -INFINITY, sum = 0;
  for (int64_t key = 0; key <= query; ++key) {
    double score = 0;
    for (int64_t d = 0; d < headSize; ++d)
      score += qkv.at(sequence * tokens + query, head * headSize + d) *
               qkv.at(sequence * tokens + key, width() + head * headSize + d);
    weights.softmax.push_back(score * scale);
    weights.factors.push_back(factorOf(sequence, head, query, key));
    top = std::max(top, score * scale);
  }
  for (double &weight : weights.softmax)
    sum += weight = std::exp(weight - top);
  for (double &weight : weights.softmax)
    weight /= sum;
  weights.lse = top + std::log(sum);
  return weights;
}

Attention::Results Attention::forward(const Matrix &qkv) const {
  Results results{Matrix(rows(), width()), Matrix(rows(), heads)};
  for (int64_t row = 0; row < rows(); ++row)
    for (int64_t head = 0; head < heads; ++head) {
      int64_t sequence = row / tokens, query = row % tokens;
      Weights weights = weightsOf(qkv, sequence, head, query);
      results.lse.at(row, head) = weights.lse;
      for (int64_t key = 0; key <= query; ++key)
        for (int64_t d = head * headSize; d < (head + 1) * headSize; ++d)
          results.out.at(row, d) +=
              weights.softmax[key] * weights.factors[key] *
              qkv.at(sequence * tokens + key, 2 * width() + d);
    }
  return results;
}

Matrix Attention::backward(const Matrix &qkv, const Matrix &dout) const {
  Matrix dqkv(rows(), 3 * width());
  for (int64_t row = 0; row < rows(); ++row)
    for (int64_t head = 0; head < heads; ++head) {
      int64_t first = row / tokens * tokens, query = row % tokens;
      int64_t begin = head * headSize, end = begin + headSize;
      Weights weights = weightsOf(qkv, row / tokens, head, query);
      // Of the softmax's results, and their weighted mean.
      std::vector<double> gradients(query + 1);
      double mean = 0;
      for (int64_t key = 0; key <= query; ++key) {
        for (int64_t d = begin; d < end; ++d)
          gradients[key] +=
              dout.at(row, d) * qkv.at(first + key, 2 * width() + d);
        gradients[key] *= weights.factors[key];
        mean += weights.softmax[key] * gradients[key];
      }
      for (int64_t key = 0; key <= query; ++key) {
        double weight = weights.softmax[key];
        double dscore = scale * weight * (gradients[key] - mean);
        for (int64_t d = begin; d < end; ++d) {
          dqkv.at(row, d) += dscore * qkv.at(first + key, width() + d);
          dqkv.at(first + key, width() + d) += dscore * qkv.at(row, d);
          dqkv.at(first + key, 2 * width() + d) +=
              weight * weights.factors[key] * dout.at(row, d);
        }
      }
    }
  return dqkv;
}

Matrix linear(const Matrix &x, const Matrix &weight, const Matrix &bias) {
  Matrix y(x.rows, weight.rows);
  for (int64_t i = 0; i < y.rows; ++i)
    for (int64_t j = 0; j < y.columns; ++j) {
      y.at(i, j) = bias.at(0, j);
      for (int64_t k = 0; k < x.columns; ++k)
        y.at(i, j) += x.at(i, k) * weight.at(j, k);
    }
  return y;
}

LinearGradient linearGradient(const Matrix &x, const Matrix &weight,
                              const Matrix &dy) {
  LinearGradient gradient{Matrix(x.rows, x.columns),
                          Matrix(weight.rows, weight.columns),
                          Matrix(1, weight.rows)};
  for (int64_t i = 0; i < dy.rows; ++i)
    for (int64_t j = 0; j < dy.columns; ++j) {
      gradient.dbias.at(0, j) += dy.at(i, j);
      for (int64_t k = 0; k < x.columns; ++k) {
        gradient.dx.at(i, k) += dy.at(i, j) * weight.at(j, k);
        gradient.dweight.at(j, k) += dy.at(i, j) * x.at(i, k);
      }
    }
  return gradient;
}

EmbedGradient embedGradient(const Matrix &dx, const std::vector<int> &tokens,
                            int64_t batch, int64_t vocab, int64_t positions) {
  EmbedGradient gradient{Matrix(vocab, dx.columns),
                         Matrix(positions, dx.columns)};
  int64_t length = dx.rows / batch;
  for (int64_t i = 0; i < dx.rows; ++i)
    for (int64_t j = 0; j < dx.columns; ++j) {
      gradient.dwte.at(tokens[i], j) += dx.at(i, j);
      gradient.dwpe.at(i % length, j) += dx.at(i, j);
    }
  return gradient;
}

} // namespace gpt2test
