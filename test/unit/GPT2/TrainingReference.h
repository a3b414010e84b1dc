// Ops that have no decomposition, and their gradients, in double: what tests of
// the targets' instructions and templates may compare with. ReferenceTest holds
// the gradients to finite differences.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/unit/GPT2/Matrix.h"

#include <array>
#include <cstdint>

namespace gpt2test {

/// Causal attention of whole sequences; rows are (sequence, position).
struct Attention {
  int64_t batch, tokens, heads, headSize;
  double scale;
  float dropout = 0;
  uint32_t dropoutId = 0;
  std::array<int32_t, 4> rng = {};

  int64_t rows() const { return batch * tokens; }
  int64_t width() const { return heads * headSize; }

  struct Results {
    Matrix out; ///< [rows, width]
    Matrix lse; ///< [rows, heads]
  };
  Results forward(const Matrix &qkv) const;

  /// The gradient of the sum of out * dout, [rows, 3 * width].
  Matrix backward(const Matrix &qkv, const Matrix &dout) const;

private:
  /// One query's weights of the keys up to itself.
  struct Weights {
    std::vector<double> softmax; ///< before dropout
    std::vector<double> factors; ///< 0, or what a kept weight is multiplied by
    double lse;
  };
  Weights weightsOf(const Matrix &qkv, int64_t sequence, int64_t head,
                    int64_t query) const;
  double factorOf(int64_t sequence, int64_t head, int64_t query,
                  int64_t key) const;
};

/// x * transpose(weight) + bias (one row).
Matrix linear(const Matrix &x, const Matrix &weight, const Matrix &bias);

struct LinearGradient {
  Matrix dx, dweight, dbias;
};
LinearGradient linearGradient(const Matrix &x, const Matrix &weight,
                              const Matrix &dy);

struct EmbedGradient {
  Matrix dwte, dwpe;
};
/// Of `batch` sequences that start at position 0.
EmbedGradient embedGradient(const Matrix &dx, const std::vector<int> &tokens,
                            int64_t batch, int64_t vocab, int64_t positions);

} // namespace gpt2test
