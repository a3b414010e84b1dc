//===- CpuAgreementTest.cpp - Both code generators give the same bits -----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The same row kernels as CUDA text, run on the host, and as machine code of
// the CPU target. Maps must agree to the bit, but for the rounding of what CUDA
// approximates. Sums may differ in their order
// alone: where every order gives the exact sum, the bits agree again;
// elsewhere the difference stays below what two orders can differ by.
//
//===----------------------------------------------------------------------===//
#include "BothTargets.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace gpt2test;

namespace {

std::string type(int64_t rows, int64_t columns, const std::string &element) {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) +
         "x" + element + ">";
}

const DType floats[] = {DType::F32, DType::BF16, DType::F16};

std::string elementName(DType type) { return Tensor(type, 1, 1).mlirElement(); }

/// Values from tiny to huge, with the special ones in front.
Tensor spread(DType type, int64_t rows, int64_t columns) {
  const double special[] = {0.0,    -0.0,   INFINITY, -INFINITY, NAN,
                            1e-40,  -1e-40, 88.8,     -104.0,    65504.0,
                            3.4e38, 1.0,    -1.0};
  std::mt19937 engine(9);
  std::normal_distribution<double> normal(0.0, 3.0);
  return Tensor::make(type, rows, columns, [&](int64_t i, int64_t j) {
    size_t k = i * columns + j;
    double value = normal(engine);
    return k < std::size(special) ? special[k]
           : k % 5 == 0           ? value * std::pow(10, value)
                                  : value;
  });
}

TEST(CpuAgreement, ActivationsAreEqual) {
  const char *kinds[] = {"gelu_tanh", "gelu_erf", "gelu_fast", "quick_gelu",
                         "relu",      "silu",     "tanh"};
  const std::set<std::string> exact = {"gelu_erf", "relu", "tanh"};
  constexpr int64_t rows = 37;
  std::string text;
  for (const char *kind : kinds)
    for (DType element : floats)
      for (int64_t columns : {1, 20, 96}) {
        std::string t = type(rows, columns, elementName(element));
        text += std::string("func.func @") + kind + elementName(element) +
                std::to_string(columns) + "(%x: " + t + ") -> " + t +
                " {\n  %y = gpt2.activation " + kind + " %x : " + t +
                "\n  return %y : " + t + "\n}\n";
      }
  BothTargets both(text);
  for (const char *kind : kinds)
    for (DType element : floats)
      for (int64_t columns : {1, 20, 96}) {
        std::string name =
            kind + elementName(element) + std::to_string(columns);
        Tensor x = spread(element, rows, columns);
        if (exact.count(kind) == 0) // -inf / exp(inf) is no number on CUDA
          for (int64_t i = 0; i < rows * columns; ++i)
            if (x.at(i / columns, i % columns) == -INFINITY)
              x.set(i / columns, i % columns, NAN);
        both.run(name, {x}, {Tensor(element, rows, columns)}, rows);
        if (element == DType::F32 || exact.count(kind) != 0)
          both.expectEqualBits(name);
        else
          both.expectEqualRounding(name);
      }
}

