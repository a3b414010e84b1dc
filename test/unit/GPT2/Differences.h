// Gradients by central differences, and how tests compare with them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/unit/GPT2/Matrix.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>

namespace gpt2test {

/// d f / d x by central differences, element by element. Their error is about
/// step^2 times the third derivative, or 1e-16 / step.
inline Matrix differentiate(const std::function<double(const Matrix &)> &f,
                            const Matrix &x) {
  constexpr double step = 1e-5;
  Matrix gradient(x.rows, x.columns), at = x;
  for (size_t i = 0; i < x.data.size(); ++i) {
    at.data[i] = x.data[i] + step;
    double above = f(at);
    at.data[i] = x.data[i] - step;
    gradient.data[i] = (above - f(at)) / (2 * step);
    at.data[i] = x.data[i];
  }
  return gradient;
}

inline double dot(const Matrix &a, const Matrix &b) {
  double sum = 0;
  for (size_t i = 0; i < a.data.size(); ++i)
    sum += a.data[i] * b.data[i];
  return sum;
}

/// Constants of f32 in the regions differ from real ones by 6e-8, relatively.
inline void expectNear(const Matrix &actual, const Matrix &expected) {
  ASSERT_EQ(actual.rows, expected.rows);
  ASSERT_EQ(actual.columns, expected.columns);
  for (int64_t i = 0; i < actual.rows; ++i)
    for (int64_t j = 0; j < actual.columns; ++j)
      EXPECT_NEAR(actual.at(i, j), expected.at(i, j),
                  1e-7 * std::max(1.0, std::abs(expected.at(i, j))))
          << "at " << i << ", " << j;
}

} // namespace gpt2test
