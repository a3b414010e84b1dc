// The ops of an update against PyTorch's AdamW, clip_grad_norm_ and GradScaler
// as formulas in double.
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/GPT2/RegionEvaluator.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace gpt2test;

namespace {

constexpr double learningRate = 1e-3, decay = 0.1, beta1 = 0.9, beta2 = 0.999,
                 epsilon = 1e-8;

/// step_params of applied step `t`.
Matrix parametersOf(int64_t t) {
  Matrix parameters(16, 1);
  parameters.at(0) = learningRate;
  parameters.at(2) = decay;
  parameters.at(3) = beta1;
  parameters.at(4) = beta2;
  parameters.at(5) = epsilon;
  parameters.at(7) = 1 - std::pow(beta1, t);
  parameters.at(8) = std::sqrt(1 - std::pow(beta2, t));
  parameters.at(10) = 1 - beta1;
  parameters.at(11) = 1 - beta2;
  return parameters;
}

std::string adamw(bool hasDecay) {
  return std::string(R"(
func.func @k(%p: tensor<2x3xf32>, %m: tensor<2x3xf32>, %v: tensor<2x3xf32>,
             %g: tensor<2x3xf32>, %c: tensor<16xf32>, %s: tensor<8xf32>)
    -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>,
        tensor<2x3xbf16>) {
  %r:5 = gpt2.adamw %p, %m, %v, %g, %c, %s )") +
         (hasDecay ? "{decay}" : "") + R"(
    : tensor<2x3xf32> -> tensor<2x3xbf16>
  return %r#0, %r#1, %r#2, %r#3, %r#4 : tensor<2x3xf32>, tensor<2x3xf32>,
    tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xbf16>
})";
}

TEST(Update, AdamWIsPyTorchs) {
  RegionEvaluator evaluator;
  for (bool hasDecay : {false, true}) {
    Matrix p = randomMatrix(2, 3, 1), m(2, 3), v(2, 3), state(8, 1);
    Matrix wantedP = p, wantedM = m, wantedV = v;
    state.at(4) = 0.5;
    for (int64_t t = 1; t <= 5; ++t) {
      Matrix g = randomMatrix(2, 3, 10 + t);
      Matrices out = evaluator.run(adamw(hasDecay),
                                   {p, m, v, g, parametersOf(t), state}, 2);
      ASSERT_EQ(out.size(), 5u);
      p = out[0], m = out[1], v = out[2];
      for (size_t i = 0; i < p.data.size(); ++i) {
        double gradient = g.data[i] * 0.5;
        double &value = wantedP.data[i], &first = wantedM.data[i],
               &second = wantedV.data[i];
        if (hasDecay)
          value *= 1 - learningRate * decay;
        first = beta1 * first + (1 - beta1) * gradient;
        second = beta2 * second + (1 - beta2) * gradient * gradient;
        value -=
            learningRate / (1 - std::pow(beta1, t)) * first /
            (std::sqrt(second) / std::sqrt(1 - std::pow(beta2, t)) + epsilon);
        EXPECT_NEAR(p.data[i], value, 1e-12);
        EXPECT_NEAR(m.data[i], first, 1e-12);
        EXPECT_NEAR(v.data[i], second, 1e-12);
        EXPECT_EQ(out[3].data[i], 0);
        EXPECT_EQ(out[4].data[i], p.data[i]);
      }
    }
  }
}

// Not even a gradient that is not a number leaves a trace.
TEST(Update, ASkippedStepOnlyClearsGradients) {
  RegionEvaluator evaluator;
  Matrix p = randomMatrix(2, 3, 1), m = randomMatrix(2, 3, 2),
         v = randomMatrix(2, 3, 3), g(2, 3, std::nan("")), state(8, 1);
  state.at(2) = 1;
  Matrices out =
      evaluator.run(adamw(true), {p, m, v, g, parametersOf(1), state}, 2);
  EXPECT_EQ(out[0].data, p.data);
  EXPECT_EQ(out[1].data, m.data);
  EXPECT_EQ(out[2].data, v.data);
  EXPECT_EQ(out[3].data, Matrix(2, 3).data);
}