// Rounding, sums of two and fused chains: what lies between two matmuls. A
// kernel takes its arguments in the order of their first use.
TEST(CpuAgreement, CastsAndFusedMapsAreEqual) {
  constexpr int64_t rows = 11, columns = 24;
  std::string f = type(rows, columns, "f32"), text;
  for (const char *element : {"bf16", "f16"}) {
    std::string h = type(rows, columns, element);
    text += std::string("func.func @narrow_") + element + "(%x: " + f +
            ") -> " + h + " {\n  %y = gpt2.cast %x : " + f + " to " + h +
            "\n  return %y : " + h + "\n}\nfunc.func @fused_" + element +
            "(%b: " + h + ", %a: " + f + ") -> (" + f + ", " + h +
            ") {\n  %r, %y = gpt2.fused row (%b0 = %b : " + h +
            ", %a0 = %a : " + f + ") -> (" + f + ", " + h +
            ") {\n    %w = gpt2.cast %b0 : " + h + " to " + f +
            "\n    %s = gpt2.add %a0, %w : " + f +
            "\n    %c = gpt2.cast %s : " + f + " to " + h +
            "\n    %g = gpt2.activation gelu_tanh %c : " + h +
            "\n    gpt2.yield %s, %g : " + f + ", " + h +
            "\n  }\n  return "
            "%r, %y : " +
            f + ", " + h + "\n}\n";
  }
  BothTargets both(text);
  for (DType element : {DType::BF16, DType::F16}) {
    Tensor wide = spread(DType::F32, rows, columns);
    both.run("narrow_" + elementName(element), {wide},
             {Tensor(element, rows, columns)}, rows);
    both.expectEqualBits("narrow_" + elementName(element));
    both.run(
        "fused_" + elementName(element),
        {Tensor::random(element, rows, columns, 5), wide},
        {Tensor(DType::F32, rows, columns), Tensor(element, rows, columns)},
        rows);
    both.expectEqualRounding("fused_" + elementName(element));
  }
}

TEST(CpuAgreement, TablesAreEqualToTheBit) {
  constexpr int64_t rows = 6, columns = 40;
  BothTargets both(R"(
func.func @prompt(%t: tensor<6xi32>, %wte: tensor<7x40xbf16>,
    %wpe: tensor<5x40xf32>, %s: tensor<1xi32>) -> tensor<6x40xf32> {
  %x = gpt2.embed %t, %wte, %wpe at %s batch 1 : tensor<6xi32>,
    tensor<7x40xbf16>, tensor<5x40xf32>, tensor<1xi32> -> tensor<6x40xf32>
  return %x : tensor<6x40xf32>
}
func.func @sequences(%t: tensor<6xi32>, %wte: tensor<7x40xf32>,
    %wpe: tensor<5x40xf32>) -> tensor<6x40xf32> {
  %x = gpt2.embed %t, %wte, %wpe batch 2
    : tensor<6xi32>, tensor<7x40xf32>, tensor<5x40xf32> -> tensor<6x40xf32>
  return %x : tensor<6x40xf32>
}
func.func @last(%x: tensor<6x40xf16>, %n: tensor<1xi32>) -> tensor<1x40xf16> {
  %y = gpt2.select_row %x at %n : tensor<6x40xf16> -> tensor<1x40xf16>
  return %y : tensor<1x40xf16>
})");
  // Two tokens are none of the table's and are clamped.
  Tensor tokens = Tensor::make(DType::I32, rows, 1, [](int64_t i, int64_t) {
    return i == 4 ? 99 : i == 5 ? -3 : i;
  });
  Tensor start =
      Tensor::make(DType::I32, 1, 1, [](int64_t, int64_t) { return 2; });
  Tensor positions = Tensor::random(DType::F32, 5, columns, 2);
  Tensors wide = {Tensor(DType::F32, rows, columns)};
  both.run(
      "prompt",
      {tokens, Tensor::random(DType::BF16, 7, columns, 1), positions, start},
      wide, rows);
  both.expectEqualBits("prompt");
  both.run("sequences",
           {tokens, Tensor::random(DType::F32, 7, columns, 1), positions}, wide,
           rows);
  both.expectEqualBits("sequences");
  both.run("last", {Tensor::random(DType::F16, rows, columns, 3), start},
           {Tensor(DType::F16, 1, columns)}, 1);
  both.expectEqualBits("last");
}

