// A matrix of doubles for references and finite differences.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace gpt2test {

/// A matrix of doubles; integers are doubles, too.
struct Matrix {
  Matrix(int64_t rows, int64_t columns, double value = 0)
      : rows(rows), columns(columns), data(rows * columns, value) {}

  double &at(int64_t i, int64_t j = 0) { return data[i * columns + j]; }
  double at(int64_t i, int64_t j = 0) const { return data[i * columns + j]; }

  int64_t rows, columns;
  std::vector<double> data;
};

using Matrices = std::vector<Matrix>;

/// A matrix of reproducible numbers around 0.
inline Matrix randomMatrix(int64_t rows, int64_t columns, unsigned seed) {
  Matrix matrix(rows, columns);
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(0.1, 1.5);
  for (double &value : matrix.data)
    value = normal(engine);
  return matrix;
}

} // namespace gpt2test