TEST(Update, SquareSumUnscales) {
  RegionEvaluator evaluator;
  Matrix g = randomMatrix(4, 3, 1), column = randomMatrix(4, 1, 2), state(8, 1);
  state.at(0) = 8;
  auto wanted = [](const Matrix &matrix) {
    double sum = 0;
    for (double value : matrix.data)
      sum += value * value / 64;
    return sum;
  };
  EXPECT_NEAR(evaluator
                  .run(R"(
func.func @k(%g: tensor<4x3xf32>, %s: tensor<8xf32>) -> tensor<1x2xf32> {
  %p = gpt2.square_sum %g, %s : tensor<4x3xf32> -> tensor<1x2xf32>
  return %p : tensor<1x2xf32>
})",
                       {g, state}, 4)[0]
                  .at(0),
              wanted(g), 1e-12);
  EXPECT_NEAR(evaluator
                  .run(R"(
func.func @k(%g: tensor<4xf32>, %s: tensor<8xf32>) -> tensor<1x2xf32> {
  %p = gpt2.square_sum %g, %s : tensor<4xf32> -> tensor<1x2xf32>
  return %p : tensor<1x2xf32>
})",
                       {column, state}, 4)[0]
                  .at(0),
              wanted(column), 1e-12);
}

class StepState : public testing::Test {
protected:
  /// The next state after a step whose gradients have the norm `norm`.
  Matrix step(const std::vector<double> &state, double norm, bool isDynamic) {
    Matrix before(8, 1), parameters(16, 1);
    before.data = state;
    parameters.at(6) = maxNorm;
    parameters.at(9) = guard;
    std::string text =
        "func.func @k(%n: tensor<1xf32>, %p: tensor<16xf32>, "
        "%s: tensor<8xf32>) -> tensor<8xf32> {\n  %r = gpt2.step_state %n, "
        "%p, %s" +
        std::string(isDynamic ? " {dynamic}" : "") +
        "\n  return %r : tensor<8xf32>\n}";
    return evaluator.run(text, {Matrix(1, 1, norm * norm), parameters, before},
                         8)[0];
  }

  RegionEvaluator evaluator;
  double maxNorm = 0, guard = 0;
  const double infinity = std::numeric_limits<double>::infinity();
};

TEST_F(StepState, ClipsAboveTheMaximumOnly) {
  Matrix state = step({8, 5, 1, 0, 0, 9, 10, 2}, 4, false);
  EXPECT_EQ(state.data, (std::vector<double>{8, 5, 0, 4, 1.0 / 8, 0, 11, 2}));
  maxNorm = 1;
  state = step({8, 5, 0, 0, 0, 0, 10, 2}, 4, false);
  EXPECT_NEAR(state.at(4), 1 / (4 + 1e-6) / 8, 1e-13);
  state = step({8, 5, 0, 0, 0, 0, 10, 2}, 0.5, false);
  EXPECT_EQ(state.at(4), 1.0 / 8);
}

TEST_F(StepState, SkipsWhatIsNotFinite) {
  maxNorm = 1;
  for (double norm : {infinity, std::nan("")}) {
    Matrix state = step({1, 0, 0, 0, 0, 0, 10, 2}, norm, false);
    EXPECT_EQ(state.at(0), 1);
    EXPECT_EQ(state.at(1), 0);
    EXPECT_EQ(state.at(2), 1);
    EXPECT_EQ(state.at(4), 0);
    EXPECT_EQ(state.at(6), 10);
    EXPECT_EQ(state.at(7), 3);
    state = step({1024, 77, 0, 0, 0, 0, 10, 2}, norm, true);
    EXPECT_EQ(state.at(0), 512);
    EXPECT_EQ(state.at(1), 0);
    EXPECT_EQ(state.at(2), 1);
    EXPECT_EQ(state.at(7), 3);
  }
}

TEST_F(StepState, TheLossScaleGrowsAfter2000Steps) {
  Matrix state = step({1024, 1998, 0, 0, 0, 0, 5, 0}, 1, true);
  EXPECT_EQ(state.at(0), 1024);
  EXPECT_EQ(state.at(1), 1999);
  state = step(state.data, 1, true);
  EXPECT_EQ(state.at(0), 2048);
  EXPECT_EQ(state.at(1), 0);
  EXPECT_EQ(state.at(2), 0);
  // The factor belongs to the scale that the gradients have.
  EXPECT_EQ(state.at(4), 1.0 / 1024);
}

// An outlier is skipped, but says nothing about the loss scale.
TEST_F(StepState, TheGuardSkipsOutliers) {
  guard = 3;
  Matrix state = step({1024, 77, 0, 0, 0, 0, 10, 2}, 3.5, true);
  EXPECT_EQ(state.data, (std::vector<double>{1024, 77, 1, 3.5, 0, 0, 10, 3}));
  state = step({1024, 77, 0, 0, 0, 0, 10, 2}, 3, true);
  EXPECT_EQ(state.at(2), 0);
  EXPECT_EQ(state.at(1), 78);
  guard = infinity;
  EXPECT_EQ(step({1, 0, 0, 0, 0, 0, 0, 0}, infinity, false).at(2), 1);
}

} // namespace
