// Gradient ops against central differences of the forward ops, in double.
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/GPT2/Differences.h"
#include "test/unit/GPT2/RegionEvaluator.h"

using namespace gpt2test;

namespace {

TEST(Gradient, OfEveryActivation) {
  constexpr int64_t columns = 64;
  RegionEvaluator evaluator;
  Matrix x(1, columns), dy = randomMatrix(1, columns, 1);
  // Not at 0, where relu has no derivative.
  for (int64_t j = 0; j < columns; ++j)
    x.at(0, j) = (j - 31.5) / 31.5 * (j % 2 ? 4 : 12);
  for (std::string kind : {"gelu_tanh", "gelu_erf", "gelu_fast", "quick_gelu",
                           "relu", "silu", "tanh"}) {
    SCOPED_TRACE(kind);
    std::string forward = "func.func @k(%x: tensor<1x64xf32>) -> "
                          "tensor<1x64xf32> {\n  %y = gpt2.activation " +
                          kind +
                          " %x : tensor<1x64xf32>\n"
                          "  return %y : tensor<1x64xf32>\n}";
    std::string backward =
        "func.func @k(%dy: tensor<1x64xf32>, %x: tensor<1x64xf32>) -> "
        "tensor<1x64xf32> {\n  %dx = gpt2.activation_grad " +
        kind +
        " %dy, %x : tensor<1x64xf32>\n"
        "  return %dx : tensor<1x64xf32>\n}";
    Matrix expected = differentiate(
        [&](const Matrix &at) {
          return dot(evaluator.run(forward, {at}, 1)[0], dy);
        },
        x);
    expectNear(evaluator.run(backward, {dy, x}, 1)[0], expected);
  }
}

TEST(Gradient, OfLayerNorm) {
  constexpr int64_t rows = 3, columns = 5;
  const std::string forward = R"(
func.func @k(%x: tensor<3x5xf32>, %g: tensor<5xf32>, %b: tensor<5xf32>)
    -> (tensor<3x5xf32>, tensor<3x1xf32>, tensor<3x1xf32>) {
  %y, %m, %r = gpt2.layer_norm %x, %g, %b epsilon 1.0e-5
    : (tensor<3x5xf32>, tensor<5xf32>, tensor<5xf32>)
    -> (tensor<3x5xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  return %y, %m, %r : tensor<3x5xf32>, tensor<3x1xf32>, tensor<3x1xf32>
})";
  const std::string backward = R"(
func.func @k(%dy: tensor<3x5xf32>, %x: tensor<3x5xf32>, %g: tensor<5xf32>,
             %m: tensor<3x1xf32>, %r: tensor<3x1xf32>)
    -> (tensor<3x5xf32>, tensor<5x2xf32>, tensor<5x2xf32>) {
  %dx, %dg, %db = gpt2.layer_norm_grad %dy, %x, %g, %m, %r
    : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<5xf32>, tensor<3x1xf32>,
       tensor<3x1xf32>) -> (tensor<3x5xf32>, tensor<5x2xf32>, tensor<5x2xf32>)
  return %dx, %dg, %db : tensor<3x5xf32>, tensor<5x2xf32>, tensor<5x2xf32>
})";
  RegionEvaluator evaluator;
  Matrix dy = randomMatrix(rows, columns, 1);
  Matrices in = {randomMatrix(rows, columns, 2), randomMatrix(1, columns, 3),
                 randomMatrix(1, columns, 4)};
  Matrices out = evaluator.run(forward, in, rows);
  Matrices gradients =
      evaluator.run(backward, {dy, in[0], in[1], out[1], out[2]}, rows);
  ASSERT_EQ(gradients.size(), 3u);
  for (int which = 0; which < 3; ++which) {
    SCOPED_TRACE(which);
    Matrix expected = differentiate(
        [&](const Matrix &at) {
          Matrices moved = in;
          moved[which] = at;
          return dot(evaluator.run(forward, moved, rows)[0], dy);
        },
        in[which]);
    expectNear(gradients[which], expected);
  }
}

// Rows 1 and 3 are not scored: their targets are -1 and in the padding.
TEST(Gradient, OfCrossEntropy) {
  constexpr int64_t rows = 4, columns = 8, vocab = 6;
  const std::string forward = R"(
func.func @k(%l: tensor<4x8xf32>, %t: tensor<4xi32>) -> tensor<4xf32> {
  %y = gpt2.cross_entropy %l, %t vocab 6
    : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
})";
  const std::string backward = R"(
