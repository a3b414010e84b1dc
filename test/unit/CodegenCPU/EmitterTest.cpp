// What the row emitter does beyond the decompositions: order of sums, values
// kept for a later pass, columns that fill no vector, and what it refuses.
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/CodegenCPU/KernelHarness.h"

#include <cmath>
#include <gmock/gmock.h>
#include <random>

using namespace gpt2test;
using testing::HasSubstr;

namespace {

std::vector<float> randomFloats(size_t count, unsigned seed = 7) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0f, 2.0f);
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(engine);
  return values;
}

/// A sum over `columns`, with the combiner's flags as given.
std::string sumKernel(int64_t columns, const std::string &flags) {
  std::string c = std::to_string(columns);
  return R"(
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i, 0)>
plan.kernel @sum "row" body {
^bb0(%rows: index, %x: tensor<?x)" +
         c + R"(xf32>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%rows) : tensor<?x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x1xf32>) -> tensor<?x1xf32>
  %s = linalg.generic {indexing_maps = [#full, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x)" +
         c + R"(xf32>) outs(%f : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o )" +
         flags + R"( : f32
    linalg.yield %r : f32
  } -> tensor<?x1xf32>
  plan.yield %s : tensor<?x1xf32>
})";
}

std::vector<float> runSum(const std::string &text, const std::string &arch,
                          std::vector<float> &x, int64_t columns) {
  KernelContext context;
  auto code = context.compile(text, {{arch}});
  EXPECT_TRUE(code) << context.diagnostics();
  LoadedKernels kernels(code->modules[0].bytes);
  std::vector<float> sums(x.size() / columns, NAN);
  kernels.call("sum", {x.data(), sums.data()}, 0, sums.size());
  return sums;
}

TEST(Emitter, SumWithoutLeaveToReorderGoesColumnByColumn) {
  constexpr int64_t columns = 203;
  std::vector<float> x = randomFloats(3 * columns);
  for (const std::string &arch : runnableArchs()) {
    std::vector<float> sums = runSum(sumKernel(columns, ""), arch, x, columns);
    for (int64_t row = 0; row < 3; ++row) {
      float expected = 0.0f;
      for (int64_t j = 0; j < columns; ++j)
        expected += x[row * columns + j];
      EXPECT_EQ(sums[row], expected);
    }
  }
}

/// The order that RowEmitter.h states: 64 partial sums, then 16, then the rest.
float sumAsDocumented(const float *x, int64_t columns) {
  float partial[64] = {}, lanes[16];
  int64_t j = 0;
  for (; j + 64 <= columns; j += 64)
    for (int i = 0; i < 64; ++i)
      partial[i] += x[j + i];
  for (int i = 0; i < 16; ++i)
    lanes[i] =
        (partial[i] + partial[i + 32]) + (partial[i + 16] + partial[i + 48]);
  for (; j + 16 <= columns; j += 16)
    for (int i = 0; i < 16; ++i)
      lanes[i] += x[j + i];
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i)
      lanes[i] += lanes[i + half];
  float sum = lanes[0];
  for (; j < columns; ++j)
    sum += x[j];
  return sum;
}

TEST(Emitter, ReorderedSumKeepsTheDocumentedOrderOnEveryArch) {
  for (int64_t columns : {1, 15, 16, 17, 63, 64, 80, 203, 768, 1600}) {
    std::vector<float> x = randomFloats(2 * columns);
    for (const std::string &arch : runnableArchs()) {
      std::vector<float> sums =
          runSum(sumKernel(columns, "fastmath<reassoc>"), arch, x, columns);
      EXPECT_EQ(sums[0], sumAsDocumented(x.data(), columns)) << columns;
      EXPECT_EQ(sums[1], sumAsDocumented(x.data() + columns, columns));
    }
  }
}