/// @k: y = layer_norm(x) rounded to `element`, with its statistics.
std::string layerNorm(int64_t rows, int64_t columns, DType element) {
  std::string x = type(rows, columns, "f32"), one = type(rows, 1, "f32"),
              y = type(rows, columns, elementName(element));
  std::string vector = "tensor<" + std::to_string(columns) + "xf32>";
  bool narrow = element != DType::F32;
  return "func.func @k(%x: " + x + ", %g: " + vector + ", %b: " + vector +
         ") -> (" + y + ", " + one + ", " + one +
         ") {\n  %y, %m, %r = gpt2.fused row (%x0 = %x : " + x +
         ", %g0 = %g : " + vector + ", %b0 = %b : " + vector + ") -> (" + y +
         ", " + one + ", " + one +
         ") {\n    %n, %mean, %rstd = gpt2.layer_norm %x0, %g0, %b0 "
         "epsilon 1.0e-5 : (" +
         x + ", " + vector + ", " + vector + ") -> (" + x + ", " + one + ", " +
         one + ")\n" +
         (narrow ? "    %c = gpt2.cast %n : " + x + " to " + y + "\n" : "") +
         "    gpt2.yield " + (narrow ? "%c" : "%n") + ", %mean, %rstd : " + y +
         ", " + one + ", " + one + "\n  }\n  return %y, %m, %r : " + y + ", " +
         one + ", " + one + "\n}\n";
}

/// Roundings on the longest path of a sum of `columns` values: the CPU's 64
/// partial sums and what is left over, a CUDA lane's 64 values or 512 threads'
/// shares of a longer row, and the trees that join them.
double height(int64_t columns) { return columns / 64 + 96; }

constexpr double unit = 0x1p-24;

struct NormCase {
  int64_t columns;
  DType element;
};
void PrintTo(const NormCase &c, std::ostream *stream) {
  *stream << c.columns << elementName(c.element);
}

class Norms : public testing::TestWithParam<NormCase> {
protected:
  /// Runs x of `rows` rows and leaves {y, mean, rstd}.
  void runNorm(BothTargets &both, const Tensor &x) {
    gamma = Tensor::random(DType::F32, 1, x.columns, 3);
    both.run("k", {x, gamma, Tensor::random(DType::F32, 1, x.columns, 4)},
             {Tensor(GetParam().element, x.rows, x.columns),
              Tensor(DType::F32, x.rows, 1), Tensor(DType::F32, x.rows, 1)},
             x.rows);
  }
  Tensor gamma = Tensor(DType::F32, 1, 1);
};
// Lanes of a warp, of several, a block in shared memory, and a streamed row.
INSTANTIATE_TEST_SUITE_P(
    , Norms,
    testing::Values(NormCase{7, DType::F32}, NormCase{64, DType::F16},
                    NormCase{768, DType::BF16}, NormCase{1600, DType::F32},
                    NormCase{6000, DType::BF16}, NormCase{33000, DType::F32}));

// x and -x in turn around an integer: the mean is that integer, deviations and
// their squares are small integers, and no order of summing rounds.
TEST_P(Norms, ExactSumsAreEqualToTheBit) {
  constexpr int64_t rows = 3;
  int64_t columns = GetParam().columns;
  Tensor x = Tensor::make(DType::F32, rows, columns, [&](int64_t i, int64_t j) {
    int64_t pair = j / 2, size = (pair * 7 + i) % 12;
    bool alone = columns % 2 && j == columns - 1;
    return 5.0 * i + (alone ? 0 : j % 2 ? size : -size);
  });
  BothTargets both(layerNorm(rows, columns, GetParam().element));
  runNorm(both, x);
  for (int64_t i = 0; i < rows; ++i)
    ASSERT_EQ(both.onCpu[1].at(i), 5.0 * i);
  both.expectEqualBits("layer_norm");
}

