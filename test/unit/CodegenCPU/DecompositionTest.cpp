// The decompositions of the gpt2 dialect, compiled and compared with double
// arithmetic, for widths that do and do not fill vectors.
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/CodegenCPU/KernelHarness.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace gpt2test;

namespace {

/// |actual - expected| within `error` plus one rounding of the output.
void expectNear(const Tensor &actual, int64_t i, int64_t j, double expected,
                double error) {
  double allowed = error + std::abs(expected) * actual.roundingError() * 1.01 +
                   (actual.type == DType::F16 ? 0x1p-25 : 0);
  ASSERT_NEAR(actual.at(i, j), expected, allowed) << "at " << i << ", " << j;
}

std::string type(int64_t rows, int64_t columns, const std::string &element) {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) +
         "x" + element + ">";
}

class Widths : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(, Widths,
                         testing::Values(1, 5, 64, 96, 768, 1600, 50304),
                         testing::PrintToStringParamName());

/// @k: r = a + b in f32, y = layer_norm(r) rounded to `element`.
std::string residualNorm(int64_t rows, int64_t columns,
                         const std::string &element) {
  std::string x = type(rows, columns, "f32"), y = type(rows, columns, element);
  std::string one = type(rows, 1, "f32");
  std::string vector = "tensor<" + std::to_string(columns) + "xf32>";
  std::string rounded = element == "f32" ? "%n" : "%c";
  return "func.func @k(%a: " + x + ", %b: " + x + ", %g: " + vector +
         ", %be: " + vector + ") -> (" + x + ", " + y + ") {\n" +
         "  %r, %y = gpt2.fused row (%a0 = %a : " + x + ", %b0 = %b : " + x +
         ", %g0 = %g : " + vector + ", %be0 = %be : " + vector + ") -> (" + x +
         ", " + y + ") {\n" + "    %s = gpt2.add %a0, %b0 : " + x + "\n" +
         "    %n, %m, %d = gpt2.layer_norm %s, %g0, %be0 epsilon 1.0e-5 : (" +
         x + ", " + vector + ", " + vector + ") -> (" + x + ", " + one + ", " +
         one + ")\n" +
         (element == "f32"
              ? ""
              : "    %c = gpt2.cast %n : " + x + " to " + y + "\n") +
         "    gpt2.yield %s, " + rounded + " : " + x + ", " + y + "\n  }\n" +
         "  return %r, %y : " + x + ", " + y + "\n}\n";
}

TEST_P(Widths, ResidualAndLayerNorm) {
  constexpr int64_t rows = 3;
  int64_t columns = GetParam();
  for (DType element : {DType::F32, DType::BF16, DType::F16}) {
    Tensors inputs = {Tensor::random(DType::F32, rows, columns, 1),
                      Tensor::random(DType::F32, rows, columns, 2),
                      Tensor::random(DType::F32, 1, columns, 3),
                      Tensor::random(DType::F32, 1, columns, 4)};
    Tensors shapes = {Tensor(DType::F32, rows, columns),
                      Tensor(element, rows, columns)};
    Tensors out =
        runKernel(residualNorm(rows, columns, shapes[1].mlirElement()), inputs,
                  shapes, rows);
    for (int64_t i = 0; i < rows; ++i) {
      double mean = 0, variance = 0;
      for (int64_t j = 0; j < columns; ++j)
        mean += out[0].at(i, j) / columns;
      for (int64_t j = 0; j < columns; ++j)
        variance += std::pow(out[0].at(i, j) - mean, 2) / columns;
      for (int64_t j = 0; j < columns; ++j) {
        expectNear(out[0], i, j, inputs[0].at(i, j) + inputs[1].at(i, j), 0);
        double y = (out[0].at(i, j) - mean) / std::sqrt(variance + 1e-5) *
                       inputs[2].at(0, j) +
                   inputs[3].at(0, j);
        expectNear(out[1], i, j, y, 2e-5);
      }
    }
  }
}

struct Activation {
  const char *name;
  double (*value)(double);
};

