//===- TrainingAgreementTest.cpp - Training's kernels on both targets -----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What CpuAgreementTest.cpp does, for the maps of training: a mask of dropout
// or a step of AdamW must not depend on where it is computed.
//
//===----------------------------------------------------------------------===//
#include "BothTargets.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace gpt2test;

namespace {

const DType floats[] = {DType::F32, DType::BF16, DType::F16};

std::string typeOf(const Tensor &tensor) {
  return "tensor<" + std::to_string(tensor.rows) + "x" +
         std::to_string(tensor.columns) + "x" + tensor.mlirElement() + ">";
}

/// @name: the results of `op`, whose operands are %0, %1, ...
std::string function(const std::string &name, const std::string &op,
                     const std::vector<std::string> &in,
                     const std::vector<std::string> &out) {
  std::string arguments, results, values;
  for (size_t i = 0; i < in.size(); ++i)
    arguments += (i ? ", %" : "%") + std::to_string(i) + ": " + in[i];
  for (size_t i = 0; i < out.size(); ++i) {
    results += (i ? ", " : "") + out[i];
    values += (i ? ", %r#" : "%r#") + std::to_string(i);
  }
  return "func.func @" + name + "(" + arguments + ") -> (" + results +
         ") {\n  %r:" + std::to_string(out.size()) + " = " + op +
         "\n  return " + values + " : " + results + "\n}\n";
}

// Seeds and numbers wrap around.
TEST(TrainingAgreement, DropoutKeysAreEqualToTheBit) {
  BothTargets both(function("keys",
                            "gpt2.dropout_keys %0 ids [0, 145] : "
                            "tensor<1xi32>, tensor<1xi32>",
                            {"tensor<4xi32>"},
                            {"tensor<1xi32>", "tensor<1xi32>"}));
  Tensor key(DType::I32, 1, 1);
  both.run("keys",
           {Tensor::make(DType::I32, 4, 1,
                         [](int64_t i, int64_t) {
                           return i == 1 ? -123456789 : 2147483647 - i;
                         })},
           {key, key}, 1);
  both.expectEqualBits("keys");
  EXPECT_NE(both.onCpu[0].at(0), both.onCpu[1].at(0));
}

// Two sequences of three positions; sample numbers wrap around.
TEST(TrainingAgreement, DropoutIsEqualToTheBit) {
  constexpr int64_t rows = 6;
  std::string text;
  for (int64_t columns : {1, 20, 768})
    for (DType element : floats) {
      std::string type = typeOf(Tensor(element, rows, columns));
      text += function(
          "d" + std::to_string(columns) + Tensor(element, 1, 1).mlirElement(),
          "gpt2.dropout %0, %1, %2 probability 0.3 batch 2 : " + type,
          {type, "tensor<4xi32>", "tensor<1xi32>"}, {type});
    }
  BothTargets both(text);
  Tensor rng = Tensor::make(DType::I32, 4, 1, [](int64_t i, int64_t) {
    return i == 1 ? -123456789 : i == 3 ? 2147483647 : 7 * i + 1;
  });
  Tensor key = Tensor::make(DType::I32, 1, 1,
                            [](int64_t, int64_t) { return -987654321; });
  for (int64_t columns : {1, 20, 768})
    for (DType element : floats) {
      std::string name =
          "d" + std::to_string(columns) + Tensor(element, 1, 1).mlirElement();
      both.run(name, {Tensor::random(element, rows, columns, 1), rng, key},
               {Tensor(element, rows, columns)}, rows);
      both.expectEqualBits(name);
      if (columns < 768)
        continue;
      // A mask that keeps all or nothing would agree, too.
      double zeros = 0;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          zeros += both.onCpu[0].at(i, j) == 0;
      EXPECT_NEAR(zeros / (rows * columns), 0.3, 0.03);
    }
}

TEST(TrainingAgreement, ActivationGradientsAreEqual) {
  const char *kinds[] = {"gelu_tanh", "gelu_erf", "gelu_fast", "quick_gelu",
                         "relu",      "silu",     "tanh"};
  constexpr int64_t rows = 3, columns = 40;
  std::string text;
  for (std::string kind : kinds)
    for (DType element : floats) {
      Tensor x(element, rows, columns);
      std::string type = typeOf(x);
      text += function(kind + "_" + x.mlirElement(),
                       "gpt2.activation_grad " + kind + " %0, %1 : " + type,
                       {type, type}, {type});
    }
  BothTargets both(text);
  for (std::string kind : kinds)
    for (DType element : floats) {
      Tensor x = Tensor::make(element, rows, columns, [](int64_t i, int64_t j) {
        return (j - 20.3) * (i == 2 ? 9.0 : 0.4 + i);
      });
      both.run(kind + "_" + x.mlirElement(),
               {Tensor::random(element, rows, columns, 1), x}, {x}, rows);
      both.expectEqualRounding(kind + x.mlirElement());
    }
}

Tensor vectorOf(const std::vector<double> &values) {
  return Tensor::make(DType::F32, static_cast<int64_t>(values.size()), 1,
                      [&](int64_t i, int64_t) { return values[i]; });
}

TEST(TrainingAgreement, AdamWIsEqualToTheBit) {
  constexpr int64_t rows = 5, columns = 24;
  Tensor p = Tensor::random(DType::F32, rows, columns, 1);
  Tensor m = Tensor::random(DType::F32, rows, columns, 2);
  Tensor v = Tensor::make(DType::F32, rows, columns, [](int64_t i, int64_t j) {
    return (i + 1) * (j % 7) * 1e-3;
  });
  Tensor g = Tensor::random(DType::F32, rows, columns, 3);
  Tensor low(DType::BF16, rows, columns);
  std::string type = typeOf(p), lowType = typeOf(low);
  std::vector<std::string> in = {
      type, type, type, type, "tensor<16xf32>", "tensor<8xf32>"};
  BothTargets both(
      function("plain", "gpt2.adamw %0, %1, %2, %3, %4, %5 : " + type, in,
               {type, type, type, type}) +
      function("decayed",
               "gpt2.adamw %0, %1, %2, %3, %4, %5 {decay} : " + type + " -> " +
                   lowType,
               in, {type, type, type, type, lowType}));
  Tensor params = vectorOf({1e-3, 0.25, 0.1, 0.9, 0.99, 1e-8, 1.0, 0.1, 0.2,
                            1e6, 0.1, 0.01, 0, 0, 0, 0});
  for (double skipped : {0.0, 1.0}) {
    Tensor state = vectorOf({8, 1999, skipped, 0, 0.125, 0, 5, 1});
    both.run("plain", {p, m, v, g, params, state}, {p, m, v, g}, rows);
    both.expectEqualBits("plain");
    both.run("decayed", {p, m, v, g, params, state}, {p, m, v, g, low}, rows);
    both.expectEqualBits("decayed");
    for (int64_t j = 0; j < columns; ++j) {
      EXPECT_EQ(both.onCpu[0].at(0, j) == p.at(0, j), skipped != 0);
      EXPECT_EQ(both.onCpu[3].at(0, j), 0) << "gradients start again from zero";
    }
  }
}

// Warps of a CUDA block share its rows, so sums that round may differ by their
// order alone; those of small integers are exact, and lie in the same places.
TEST(TrainingAgreement, ColumnSumsDifferByTheirOrderAlone) {
  constexpr int64_t rows = 37, blocks = 5;
  std::string text;
  for (int64_t columns : {1, 20, 768})
    for (DType element : floats) {
      Tensor x(element, rows, columns), sums(DType::F32, columns, blocks);
      text +=
          function("s" + std::to_string(columns) + x.mlirElement(),
                   "gpt2.column_sum %0 : " + typeOf(x) + " -> " + typeOf(sums),
                   {typeOf(x)}, {typeOf(sums)});
    }
  BothTargets both(text);
  for (int64_t columns : {1, 20, 768})
    for (DType element : floats) {
      Tensor x = Tensor::make(element, rows, columns,
                              [](int64_t i, int64_t j) -> double {
                                return (i * 7 + j * 3) % 17 - 8;
                              });
      Tensors sums = {Tensor(DType::F32, columns, blocks)};
      std::string name = "s" + std::to_string(columns) + x.mlirElement();
      both.run(name, {x}, sums, blocks);
      both.expectEqualBits(name);
      x = Tensor::random(element, rows, columns, 1);
      both.run(name, {x}, sums, blocks);
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t b = 0; b < blocks; ++b) {
          // Either sum rounds once a row.
          int64_t begin = rows * b / blocks, end = rows * (b + 1) / blocks;
          double size = 0;
          for (int64_t i = begin; i < end; ++i)
            size += std::abs(x.at(i, j));
          ASSERT_NEAR(both.onCuda[0].at(j, b), both.onCpu[0].at(j, b),
                      2 * double(end - begin) * 0x1p-24 * size)
              << name;
        }
    }
}

} // namespace
