//===- SimdTest.cpp - The vector loops against sums in double -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CPU/Simd/Simd.h"
#include "runtime/Device/DropoutMath.h"
#include "runtime/Support/Convert.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <string_view>
#include <vector>

namespace gpt2rt::cpu {
extern const SimdKernels simdKernelsV3;
extern const SimdKernels simdKernelsV4;

namespace {

// Values of one type, with what they are in double.
struct Tensor {
  std::vector<uint16_t> bf16;
  std::vector<float> f32;
  std::vector<double> exact;
  DType type;

  Tensor(DType type, size_t count, uint32_t seed) : type(type) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < count; ++i) {
      float value = normal(random);
      bf16.push_back(floatToBFloat16(value));
      f32.push_back(value);
      exact.push_back(type == DType::F32 ? value
                                         : bfloat16ToFloat(bf16.back()));
    }
  }
  const void *data() const {
    return type == DType::F32 ? static_cast<const void *>(f32.data())
                              : bf16.data();
  }
  void *data() {
    return type == DType::F32 ? static_cast<void *>(f32.data()) : bf16.data();
  }
  double at(size_t i) const {
    return type == DType::F32 ? f32[i] : bfloat16ToFloat(bf16[i]);
  }
};

struct Case {
  const SimdKernels *kernels;
  DType type;
};

class SimdTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    if (GetParam().kernels == &simdKernelsV4 &&
        std::string_view(cpuLevel()) != "x86-64-v4")
      GTEST_SKIP() << "this CPU has no AVX-512";
  }
  double tolerance() const {
    return GetParam().type == DType::F32 ? 2e-6 : 8e-3;
  }
};

TEST_P(SimdTest, MatvecEqualsTheSumInDouble) {
  auto [kernels, type] = GetParam();
  for (int64_t k : {1, 31, 64, 100, 768, 3072})
    for (int64_t rows : {1, 2, 3, 8}) {
      const int64_t n = 37;
      Tensor x(type, rows * k, 1), weight(type, n * k, 2);
      std::vector<float> bias(n, 0.25f), out(rows * n, NAN);
      kernels->matvec({x.data(), weight.data(), bias.data(), out.data(), rows,
                       n, k, type, DType::F32},
                      0, n);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t j = 0; j < n; ++j) {
          double want = 0.25, size = 1;
          for (int64_t i = 0; i < k; ++i) {
            want += x.exact[r * k + i] * weight.exact[j * k + i];
            size += std::abs(x.exact[r * k + i] * weight.exact[j * k + i]);
          }
          ASSERT_NEAR(out[r * n + j], want, 1e-6 * size)
              << "k " << k << " row " << r << " of " << rows << " column " << j;
        }
    }
}

TEST_P(SimdTest, MatvecSumsDoNotDependOnTheSplitOrTheBatch) {
  auto [kernels, type] = GetParam();
  const int64_t n = 64, k = 200, rows = 7;
  Tensor x(type, rows * k, 3), weight(type, n * k, 4);
  std::vector<float> whole(rows * n), split(rows * n), alone(n);
  MatvecArgs args = {x.data(), weight.data(), nullptr,   whole.data(), rows, n,
                     k,        type,          DType::F32};
  kernels->matvec(args, 0, n);
  args.out = split.data();
  for (int64_t begin : {0, 8, 16, 40})
    kernels->matvec(args, begin,
                    begin == 0    ? 8
                    : begin == 8  ? 16
                    : begin == 16 ? 40
                                  : n);
  EXPECT_EQ(whole, split);
  args.out = alone.data();
  args.rows = 1;
  kernels->matvec(args, 0, n);
  for (int64_t j = 0; j < n; ++j)
    EXPECT_EQ(alone[j], whole[j]) << "column " << j;
}

TEST_P(SimdTest, MatvecRoundsOnceToTheOutputType) {
  auto [kernels, type] = GetParam();
  const int64_t n = 8, k = 96;
  Tensor x(type, k, 5), weight(type, n * k, 6), rounded(type, n, 7);
  std::vector<float> f32(n);
  MatvecArgs args = {x.data(), weight.data(), nullptr,   f32.data(), 1, n,
                     k,        type,          DType::F32};
  kernels->matvec(args, 0, n);
  args.out = rounded.data();
  args.outType = type;
  kernels->matvec(args, 0, n);
  for (int64_t j = 0; j < n; ++j)
    EXPECT_EQ(rounded.at(j), type == DType::F32
                                 ? f32[j]
                                 : bfloat16ToFloat(floatToBFloat16(f32[j])));
}

TEST_P(SimdTest, DecodeAttentionEqualsSoftmaxInDouble) {
  auto [kernels, type] = GetParam();
  for (int64_t d : {20, 32, 64, 80, 128})
    for (int64_t length : {1, 33, 513}) {
      Tensor q(type, d, 1), k(type, length * d, 2), v(type, length * d, 3);
      Tensor out(type, d, 4);
      std::vector<float> scores(length);
      float scale = 1.0f / std::sqrt(static_cast<float>(d));
      kernels->decodeAttention({q.data(), k.data(), v.data(), out.data(),
                                scores.data(), length, d, scale, type});
      std::vector<double> want(d);
      double sum = 0;
      for (int64_t i = 0; i < length; ++i) {
        double score = 0;
        for (int64_t j = 0; j < d; ++j)
          score += q.exact[j] * k.exact[i * d + j];
        double weight = std::exp(score * scale);
        sum += weight;
        for (int64_t j = 0; j < d; ++j)
          want[j] += weight * v.exact[i * d + j];
      }
      for (int64_t j = 0; j < d; ++j)
        ASSERT_NEAR(out.at(j), want[j] / sum, 2 * tolerance())
            << "head size " << d << " length " << length << " lane " << j;
    }
}

