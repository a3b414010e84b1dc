// Kernels with column sums, and dropout's integer arithmetic: what training
// kernels need beyond rows of floats.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Device/DropoutMath.h"
#include "test/unit/CodegenCPU/KernelHarness.h"

#include <cmath>
#include <gmock/gmock.h>

using namespace gpt2test;
using testing::HasSubstr;

namespace {

/// Replaces each of `names` in `text` by its value.
std::string
substitute(std::string text,
           const std::vector<std::pair<std::string, std::string>> &names) {
  for (const auto &[name, value] : names)
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, name.size(), value);
  return text;
}

/// y = dy * gamma; s = the sum of a row of y; over rows, the sums of dy * (x -
/// mean), of dy and of s.
const char *const gradientKernel = R"(
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i, 0)>
#column = affine_map<(i, j) -> (0, j)>
plan.kernel @k "row" config {rows = ROWS : i64, row_blocks = BLOCKS : i64} body {
^bb0(%rows: index, %dy: DY, %x: X, %mean: tensor<?x1xf32>, %gamma: G):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%rows) : X
  %e1 = tensor.empty(%rows) : tensor<?x1xf32>
  %ec = tensor.empty() : G
  %ecc = tensor.empty() : tensor<1x1xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %fc = linalg.fill ins(%zero : f32) outs(%ec : G) -> G
  %fcc = linalg.fill ins(%zero : f32) outs(%ecc : tensor<1x1xf32>) -> tensor<1x1xf32>
  %y = linalg.generic {indexing_maps = [#full, #column, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%dy, %gamma : DY, G) outs(%e : X) {
  ^bb0(%a: ELEMENT, %g: f32, %o: f32):
    WIDEN
    %r = arith.mulf %w, %g : f32
    linalg.yield %r : f32
  } -> X
  %s = linalg.generic {indexing_maps = [#full, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%y : X) outs(%f1 : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o fastmath<reassoc> : f32
    linalg.yield %r : f32
  } -> tensor<?x1xf32>
  %dgamma = linalg.generic {indexing_maps = [#full, #full, #row, #column],
      iterator_types = ["reduction", "parallel"]}
      ins(%dy, %x, %mean : DY, X, tensor<?x1xf32>) outs(%fc : G) {
  ^bb0(%a: ELEMENT, %b: f32, %m: f32, %o: f32):
    WIDEN
    %c = arith.subf %b, %m : f32
    %p = arith.mulf %w, %c : f32
    %r = arith.addf %p, %o fastmath<reassoc> : f32
    linalg.yield %r : f32
  } -> G
  %dbeta = linalg.generic {indexing_maps = [#full, #column],
      iterator_types = ["reduction", "parallel"]}
      ins(%dy : DY) outs(%fc : G) {
  ^bb0(%a: ELEMENT, %o: f32):
    WIDEN
    %r = arith.addf %w, %o fastmath<reassoc> : f32
    linalg.yield %r : f32
  } -> G
  %total = linalg.generic {indexing_maps = [#full, #column],
      iterator_types = ["reduction", "parallel"]}
      ins(%s : tensor<?x1xf32>) outs(%fcc : tensor<1x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o fastmath<reassoc> : f32
    linalg.yield %r : f32
  } -> tensor<1x1xf32>
  plan.yield %y, %s, %dgamma, %dbeta, %total
    : X, tensor<?x1xf32>, G, G, tensor<1x1xf32>
})";

std::string gradientText(const Tensor &dy, int64_t blocks) {
  std::string columns = std::to_string(dy.columns);
  return substitute(
      gradientKernel,
      {{"WIDEN", dy.type == DType::F32 ? "%w = arith.addf %a, %zero : f32"
                                       : "%w = arith.extf %a : ELEMENT to f32"},
       {"DY", "tensor<?x" + columns + "xELEMENT>"},
       {"ELEMENT", dy.mlirElement()},
       {"ROWS", std::to_string(dy.rows)},
       {"BLOCKS", std::to_string(blocks)},
       {" X", " tensor<?x" + columns + "xf32>"},
       {" G", " tensor<1x" + columns + "xf32>"}});
}

class Gradient {
public:
  Gradient(DType type, int64_t rows, int64_t columns, int64_t blocks)
      : rows(rows), columns(columns),
        blocks(blocks), inputs{Tensor::random(type, rows, columns, 1),
                               Tensor::random(DType::F32, rows, columns, 2),
                               Tensor::random(DType::F32, rows, 1, 3),
                               Tensor::random(DType::F32, 1, columns, 4)},
        out(runKernel(gradientText(inputs[0], blocks), inputs,
                      {Tensor(DType::F32, rows, columns),
                       Tensor(DType::F32, rows, 1),
                       Tensor(DType::F32, columns, blocks),
                       Tensor(DType::F32, columns, blocks),
                       Tensor(DType::F32, 1, blocks)},
                      blocks)) {}

  void check() const {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        ASSERT_EQ(out[0].at(i, j), float(dy(i, j) * inputs[3].at(0, j)));
    for (int64_t b = 0; b < blocks; ++b)
      checkBlock(b, rows * b / blocks, rows * (b + 1) / blocks);
  }

private:
  float dy(int64_t i, int64_t j) const { return inputs[0].at(i, j); }

  // Row order to the bit; the same sums in double bound what that loses.
  void checkBlock(int64_t b, int64_t begin, int64_t end) const {
    for (int64_t j = 0; j < columns; ++j) {
      float dgamma = 0, dbeta = 0;
      double exact = 0, size = 0;
      for (int64_t i = begin; i < end; ++i) {
        float center = float(inputs[1].at(i, j)) - float(inputs[2].at(i, 0));
        float product = dy(i, j) * center;
        dgamma += product;
        dbeta += dy(i, j);
        double term = dy(i, j) * (inputs[1].at(i, j) - inputs[2].at(i, 0));
        exact += term;
        size += std::abs(term);
      }
      ASSERT_EQ(out[2].at(j, b), dgamma) << "column " << j << " block " << b;
      ASSERT_EQ(out[3].at(j, b), dbeta) << "column " << j << " block " << b;
      ASSERT_NEAR(out[2].at(j, b), exact, 4e-7 * (size + 1) * (end - begin));
    }
    float total = 0;
    for (int64_t i = begin; i < end; ++i)
      total += float(out[1].at(i, 0));
    ASSERT_EQ(out[4].at(0, b), total) << "block " << b;
  }

  int64_t rows, columns, blocks;
  Tensors inputs, out;
};

TEST(ColumnSum, AddsTheRowsOfABlockInOrder) {
  for (int64_t columns : {1, 5, 64, 203, 768})
    for (int64_t blocks : {1, 3, 11})
      for (DType type : {DType::F32, DType::BF16}) {
        SCOPED_TRACE(testing::Message() << columns << " columns, " << blocks
                                        << " blocks of 11 rows");
        Gradient(type, 11, columns, blocks).check();
      }
}

// The widest rows of the presets, four times their width being GPT-2 XL's.
TEST(ColumnSum, HoldsTheSumsOfWideRows) {
  Gradient(DType::BF16, 5, 6400, 2).check();
}

TEST(ColumnSum, ACallGetsAsManyBlocksAsAreWorthItsWhile) {
  KernelContext context;
  auto code = context.compile(gradientText(Tensor(DType::F32, 640, 64), 64));
  ASSERT_TRUE(code) << context.diagnostics();
  EXPECT_EQ(code->kernels[0].rowsGrain, 25u); // 16384 / 64 rows, 10 a block
}

TEST(ColumnSum, RefusesMoreSumsThanTheStackHolds) {
  KernelContext context;
  EXPECT_FALSE(context.compile(gradientText(Tensor(DType::F32, 4, 50304), 2)));
  EXPECT_THAT(context.diagnostics(),
              HasSubstr("needs more stack for column sums than the 262144 "
                        "bytes of a kernel"));
}

/// Two results over the places of both inputs: r = a * b is complete before the
/// sum of its row is, and y still reads a after that.
const char *const twoResults = R"(
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i, 0)>
plan.kernel @k "row" body {
^bb0(%rows: index, %a: TYPE, %b: TYPE):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%rows) : TYPE
  %e1 = tensor.empty(%rows) : tensor<?x1xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %r = linalg.generic {indexing_maps = [#full, #full, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : TYPE, TYPE) outs(%e : TYPE) {
  ^bb0(%0: f32, %1: f32, %o: f32):
    %2 = arith.mulf %0, %1 : f32
    linalg.yield %2 : f32
  } -> TYPE
  %s = linalg.generic {indexing_maps = [#full, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%r : TYPE) outs(%f1 : tensor<?x1xf32>) {
  ^bb0(%0: f32, %o: f32):
    %2 = arith.addf %0, %o fastmath<reassoc> : f32
    linalg.yield %2 : f32
  } -> tensor<?x1xf32>
  %y = linalg.generic {indexing_maps = [#full, #full, #row, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%a, %r, %s : TYPE, TYPE, tensor<?x1xf32>) outs(%e : TYPE) {
  ^bb0(%0: f32, %1: f32, %2: f32, %o: f32):
    %3 = arith.addf %0, %1 : f32
    %4 = arith.subf %3, %2 : f32
    linalg.yield %4 : f32
  } -> TYPE
  plan.yield %r, %y : TYPE, TYPE
})";

TEST(Outputs, MayTakeTheInputsPlaces) {
  constexpr int64_t rows = 3;
  for (int64_t columns : {5, 64, 203}) {
    std::string type = "tensor<?x" + std::to_string(columns) + "xf32>";
    std::string text = substitute(twoResults, {{"TYPE", type}});
    Tensors inputs = {Tensor::random(DType::F32, rows, columns, 1),
                      Tensor::random(DType::F32, rows, columns, 2)};
    Tensors apart = runKernel(text, inputs, inputs, rows);
    KernelContext context;
    auto code = context.compile(text, {runnableArchs()});
    ASSERT_TRUE(code) << context.diagnostics();
    for (auto [r, y] : {std::pair(0, 1), std::pair(1, 0)}) {
      Tensors places = inputs;
      void *a = places[0].bytes.data(), *b = places[1].bytes.data();
      void *const results[] = {a, b};
      LoadedKernels kernels(code->modules[0].bytes);
      kernels.call("k", {a, b, results[r], results[y]}, 0, rows);
      EXPECT_EQ(places[r].bytes, apart[0].bytes) << columns;
      EXPECT_EQ(places[y].bytes, apart[1].bytes) << columns;
    }
  }
}

/// Dropout as its decomposition writes it: the row's hash from an i32 table at
/// constant indices, the column's added to it.
const char *const dropoutKernel = R"(
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i, 0)>
plan.kernel @k "row" body {
^bb0(%rows: index, %x: TYPE, %rng: tensor<4x1xi32>):
  %e = tensor.empty(%rows) : TYPE
  %e1 = tensor.empty(%rows) : tensor<?x1xi32>
  %hashes = linalg.generic {indexing_maps = [#full],
      iterator_types = ["parallel", "parallel"]}
      outs(%e1 : tensor<?x1xi32>) {
  ^bb0(%o: i32):
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %tokens = arith.constant 3 : index
    %s = tensor.extract %rng[%c0, %c0] : tensor<4x1xi32>
    %f = tensor.extract %rng[%c3, %c0] : tensor<4x1xi32>
    %i = linalg.index 0 : index
    %d = arith.divsi %i, %tokens : index
    %m = arith.remsi %i, %tokens : index
    %di = arith.index_cast %d : index to i32
    %mi = arith.index_cast %m : index to i32
    %sample = arith.addi %f, %di : i32
    %0 = arith.xori %s, %sample : i32
    %h = arith.xori %0, %mi : i32
    linalg.yield %h : i32
  } -> tensor<?x1xi32>
  %y = linalg.generic {indexing_maps = [#full, #row, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %hashes : TYPE, tensor<?x1xi32>) outs(%e : TYPE) {
  ^bb0(%a: f32, %b: i32, %o: f32):
    %zero = arith.constant 0.0 : f32
    %c15 = arith.constant 15 : i32
    %c16 = arith.constant 16 : i32
    %m0 = arith.constant 0x7feb352d : i32
    %m1 = arith.constant 0x846ca68b : i32
    %threshold = arith.constant 0xC0000000 : i32
    %j = linalg.index 1 : index
    %ji = arith.index_cast %j : index to i32
    %0 = arith.xori %b, %ji : i32
    %1 = arith.shrui %0, %c16 : i32
    %2 = arith.xori %0, %1 : i32
    %3 = arith.muli %2, %m0 : i32
    %4 = arith.shrui %3, %c15 : i32
    %5 = arith.xori %3, %4 : i32
    %6 = arith.muli %5, %m1 : i32
    %7 = arith.shrui %6, %c16 : i32
    %8 = arith.xori %6, %7 : i32
    %drop = arith.cmpi ult, %8, %threshold : i32
    %r = arith.select %drop, %zero, %a : f32
    linalg.yield %r : f32
  } -> TYPE
  plan.yield %y : TYPE
})";

TEST(Integers, HashDropsWhatTheRuntimesHashDrops) {
  constexpr int64_t rows = 7;
  const int32_t rng[] = {-77, 1, 2, 40};
  for (int64_t columns : {1, 15, 16, 100}) {
    Tensors inputs = {Tensor::random(DType::F32, rows, columns, 1),
                      Tensor::make(DType::I32, 4, 1,
                                   [&](int64_t i, int64_t) { return rng[i]; })};
    std::string type = "tensor<?x" + std::to_string(columns) + "xf32>";
    Tensors out = runKernel(substitute(dropoutKernel, {{"TYPE", type}}), inputs,
                            {Tensor(DType::F32, rows, columns)}, rows);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        uint32_t row =
            uint32_t(rng[0]) ^ uint32_t(rng[3] + i / 3) ^ uint32_t(i % 3);
        bool kept = gpt2rt::dropoutKeeps(row, uint32_t(j), 0xC0000000u);
        ASSERT_EQ(out[0].at(i, j), kept ? inputs[0].at(i, j) : 0)
            << "at " << i << ", " << j;
      }
  }
}

} // namespace
