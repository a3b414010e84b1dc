// The training ops' decompositions, compiled, against their evaluation in
// double.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Device/DropoutMath.h"
#include "test/unit/CodegenCPU/KernelHarness.h"
#include "test/unit/GPT2/RegionEvaluator.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace gpt2test;

namespace {

Matrix matrixOf(const Tensor &tensor) {
  Matrix matrix(tensor.rows, tensor.columns);
  for (int64_t i = 0; i < tensor.rows; ++i)
    for (int64_t j = 0; j < tensor.columns; ++j)
      matrix.at(i, j) = tensor.at(i, j);
  return matrix;
}

/// A vector as an argument of @k, a matrix otherwise.
std::string typeOf(const Tensor &tensor, bool isVector = false) {
  std::string rows = std::to_string(tensor.rows) + "x";
  std::string columns = std::to_string(tensor.columns) + "x";
  return "tensor<" + (isVector ? "" : rows) +
         (isVector && tensor.columns == 1 ? rows : columns) +
         tensor.mlirElement() + ">";
}

/// A kernel of one op: what it reads and writes, and how often it is called.
struct Kernel {
  std::string text;
  Tensors inputs;
  Tensors outputs; ///< column results are [columns, blocks]
  int64_t rows;
  int64_t blocks = 0; ///< of column results, which are the last outputs
};

/// Column results add up to the sum over all rows; other results are equal to
/// double arithmetic within `error`, relative to numbers above 1, and one
/// rounding of their type.
void check(const Kernel &kernel, double error) {
  Tensors actual = runKernel(kernel.text, kernel.inputs, kernel.outputs,
                             kernel.blocks != 0 ? kernel.blocks : kernel.rows);
  RegionEvaluator evaluator;
  Matrices inputs;
  for (const Tensor &input : kernel.inputs)
    inputs.push_back(matrixOf(input));
  Matrices expected = evaluator.run(kernel.text, inputs, kernel.rows);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < actual.size(); ++k) {
    SCOPED_TRACE(testing::Message() << "result " << k);
    Matrix have = matrixOf(actual[k]), want = expected[k];
    bool isColumn = kernel.blocks && want.rows == 1;
    if (isColumn) {
      Matrix sums(1, have.rows);
      for (int64_t j = 0; j < have.rows; ++j)
        for (int64_t b = 0; b < have.columns; ++b)
          sums.at(0, j) += have.at(j, b);
      have = sums;
    }
    ASSERT_EQ(have.data.size(), want.data.size());
    for (size_t i = 0; i < want.data.size(); ++i) {
      double size = std::abs(want.data[i]);
      double allowed = error * std::max(1.0, size) +
                       size * actual[k].roundingError() * 1.01 +
                       (actual[k].type == DType::F16 ? 0x1p-25 : 0);
      ASSERT_NEAR(have.data[i], want.data[i], allowed) << "element " << i;
    }
  }
}

/// @k: returns the results of `op`, whose operands are %0, %1, ...
std::string program(const std::string &op, const std::vector<std::string> &in,
                    const std::vector<std::string> &out) {
  std::string arguments, results, values;
  for (size_t i = 0; i < in.size(); ++i)
    arguments += (i ? ", %" : "%") + std::to_string(i) + ": " + in[i];
  for (size_t i = 0; i < out.size(); ++i) {
    results += (i ? ", " : "") + out[i];
    values += (i ? ", %r#" : "%r#") + std::to_string(i);
  }
  return "func.func @k(" + arguments + ") -> (" + results +
         ") {\n  %r:" + std::to_string(out.size()) + " = " + op +
         "\n  return " + values + " : " + results + "\n}";
}

Tensor stepParameters() {
  return Tensor::make(DType::F32, 16, 1, [](int64_t i, int64_t) {
    const double values[] = {1e-3, 0.25, 0.1, 0.9,     0.99, 1e-8,
                             1.0,  0.1,  0.2, 1000000, 0.1,  0.01};
    return i < 12 ? values[i] : 0;
  });
}

Tensor trainState() {
  return Tensor::make(DType::F32, 8, 1, [](int64_t i, int64_t) {
    const double values[] = {8, 1999, 0, 0, 0.125, 0, 5, 1};
    return values[i];
  });
}

Tensor randomState() {
  return Tensor::make(DType::I32, 4, 1, [](int64_t i, int64_t) {
    return i == 1 ? -123456789 : 7 * i + 1;
  });
}

class TrainingWidths : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(, TrainingWidths, testing::Values(1, 5, 64, 203, 768),
                         testing::PrintToStringParamName());