double geluTanh(double x) {
  return 0.5 * x *
         (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

const Activation activations[] = {
    {"gelu_tanh", geluTanh},
    {"gelu_fast", geluTanh},
    {"gelu_erf",
     [](double x) { return 0.5 * x * (1 + std::erf(x / M_SQRT2)); }},
    {"quick_gelu", [](double x) { return x * sigmoid(1.702 * x); }},
    {"relu", [](double x) { return x > 0 ? x : 0; }},
    {"silu", [](double x) { return x * sigmoid(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
};

// Errors are relative to |x|, which bounds every one of these functions.
TEST(Decomposition, Activations) {
  constexpr int64_t rows = 2, columns = 3003;
  for (const Activation &activation : activations) {
    for (DType element : {DType::F32, DType::BF16, DType::F16}) {
      SCOPED_TRACE(activation.name);
      Tensors inputs = {
          Tensor::make(element, rows, columns, [&](int64_t i, int64_t j) {
            double x = (2.0 * j / columns - 1) * (i ? 100 : 8);
            return x;
          })};
      std::string t = type(rows, columns, inputs[0].mlirElement());
      Tensors out =
          runKernel("func.func @k(%x: " + t + ") -> " + t +
                        " {\n  %y = gpt2.activation " + activation.name +
                        " %x : " + t + "\n  return %y : " + t + "\n}",
                    inputs, {Tensor(element, rows, columns)}, rows);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          double x = inputs[0].at(i, j);
          expectNear(out[0], i, j, activation.value(x),
                     4e-7 * std::max(1.0, std::abs(x)));
        }
    }
  }
}

TEST_P(Widths, EmbeddingOfAPromptAtItsPosition) {
  constexpr int64_t rows = 4, vocab = 7, positions = 6;
  int64_t columns = GetParam();
  Tensors inputs = {
      Tensor::make(DType::I32, rows, 1,
                   [](int64_t i, int64_t) {
                     return i == 3 ? 99 : i == 2 ? -5 : 3 * i;
                   }),
      Tensor::make(DType::I32, 1, 1, [](int64_t, int64_t) { return 3; }),
      Tensor::random(DType::BF16, vocab, columns, 1),
      Tensor::random(DType::F32, positions, columns, 2)};
  std::string tokens = "tensor<4xi32>", wte = type(vocab, columns, "bf16"),
              wpe = type(positions, columns, "f32"),
              out = type(rows, columns, "f32");
  std::string text =
      "func.func @k(%t: " + tokens + ", %wte: " + wte + ", %wpe: " + wpe +
      ", %s: tensor<1xi32>) -> " + out +
      " {\n  %x = gpt2.embed %t, %wte, %wpe at %s batch 1 : " + tokens + ", " +
      wte + ", " + wpe + ", tensor<1xi32> -> " + out +
      "\n  return %x : " + out + "\n}";
  // The kernel's arguments are in the order of the op's operands.
  std::swap(inputs[1], inputs[2]);
  std::swap(inputs[2], inputs[3]);
  Tensors result =
      runKernel(text, inputs, {Tensor(DType::F32, rows, columns)}, rows);
  const int64_t token[] = {0, 3, 0, vocab - 1};
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      expectNear(result[0], i, j,
                 inputs[1].at(token[i], j) +
                     inputs[2].at(std::min<int64_t>(3 + i, positions - 1), j),
                 0);
}

// Rows count from 0 in each of two sequences of three tokens.
TEST(Decomposition, EmbeddingOfWholeSequences) {
  constexpr int64_t rows = 6, columns = 48;
  Tensors inputs = {
      Tensor::make(DType::I32, rows, 1, [](int64_t i, int64_t) { return i; }),
      Tensor::random(DType::F32, 8, columns, 1),
      Tensor::random(DType::F32, 4, columns, 2)};
  Tensors result = runKernel(R"(
func.func @k(%t: tensor<6xi32>, %wte: tensor<8x48xf32>, %wpe: tensor<4x48xf32>)
    -> tensor<6x48xf32> {
  %x = gpt2.embed %t, %wte, %wpe batch 2
    : tensor<6xi32>, tensor<8x48xf32>, tensor<4x48xf32> -> tensor<6x48xf32>
  return %x : tensor<6x48xf32>
})",
                             inputs, {Tensor(DType::F32, rows, columns)}, rows);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      expectNear(result[0], i, j, inputs[1].at(i, j) + inputs[2].at(i % 3, j),
                 0);
}

TEST_P(Widths, SelectRowTakesTheLastValidRow) {
  int64_t columns = GetParam();
  std::string x = type(5, columns, "bf16"), y = type(1, columns, "bf16");
  std::string text = "func.func @k(%x: " + x + ", %n: tensor<1xi32>) -> " + y +
                     " {\n  %y = gpt2.select_row %x at %n : " + x + " -> " + y +
                     "\n  return %y : " + y + "\n}";
  for (int64_t count : {1, 4, 5, 9}) {
    Tensors inputs = {Tensor::random(DType::BF16, 5, columns, 1),
                      Tensor::make(DType::I32, 1, 1,
                                   [&](int64_t, int64_t) { return count; })};
    Tensors result =
        runKernel(text, inputs, {Tensor(DType::BF16, 1, columns)}, 1);
    for (int64_t j = 0; j < columns; ++j)
      ASSERT_EQ(result[0].at(0, j),
                inputs[0].at(std::min<int64_t>(count, 5) - 1, j));
  }
}

// Padding holds huge values that must take no part; row 1 is not scored.
TEST(Decomposition, CrossEntropyLeavesPaddingAndUnscoredRowsOut) {
  struct Shape {
    int64_t vocab, padded;
  };
  for (Shape shape : {Shape{1, 1}, Shape{100, 128}, Shape{50257, 50304}}) {
    constexpr int64_t rows = 4;
    Tensors inputs = {Tensor::random(DType::F32, rows, shape.padded, 1),
                      Tensor(DType::I32, rows, 1)};
    const int64_t targets[] = {0, -1, shape.vocab / 2, shape.vocab - 1};
    for (int64_t i = 0; i < rows; ++i) {
      inputs[1].set(i, 0, targets[i]);
      for (int64_t j = shape.vocab; j < shape.padded; ++j)
        inputs[0].set(i, j, 1e30);
    }
    std::string logits = type(rows, shape.padded, "f32");
    Tensors result =
        runKernel("func.func @k(%l: " + logits +
                      ", %t: tensor<4xi32>) -> tensor<4xf32> {\n  %y = "
                      "gpt2.cross_entropy %l, %t vocab " +
                      std::to_string(shape.vocab) + " : (" + logits +
                      ", tensor<4xi32>) -> tensor<4xf32>\n  return %y : "
                      "tensor<4xf32>\n}",
                  inputs, {Tensor(DType::F32, rows, 1)}, rows);
    for (int64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < shape.vocab; ++j)
        sum += std::exp(inputs[0].at(i, j));
      double loss =
          targets[i] < 0 ? 0 : std::log(sum) - inputs[0].at(i, targets[i]);
      expectNear(result[0], i, 0, loss, 3e-6);
    }
  }
}

// Every bit pattern of a 16-bit type, ties, subnormals and overflow.
TEST(Decomposition, CastsRoundToNearestEven) {
  std::mt19937 engine(3);
  for (DType element : {DType::BF16, DType::F16}) {
    Tensor x(DType::F32, 64, 2048), wide(DType::F32, 64, 2048);
    for (size_t i = 0; i < x.bytes.size(); i += 4) {
      uint32_t bits = engine();
      if (i % 3 == 0)
        bits &= 0xffff8000; // ties of bf16
      else if (i % 3 == 1)
        bits = (bits & 0x8fffffff) | 0x30000000; // the range of f16
      std::memcpy(&x.bytes[i], &bits, 4);
    }
    std::string f = type(64, 2048, "f32");
    std::string h = type(64, 2048, Tensor(element, 1, 1).mlirElement());
    std::string cast = "func.func @k(%x: " + f + ") -> " + h +
                       " {\n  %y = gpt2.cast %x : " + f + " to " + h +
                       "\n  return %y : " + h + "\n}";
    Tensors y = runKernel(cast, {x}, {Tensor(element, 64, 2048)}, 64);
    std::string back = "func.func @k(%x: " + h + ") -> " + f +
                       " {\n  %y = gpt2.cast %x : " + h + " to " + f +
                       "\n  return %y : " + f + "\n}";
    Tensors z = runKernel(back, y, {wide}, 64);
    Tensor expected(element, 64, 2048);
    for (int64_t i = 0; i < 64; ++i)
      for (int64_t j = 0; j < 2048; ++j) {
        expected.set(i, j, x.at(i, j));
        if (std::isnan(x.at(i, j))) {
          ASSERT_TRUE(std::isnan(y[0].at(i, j)));
          continue;
        }
        ASSERT_EQ(y[0].at(i, j), expected.at(i, j)) << x.at(i, j);
        ASSERT_EQ(z[0].at(i, j), y[0].at(i, j));
      }
  }
}

} // namespace