TEST_P(SimdTest, CausalSoftmaxMasksAndSumsWhatItRounded) {
  auto [kernels, type] = GetParam();
  const int64_t rows = 5, columns = 64, stride = 64, visible = 40;
  Tensor values(DType::F32, rows * stride, 8);
  std::vector<float> scores = values.f32;
  // What lies behind the mask must not matter.
  scores[2 * stride + visible + 3] = INFINITY;
  float sums[rows];
  CausalSoftmaxArgs args = {scores.data(), rows, columns, stride,
                            visible,       0.5f, type};
  args.sums = sums;
  kernels->causalSoftmax(args);
  for (int64_t r = 0; r < rows; ++r) {
    const double *exact = &values.exact[r * stride];
    double largest = *std::max_element(exact, exact + visible + r + 1), sum = 0;
    const float *row = &scores[r * stride];
    for (int64_t c = 0; c < columns; ++c) {
      double got =
          type == DType::F32
              ? row[c]
              : bfloat16ToFloat(reinterpret_cast<const uint16_t *>(row)[c]);
      double want = c <= visible + r ? std::exp(0.5 * (exact[c] - largest)) : 0;
      sum += got;
      ASSERT_NEAR(got, want, tolerance()) << "row " << r << " column " << c;
    }
    EXPECT_NEAR(sums[r], sum, 1e-6 * sum) << "row " << r;
  }
}

TEST_P(SimdTest, DivideRowsRoundsOnce) {
  auto [kernels, type] = GetParam();
  const int64_t rows = 3, columns = 37, stride = 50;
  Tensor values(DType::F32, rows * columns, 12), out(type, rows * stride, 13);
  Tensor before = out;
  const float sums[rows] = {1, 4, 3};
  kernels->divideRows(
      {values.f32.data(), sums, rows, columns, out.data(), stride, type});
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < stride; ++c) {
      float want = values.f32[r * columns + c] * (1 / sums[r]);
      ASSERT_EQ(out.at(r * stride + c),
                c >= columns         ? before.at(r * stride + c)
                : type == DType::F32 ? want
                                     : bfloat16ToFloat(floatToBFloat16(want)))
          << "row " << r << " column " << c;
    }
}

// Forward weights, their logarithm, and the backward pass of one block, with a
// third of the weights dropped.
TEST_P(SimdTest, SoftmaxGradUndoesSoftmaxWithDropout) {
  auto [kernels, type] = GetParam();
  const int64_t rows = 3, columns = 70, stride = 128, visible = 66, d = 40;
  const float scale = 0.5f;
  AttentionDropout dropout = {123, 2, 64, 0x55555555u, 1.5f};
  Tensor s(DType::F32, rows * stride, 8), g(DType::F32, rows * stride, 9);
  Tensor out(type, rows * d, 10), dout(type, rows * d, 11);
  std::vector<float> weights = s.f32, scores = s.f32, gradients = g.f32;
  std::vector<float> lse(2 * rows), sums(rows);
  kernels->causalSoftmax({weights.data(), rows, columns, stride, visible, scale,
                          type, lse.data(), 2, dropout, sums.data()});
  kernels->softmaxGrad({scores.data(), gradients.data(), rows, columns, stride,
                        visible, scale, type, lse.data(), 2, out.data(),
                        dout.data(), d, d, dropout});
  auto at = [&, type = type](const std::vector<float> &values, int64_t r,
                             int64_t c) -> double {
    const float *row = &values[r * stride];
    return type == DType::F32
               ? row[c]
               : bfloat16ToFloat(reinterpret_cast<const uint16_t *>(row)[c]);
  };
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0, mean = 0;
    for (int64_t c = 0; c <= visible + r; ++c)
      sum += std::exp(scale * s.exact[r * stride + c]);
    for (int64_t i = 0; i < d; ++i)
      mean += out.exact[r * d + i] * dout.exact[r * d + i];
    EXPECT_NEAR(lse[2 * r], std::log(sum), 2e-6);
    uint32_t query = dropoutQuery(123, static_cast<uint32_t>(64 + r), 2);
    for (int64_t c = 0; c < columns; ++c) {
      bool seen = c <= visible + r;
      double p = seen ? std::exp(scale * s.exact[r * stride + c]) / sum : 0;
      double factor =
          dropoutKeeps(query, static_cast<uint32_t>(c), 0x55555555u) ? 1.5 : 0;
      double gradient = p * (g.exact[r * stride + c] * factor - mean) * scale;
      double error = tolerance() * (1 + std::abs(mean));
      EXPECT_NEAR(at(weights, r, c) / sums[r], p * factor, error);
      EXPECT_NEAR(at(scores, r, c), p * factor, error);
      EXPECT_NEAR(at(gradients, r, c), gradient, error) << r << ", " << c;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Levels, SimdTest,
    testing::Values(Case{&simdKernelsV3, DType::F32},
                    Case{&simdKernelsV3, DType::BF16},
                    Case{&simdKernelsV4, DType::F32},
                    Case{&simdKernelsV4, DType::BF16}),
    [](const auto &info) {
      return std::string(info.param.kernels == &simdKernelsV3 ? "v3" : "v4") +
             std::string(name(info.param.type));
    });

} // namespace
} // namespace gpt2rt::cpu