TEST_P(TrainingWidths, Dropout) {
  for (DType element : {DType::F32, DType::BF16, DType::F16}) {
    Tensor x = Tensor::random(element, 6, GetParam(), 1);
    Tensor rng = randomState();
    Tensor key = Tensor::make(DType::I32, 1, 1,
                              [](int64_t, int64_t) { return -987654321; });
    std::string type = typeOf(x);
    check({program("gpt2.dropout %0, %1, %2 probability 0.3 batch 2 : " + type,
                   {type, "tensor<4xi32>", "tensor<1xi32>"}, {type}),
           {x, rng, key},
           {x},
           6},
          2e-7);
  }
}

TEST_P(TrainingWidths, LayerNormGradient) {
  constexpr int64_t rows = 11, blocks = 3;
  int64_t columns = GetParam();
  for (DType element : {DType::F32, DType::BF16}) {
    Tensor dy = Tensor::random(element, rows, columns, 1);
    Tensor x = Tensor::random(DType::F32, rows, columns, 2);
    Tensor gamma = Tensor::random(DType::F32, 1, columns, 3);
    Tensor mean = Tensor::random(DType::F32, rows, 1, 4);
    Tensor rstd = Tensor::make(
        DType::F32, rows, 1, [](int64_t i, int64_t) { return 0.3 + i / 20.; });
    Tensor sums(DType::F32, columns, blocks);
    std::vector<std::string> in = {typeOf(dy), typeOf(x), typeOf(gamma, true),
                                   typeOf(mean), typeOf(rstd)};
    std::vector<std::string> out = {typeOf(x), typeOf(sums), typeOf(sums)};
    std::string op = "gpt2.layer_norm_grad %0, %1, %2, %3, %4 : (" + in[0] +
                     ", " + in[1] + ", " + in[2] + ", " + in[3] + ", " + in[4] +
                     ") -> (" + out[0] + ", " + out[1] + ", " + out[2] + ")";
    check({program(op, in, out),
           {dy, x, gamma, mean, rstd},
           {x, sums, sums},
           rows,
           blocks},
          3e-5);
  }
}

// A region as fuse makes it: the dropped gradient and its column sums. A row's
// number is the same in a row block as in the whole.
TEST_P(TrainingWidths, FusedDropoutAndBiasGradient) {
  constexpr int64_t rows = 12, blocks = 5;
  Tensor dy = Tensor::random(DType::F32, rows, GetParam(), 1);
  Tensor rng = randomState();
  Tensor key =
      Tensor::make(DType::I32, 1, 1, [](int64_t, int64_t) { return 77; });
  Tensor low(DType::BF16, rows, GetParam()),
      sums(DType::F32, GetParam(), blocks);
  std::string type = typeOf(dy), lowType = typeOf(low), sumType = typeOf(sums);
  std::string op = "gpt2.fused row (%a = %0 : " + type +
                   ", %b = %1 : tensor<4xi32>, %c = %2 : tensor<1xi32>) -> (" +
                   lowType + ", " + sumType +
                   ") {\n    %d = gpt2.dropout %a, %b, %c probability 0.5 " +
                   "batch 4 : " + type + "\n    %s = gpt2.column_sum " +
                   "%d : " + type + " -> " + sumType +
                   "\n    %l = gpt2.cast %d : " + type + " to " + lowType +
                   "\n    gpt2.yield %l, %s : " + lowType + ", " + sumType +
                   "\n  }";
  check({program(op, {type, "tensor<4xi32>", "tensor<1xi32>"},
                 {lowType, sumType}),
         {dy, rng, key},
         {low, sums},
         rows,
         blocks},
        3e-6);
}

TEST_P(TrainingWidths, AdamW) {
  constexpr int64_t rows = 4;
  int64_t columns = GetParam();
  Tensor p = Tensor::random(DType::F32, rows, columns, 1);
  Tensor v = Tensor::make(DType::F32, rows, columns, [](int64_t i, int64_t j) {
    return (i + 1) * (j % 7) * 1e-3;
  });
  for (DType element : {DType::BF16, DType::F16}) {
    Tensor low(element, rows, columns);
    std::string type = typeOf(p);
    check({program("gpt2.adamw %0, %1, %2, %3, %4, %5 {decay} : " + type +
                       " -> " + typeOf(low),
                   {type, type, type, type, "tensor<16xf32>", "tensor<8xf32>"},
                   {type, type, type, type, typeOf(low)}),
           {p, Tensor::random(DType::F32, rows, columns, 2), v,
            Tensor::random(DType::F32, rows, columns, 3), stepParameters(),
            trainState()},
           {p, p, p, p, low},
           rows},
          1e-6);
  }
}