/// softmax: the exponentials are used by the sum and again after it.
std::string softmaxKernel(int64_t columns) {
  std::string t = "tensor<?x" + std::to_string(columns) + "xf32>";
  return R"(
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i, 0)>
plan.kernel @softmax "row" body {
^bb0(%rows: index, %x: )" +
         t + R"():
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%rows) : )" +
         t + R"(
  %e1 = tensor.empty(%rows) : tensor<?x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x1xf32>) -> tensor<?x1xf32>
  %p = linalg.generic {indexing_maps = [#full, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : )" +
         t + ") outs(%e : " + t + R"() {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> )" +
         t + R"(
  %s = linalg.generic {indexing_maps = [#full, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%p : )" +
         t + R"() outs(%f : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a fastmath<reassoc> : f32
    linalg.yield %r : f32
  } -> tensor<?x1xf32>
  %y = linalg.generic {indexing_maps = [#full, #row, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%p, %s : )" +
         t + ", tensor<?x1xf32>) outs(%e : " + t + R"() {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> )" +
         t + R"(
  plan.yield %y : )" +
         t + R"(
})";
}

// 768 columns are kept in a temporary, 100000 would take more stack than a
// kernel may use and are computed again.
TEST(Emitter, ValuesOfAnEarlierPassAreKeptOrComputedAgain) {
  for (int64_t columns : {5, 768, 100000}) {
    std::vector<float> x = randomFloats(2 * columns), y(x.size(), NAN);
    KernelContext context;
    auto code = context.compile(softmaxKernel(columns));
    ASSERT_TRUE(code) << context.diagnostics();
    LoadedKernels kernels(code->modules[0].bytes);
    kernels.call("softmax", {x.data(), y.data()}, 0, 2);
    for (int64_t row = 0; row < 2; ++row) {
      double sum = 0;
      for (int64_t j = 0; j < columns; ++j)
        sum += std::exp(double(x[row * columns + j]));
      for (int64_t j = 0; j < columns; ++j) {
        double expected = std::exp(double(x[row * columns + j])) / sum;
        ASSERT_NEAR(y[row * columns + j], expected, 1e-6 * expected + 1e-37);
      }
    }
  }
}

/// One elementwise kernel of 16 columns around `body`, which computes %r.
std::string mapKernel(const std::string &body) {
  return R"(
#full = affine_map<(i, j) -> (i, j)>
plan.kernel @map "row" body {
^bb0(%rows: index, %x: tensor<?x16xf32>, %table: tensor<4x16xf32>):
  %e = tensor.empty(%rows) : tensor<?x16xf32>
  %y = linalg.generic {indexing_maps = [#full, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x16xf32>) outs(%e : tensor<?x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    )" + body +
         R"(
    linalg.yield %r : f32
  } -> tensor<?x16xf32>
  plan.yield %y : tensor<?x16xf32>
})";
}

TEST(Emitter, RefusesWhatIsNotARowKernel) {
  KernelContext context;
  EXPECT_FALSE(context.compile(R"(plan.kernel @t "sample")"));
  EXPECT_THAT(context.diagnostics(),
              HasSubstr("has kind 'sample', but the CPU target generates code "
                        "for row kernels only"));
}

TEST(Emitter, RefusesATableRowThatDiffersByColumn) {
  KernelContext context;
  EXPECT_FALSE(context.compile(mapKernel(R"(
    %j = linalg.index 1 : index
    %r = tensor.extract %table[%j, %j] : tensor<4x16xf32>)")));
  EXPECT_THAT(context.diagnostics(),
              HasSubstr("reads a table row that differs by column"));
}

TEST(Emitter, RefusesATensorComputedInTheKernelAsATable) {
  KernelContext context;
  EXPECT_FALSE(context.compile(mapKernel(R"(
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %r = tensor.extract %e[%i, %j] : tensor<?x16xf32>)")));
  EXPECT_THAT(context.diagnostics(),
              HasSubstr("not an argument of the kernel"));
}

TEST(Emitter, RefusesAnUnknownArch) {
  KernelContext context;
  std::string text = mapKernel("%r = arith.negf %a : f32");
  EXPECT_FALSE(context.compile(text, {{"x86-64-v5"}}));
  EXPECT_THAT(context.diagnostics(),
              HasSubstr("unknown CPU architecture 'x86-64-v5': use x86-64-v3 "
                        "or x86-64-v4"));
}

} // namespace
