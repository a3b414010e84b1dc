// The gradients of TrainingReference.h against central differences.
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/GPT2/Differences.h"
#include "test/unit/GPT2/RegionEvaluator.h"
#include "test/unit/GPT2/TrainingReference.h"

using namespace gpt2test;

namespace {

TEST(Reference, AttentionGradient) {
  for (float dropout : {0.0f, 0.4f}) {
    SCOPED_TRACE(dropout);
    Attention attention{/*batch=*/2,           /*tokens=*/4,
                        /*heads=*/2,           /*headSize=*/3,
                        /*scale=*/0.6,         dropout,
                        /*dropoutId=*/5,
                        /*rng=*/{1, -2, 3, 40}};
    Matrix qkv = randomMatrix(attention.rows(), 3 * attention.width(), 1);
    Matrix dout = randomMatrix(attention.rows(), attention.width(), 2);
    Matrix expected = differentiate(
        [&](const Matrix &at) { return dot(attention.forward(at).out, dout); },
        qkv);
    expectNear(attention.backward(qkv, dout), expected);
  }
}

// Equal scores: the mean of the values so far, and the logarithm of their
// number plus the score.
TEST(Reference, AttentionOfEqualKeys) {
  Attention attention{1, 3, 1, 1, 0.5};
  Matrix qkv(3, 3, 2.0);
  qkv.at(0, 2) = 1;
  qkv.at(1, 2) = 5;
  qkv.at(2, 2) = 9;
  Attention::Results results = attention.forward(qkv);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(results.out.at(i), 1 + 2 * i, 1e-12);
    EXPECT_NEAR(results.lse.at(i), std::log(i + 1.0) + 2, 1e-12);
  }
}

TEST(Reference, LinearGradient) {
  Matrices in = {randomMatrix(3, 4, 1), randomMatrix(5, 4, 2),
                 randomMatrix(1, 5, 3)};
  Matrix dy = randomMatrix(3, 5, 4);
  LinearGradient gradient = linearGradient(in[0], in[1], dy);
  const Matrix *actual[] = {&gradient.dx, &gradient.dweight, &gradient.dbias};
  for (int which = 0; which < 3; ++which)
    expectNear(*actual[which],
               differentiate(
                   [&](const Matrix &at) {
                     Matrices moved = in;
                     moved[which] = at;
                     return dot(linear(moved[0], moved[1], moved[2]), dy);
                   },
                   in[which]));
}

// Against the decomposition of gpt2.embed; one token occurs twice.
TEST(Reference, EmbedGradient) {
  RegionEvaluator evaluator;
  Matrix tokens(4, 1), wte = randomMatrix(5, 3, 1), wpe = randomMatrix(3, 3, 2);
  tokens.data = {2, 0, 4, 2};
  Matrix dx = randomMatrix(4, 3, 3);
  auto loss = [&](const Matrix &wte, const Matrix &wpe) {
    return dot(evaluator.run(R"(
func.func @k(%t: tensor<4xi32>, %wte: tensor<5x3xf32>, %wpe: tensor<3x3xf32>)
    -> tensor<4x3xf32> {
  %x = gpt2.embed %t, %wte, %wpe batch 2
    : tensor<4xi32>, tensor<5x3xf32>, tensor<3x3xf32> -> tensor<4x3xf32>
  return %x : tensor<4x3xf32>
})",
                             {tokens, wte, wpe}, 4)[0],
               dx);
  };
  EmbedGradient gradient = embedGradient(dx, {2, 0, 4, 2}, 2, 5, 3);
  expectNear(
      gradient.dwte,
      differentiate([&](const Matrix &at) { return loss(at, wpe); }, wte));
  expectNear(
      gradient.dwpe,
      differentiate([&](const Matrix &at) { return loss(wte, at); }, wpe));
}

} // namespace