TEST_P(TrainingWidths, SquareSum) {
  constexpr int64_t rows = 9, blocks = 4;
  Tensor g = Tensor::random(DType::F32, rows, GetParam(), 1);
  Tensor sums(DType::F32, 1, blocks);
  std::string type = typeOf(g), sumType = typeOf(sums);
  check({program("gpt2.square_sum %0, %1 : " + type + " -> " + sumType,
                 {type, "tensor<8xf32>"}, {sumType}),
         {g, trainState()},
         {sums},
         rows,
         blocks},
        1e-5);
}

TEST_P(TrainingWidths, ColumnFinish) {
  Tensor partials = Tensor::random(DType::F32, 10, GetParam(), 1);
  Tensor sums = Tensor::random(DType::F32, 10, 1, 2);
  std::string type = typeOf(partials), vector = typeOf(sums, true);
  check({program("gpt2.column_finish %0 into %1 : " + type + ", " + vector,
                 {type, vector}, {vector}),
         {partials, sums},
         {sums},
         10},
        2e-5);
}

TEST(Training, DropoutKeys) {
  Tensor rng = randomState(), key(DType::I32, 1, 1);
  int32_t slot[4];
  std::memcpy(slot, rng.bytes.data(), sizeof slot);
  const int32_t ids[] = {0, 5, 145};
  Tensors keys =
      runKernel(program("gpt2.dropout_keys %0 ids [0, 5, 145] : tensor<1xi32>, "
                        "tensor<1xi32>, tensor<1xi32>",
                        {"tensor<4xi32>"},
                        {"tensor<1xi32>", "tensor<1xi32>", "tensor<1xi32>"}),
                {rng}, {key, key, key}, 1);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(keys[i].at(0),
              static_cast<int32_t>(gpt2rt::dropoutKey(slot, ids[i])));
}

TEST(Training, ActivationGradients) {
  constexpr int64_t rows = 2, columns = 1001;
  for (DType element : {DType::F32, DType::BF16, DType::F16})
    for (std::string kind : {"gelu_tanh", "gelu_erf", "gelu_fast", "quick_gelu",
                             "relu", "silu", "tanh"}) {
      SCOPED_TRACE(kind);
      Tensor x = Tensor::make(element, rows, columns,
                              [&](int64_t i, int64_t j) -> double {
                                return (2.0 * j / columns - 1) * (i ? 90 : 8);
                              });
      Tensor dy = Tensor::random(element, rows, columns, 1);
      std::string type = typeOf(x);
      check({program("gpt2.activation_grad " + kind + " %0, %1 : " + type,
                     {type, type}, {type}),
             {dy, x},
             {x},
             rows},
            1e-6);
    }
}

TEST(Training, CrossEntropyGradient) {
  constexpr int64_t rows = 5, blocks = 2;
  struct Shape {
    int64_t vocab, padded;
  };
  for (Shape shape : {Shape{1, 1}, Shape{100, 128}, Shape{50257, 50304}})
    for (DType element : {DType::F32, DType::BF16}) {
      Tensor logits = Tensor::random(element, rows, shape.padded, 1);
      Tensor targets(DType::I32, rows, 1);
      const int64_t labels[] = {0, -1, shape.vocab / 2, shape.vocab - 1,
                                shape.vocab};
      for (int64_t i = 0; i < rows; ++i)
        targets.set(i, 0, labels[i]);
      Tensor losses(DType::F32, rows, 1), total(DType::F32, 1, blocks);
      std::string type = typeOf(logits);
      check({program("gpt2.cross_entropy_grad %0, %1, %2, %3 vocab " +
                         std::to_string(shape.vocab) + " : " + type +
                         ", tensor<5xi32> -> tensor<5xf32>, " + typeOf(total),
                     {type, "tensor<5xi32>", "tensor<16xf32>", "tensor<8xf32>"},
                     {"tensor<5xf32>", typeOf(total), type}),
             {logits, targets, stepParameters(), trainState()},
             {losses, total, logits},
             rows,
             blocks},
            6e-6);
    }
}

TEST(Training, StepState) {
  for (double norm : {0.25, 3.0, 2e6}) {
    Tensor squared = Tensor::make(
        DType::F32, 1, 1, [&](int64_t, int64_t) { return norm * norm; });
    check({program("gpt2.step_state %0, %1, %2 {dynamic}",
                   {"tensor<1xf32>", "tensor<16xf32>", "tensor<8xf32>"},
                   {"tensor<8xf32>"}),
           {squared, stepParameters(), trainState()},
           {Tensor(DType::F32, 8, 1)},
           8},
          1e-6);
  }
}

} // namespace