func.func @k(%l: tensor<4x8xf32>, %t: tensor<4xi32>, %p: tensor<16xf32>,
             %s: tensor<8xf32>)
    -> (tensor<4xf32>, tensor<1x2xf32>, tensor<4x8xf32>) {
  %y, %sum, %dl = gpt2.cross_entropy_grad %l, %t, %p, %s vocab 6
    : tensor<4x8xf32>, tensor<4xi32> -> tensor<4xf32>, tensor<1x2xf32>
  return %y, %sum, %dl : tensor<4xf32>, tensor<1x2xf32>, tensor<4x8xf32>
})";
  RegionEvaluator evaluator;
  Matrix logits = randomMatrix(rows, columns, 1), targets(rows, 1);
  targets.data = {0, -1, vocab - 1, vocab + 1};
  Matrix parameters(16, 1), state(8, 1);
  parameters.at(1) = 0.25;
  state.at(0) = 64;
  auto losses = [&](const Matrix &at) {
    return evaluator.run(forward, {at, targets}, rows)[0];
  };
  Matrices out =
      evaluator.run(backward, {logits, targets, parameters, state}, rows);
  expectNear(out[0], losses(logits));
  double sum = dot(losses(logits), Matrix(rows, 1, 1.0));
  expectNear(out[1], Matrix(1, 1, sum));
  Matrix weight(rows, 1, 0.25 * 64);
  Matrix expected = differentiate(
      [&](const Matrix &at) { return dot(losses(at), weight); }, logits);
  expectNear(out[2], expected);
  for (int64_t j = 0; j < columns; ++j) {
    EXPECT_EQ(out[2].at(1, j), 0);
    EXPECT_EQ(out[2].at(3, j), 0);
    if (j >= vocab)
      EXPECT_EQ(out[2].at(0, j), 0);
  }
}

// The bias gradient: a column result and what finishes one of two blocks.
TEST(Gradient, ColumnSums) {
  constexpr int64_t rows = 4, columns = 3;
  RegionEvaluator evaluator;
  Matrix x = randomMatrix(rows, columns, 1), expected(1, columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      expected.at(0, j) += x.at(i, j);
  expectNear(evaluator.run(R"(
func.func @k(%x: tensor<4x3xf32>) -> tensor<3x2xf32> {
  %p = gpt2.column_sum %x : tensor<4x3xf32> -> tensor<3x2xf32>
  return %p : tensor<3x2xf32>
})",
                           {x}, rows)[0],
             expected);

  Matrix partials = randomMatrix(3, 2, 2), sums = randomMatrix(3, 1, 3);
  Matrix finished = sums;
  for (int64_t i = 0; i < 3; ++i)
    finished.at(i) += partials.at(i, 0) + partials.at(i, 1);
  expectNear(evaluator.run(R"(
func.func @k(%p: tensor<3x2xf32>, %acc: tensor<3xf32>) -> tensor<3xf32> {
  %y = gpt2.column_finish %p into %acc : tensor<3x2xf32>, tensor<3xf32>
  return %y : tensor<3xf32>
})",
                           {partials, sums}, 3)[0],
             finished);
}

// What fuse makes of an activation's gradient and a bias gradient.
TEST(Gradient, AFusedRegionYieldsAColumnResult) {
  RegionEvaluator evaluator;
  Matrix dy = randomMatrix(4, 3, 1), x = randomMatrix(4, 3, 2);
  Matrices out = evaluator.run(R"(
func.func @k(%dy: tensor<4x3xf32>, %x: tensor<4x3xf32>)
    -> (tensor<3x2xf32>, tensor<4x3xf32>) {
  %sums, %dx = gpt2.fused row (%a = %dy : tensor<4x3xf32>,
                               %b = %x : tensor<4x3xf32>)
      -> (tensor<3x2xf32>, tensor<4x3xf32>) {
    %0 = gpt2.activation_grad relu %a, %b : tensor<4x3xf32>
    %1 = gpt2.column_sum %0 : tensor<4x3xf32> -> tensor<3x2xf32>
    gpt2.yield %1, %0 : tensor<3x2xf32>, tensor<4x3xf32>
  }
  return %sums, %dx : tensor<3x2xf32>, tensor<4x3xf32>
})",
                               {dy, x}, 4);
  Matrix expected(4, 3), sums(1, 3);
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 3; ++j) {
      expected.at(i, j) = x.at(i, j) > 0 ? dy.at(i, j) : 0;
      sums.at(0, j) += expected.at(i, j);
    }
  expectNear(out[0], sums);
  expectNear(out[1], expected);
}

} // namespace