TEST_P(Norms, OtherSumsDifferByTheirOrderAlone) {
  constexpr int64_t rows = 3;
  int64_t columns = GetParam().columns;
  Tensor x = Tensor::random(DType::F32, rows, columns, 1);
  BothTargets both(layerNorm(rows, columns, GetParam().element));
  runNorm(both, x);
  const double h = height(columns);
  for (int64_t i = 0; i < rows; ++i) {
    double mean = 0, size = 0, variance = 0;
    for (int64_t j = 0; j < columns; ++j) {
      mean += x.at(i, j) / columns;
      size += std::abs(x.at(i, j)) / columns;
    }
    for (int64_t j = 0; j < columns; ++j)
      variance += std::pow(x.at(i, j) - mean, 2) / columns;
    // Each of two sums is off by at most h roundings of the sum of sizes. The
    // variance moves with the square of the mean's error only, as deviations
    // from the mean cancel.
    double meanError = 2 * h * unit * size;
    double relative = (h + 4) * unit + 2 * meanError * meanError / variance;
    double rstd = 1 / std::sqrt(variance + 1e-5);
    ASSERT_NEAR(both.onCuda[1].at(i), both.onCpu[1].at(i), meanError);
    ASSERT_NEAR(both.onCuda[2].at(i), both.onCpu[2].at(i), relative * rstd);
    for (int64_t j = 0; j < columns; ++j) {
      double deviation = std::abs(x.at(i, j) - mean);
      double y = both.onCpu[0].at(i, j);
      double bound = std::abs(gamma.at(0, j)) * rstd *
                         (meanError + deviation * (relative + 4 * unit)) +
                     2 * both.onCpu[0].roundingError() * std::abs(y);
      ASSERT_NEAR(both.onCuda[0].at(i, j), y, bound) << i << ", " << j;
    }
  }
}

struct LossCase {
  int64_t vocab, padded;
};
void PrintTo(const LossCase &c, std::ostream *stream) { *stream << c.vocab; }

class Losses : public testing::TestWithParam<LossCase> {
protected:
  static constexpr int64_t rows = 3;

  /// Runs `logits`; the middle row is not scored.
  void runLoss(BothTargets &both, const Tensor &logits) {
    Tensor targets = Tensor::make(DType::I32, rows, 1, [&](int64_t i, int64_t) {
      return i == 1 ? -1 : i * (GetParam().vocab - 1) / 2;
    });
    both.run("k", {logits, targets}, {Tensor(DType::F32, rows, 1)}, rows);
  }
  static std::string text() {
    std::string logits = type(rows, GetParam().padded, "f32");
    return "func.func @k(%l: " + logits +
           ", %t: tensor<3xi32>) -> tensor<3xf32> {\n  %y = gpt2.cross_entropy "
           "%l, %t vocab " +
           std::to_string(GetParam().vocab) + " : (" + logits +
           ", tensor<3xi32>) -> tensor<3xf32>\n  return %y : tensor<3xf32>\n}";
  }
};
INSTANTIATE_TEST_SUITE_P(, Losses,
                         testing::Values(LossCase{5, 7}, LossCase{371, 384},
                                         LossCase{50257, 50304}));

// Exponentials of 1 and of next to nothing: their sum is an integer.
TEST_P(Losses, ExactSumsAreEqualToTheBit) {
  BothTargets both(text());
  runLoss(both, Tensor::make(DType::F32, rows, GetParam().padded,
                             [&](int64_t i, int64_t j) {
                               return (i + j) % 3 ? 4.0 : -200.0;
                             }));
  both.expectEqualBits("cross_entropy");
}

TEST_P(Losses, OtherSumsDifferByTheirOrderAlone) {
  BothTargets both(text());
  Tensor logits = Tensor::random(DType::F32, rows, GetParam().padded, 8);
  runLoss(both, logits);
  ASSERT_EQ(both.onCuda[0].at(1), 0.0);
  for (int64_t i = 0; i < rows; ++i) {
    // The log's own value and the maximum are added to it: one rounding each.
    double bound = 2 * height(GetParam().padded) * unit +
                   4 * unit * (16 + std::abs(both.onCpu[0].at(i)));
    ASSERT_NEAR(both.onCuda[0].at(i), both.onCpu[0].at(i), bound);
  }
}

} // namespace
