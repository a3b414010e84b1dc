// Evaluates decompositions in double arithmetic, so that gradients can be
// compared with finite differences.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/MLIRContext.h"

#include <cstdint>
#include <string>
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
Matrix randomMatrix(int64_t rows, int64_t columns, unsigned seed);

class RegionEvaluator {
public:
  RegionEvaluator();

  /// Outlines the row kernel that function @k of `text` holds and runs it over
  /// all rows at once: inputs and results are in the order of the kernel, a
  /// column result is one row. Every float operation is done in double; a
  /// rounding to a narrower type is left out. Fails the test on an error.
  Matrices run(const std::string &text, const Matrices &inputs, int64_t rows);

private:
  mlir::MLIRContext context;
};

} // namespace gpt2test
