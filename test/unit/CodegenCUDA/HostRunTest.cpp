//===- HostRunTest.cpp - What emitted CUDA kernels compute ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The text of the kernels of test/Codegen/CUDA runs on the host, threads as
// lanes, and is held to references in double. No GPU is needed.
//
//===----------------------------------------------------------------------===//
#include "HostKernels.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using gpt2test::HostKernels;

namespace {

/// Values of a buffer and how it stores them: "f32", "f16" or "bf16".
struct Buffer {
  Buffer(size_t count, std::string type) : type(type), bytes(count * width()) {
    // Unwritten elements are NaN in every type.
    std::fill(bytes.begin(), bytes.end(), 0xff);
  }
  size_t width() const { return type == "f32" ? 4 : 2; }
  size_t size() const { return bytes.size() / width(); }
  void *data() { return bytes.data(); }

  float get(size_t i) const {
    if (type == "f32") {
      float value;
      std::memcpy(&value, &bytes[4 * i], 4);
      return value;
    }
    uint16_t bits;
    std::memcpy(&bits, &bytes[2 * i], 2);
    if (type == "bf16") {
      uint32_t wide = uint32_t(bits) << 16;
      float value;
      std::memcpy(&value, &wide, 4);
      return value;
    }
    _Float16 value;
    std::memcpy(&value, &bits, 2);
    return value;
  }
  void set(size_t i, float value) {
    if (type == "f32") {
      std::memcpy(&bytes[4 * i], &value, 4);
    } else if (type == "f16") {
      _Float16 rounded = value;
      std::memcpy(&bytes[2 * i], &rounded, 2);
    } else {
      uint32_t bits;
      std::memcpy(&bits, &value, 4);
      uint16_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
      std::memcpy(&bytes[2 * i], &rounded, 2);
    }
  }
  std::string type;
  std::vector<uint8_t> bytes;
};

Buffer randomBuffer(size_t count, const char *type, unsigned seed,
                    float mean = 0) {
  Buffer buffer(count, type);
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(mean, 1);
  for (size_t i = 0; i < count; ++i)
    buffer.set(i, normal(engine));
  return buffer;
}

/// One unit in the last place of what `type` holds near 1.
double epsilonOf(const std::string &type) {
  return type == "f32" ? 2e-6 : type == "f16" ? 1e-3 : 8e-3;
}

void expectNear(const Buffer &buffer, size_t i, double want,
                const std::string &what) {
  double slack = epsilonOf(buffer.type) * std::max(1.0, std::fabs(want));
  ASSERT_NEAR(buffer.get(i), want, slack) << what << " element " << i;
}

/// y, mean and rstd of one row.
struct Norm {
  Norm(const Buffer &x, size_t row, size_t columns) {
    for (size_t c = 0; c < columns; ++c)
      mean += x.get(row * columns + c) / double(columns);
    double variance = 0;
    for (size_t c = 0; c < columns; ++c)
      variance += std::pow(x.get(row * columns + c) - mean, 2) / columns;
    rstd = 1 / std::sqrt(variance + 1e-5);
  }
  double mean = 0, rstd = 0;
};

struct NormCase {
  const char *kernel;
  size_t columns;
  const char *input, *output;
};

class LayerNorm : public testing::TestWithParam<NormCase> {};

TEST_P(LayerNorm, MatchesDoubleAtEveryRowCount) {
  HostKernels &kernels = HostKernels::of("layer_norm.mlir");
  ASSERT_EQ(kernels.error(), "");
  auto [name, columns, inType, outType] = GetParam();
  Buffer gamma = randomBuffer(columns, "f32", 2, 1);
  Buffer beta = randomBuffer(columns, "f32", 3);
  for (size_t rows : {1, 5, 17}) {
    if (columns > 1000 && rows > 5)
      continue;
    Buffer x = randomBuffer(rows * columns, inType, 1, 0.5f);
    Buffer y(rows * columns, outType), mean(rows, "f32"), rstd(rows, "f32");
    kernels.run(name,
                {x.data(), gamma.data(), beta.data(), y.data(), mean.data(),
                 rstd.data()},
                rows);
    for (size_t r = 0; r < rows; ++r) {
      Norm want(x, r, columns);
      expectNear(mean, r, want.mean, "mean");
      expectNear(rstd, r, want.rstd, "rstd");
      for (size_t c = 0; c < columns; ++c)
        expectNear(y, r * columns + c,
                   (x.get(r * columns + c) - want.mean) * want.rstd *
                           gamma.get(c) +
                       beta.get(c),
                   "y");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Widths, LayerNorm,
    testing::Values(NormCase{"narrow", 64, "f16", "f16"},
                    NormCase{"odd", 7, "bf16", "f32"},
                    NormCase{"wide", 768, "f32", "f16"},
                    NormCase{"block", 6000, "bf16", "bf16"},
                    NormCase{"streamed", 33000, "f32", "f16"}),
    [](const auto &info) { return std::string(info.param.kernel); });

TEST(LayerNormInPlace, OutputMayBeTheInput) {
  HostKernels &kernels = HostKernels::of("layer_norm.mlir");
  ASSERT_EQ(kernels.error(), "");
  size_t columns = 6000, rows = 3;
  Buffer gamma = randomBuffer(columns, "f32", 2, 1);
  Buffer beta = randomBuffer(columns, "f32", 3);
  Buffer x = randomBuffer(rows * columns, "bf16", 1);
  Buffer y(rows * columns, "bf16"), mean(rows, "f32"), rstd(rows, "f32");
  auto run = [&](Buffer &out) {
    kernels.run("block",
                {x.data(), gamma.data(), beta.data(), out.data(), mean.data(),
                 rstd.data()},
                rows);
  };
  run(y);
  run(x);
  EXPECT_EQ(x.bytes, y.bytes);
}

struct ActivationCase {
  const char *kernel;
  size_t columns;
  const char *type;
  double (*function)(double);
};

class Activation : public testing::TestWithParam<ActivationCase> {};

TEST_P(Activation, MatchesDouble) {
  HostKernels &kernels = HostKernels::of("activation.mlir");
  ASSERT_EQ(kernels.error(), "");
  auto [name, columns, type, function] = GetParam();
  size_t rows = 29;
  Buffer x = randomBuffer(rows * columns, type, 4);
  Buffer y(rows * columns, type);
  kernels.run(name, {x.data(), y.data()}, rows);
  for (size_t i = 0; i < x.size(); ++i)
    expectNear(y, i, function(x.get(i)), name);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Activation,
    testing::Values(
        ActivationCase{"gelu_tanh", 96, "f16",
                       [](double x) {
                         return 0.5 * x *
                                (1 + std::tanh(0.79788456 *
                                               (x + 0.044715 * x * x * x)));
                       }},
        ActivationCase{"gelu_erf", 20, "bf16",
                       [](double x) {
                         return 0.5 * x * (1 + std::erf(x * 0.70710678));
                       }},
        ActivationCase{"exp_log", 3, "f32",
                       [](double x) {
                         return 0.5 * x * (std::exp(-x) - x + 1);
                       }},
        ActivationCase{"one_column", 1, "f32",
                       [](double x) {
                         return 0.5 * x *
                                (1 + std::tanh(0.79788456 *
                                               (x + 0.044715 * x * x * x)));
                       }}),
    [](const auto &info) { return std::string(info.param.kernel); });

TEST(CrossEntropy, SkipsPaddingAndUnscoredRows) {
  HostKernels &kernels = HostKernels::of("cross_entropy.mlir");
  ASSERT_EQ(kernels.error(), "");
  for (auto [name, columns, vocab] :
       {std::tuple{"held", 384, 371}, std::tuple{"streamed", 50304, 50257}}) {
    int rows = 3;
    Buffer logits = randomBuffer(rows * columns, "f32", 5);
    // A padded logit that would win.
    logits.set(columns - 1, 100);
    std::vector<int> targets = {vocab - 1, -1, 0};
    Buffer losses(rows, "f32");
    kernels.run(name, {logits.data(), targets.data(), losses.data()}, rows);
    for (int r = 0; r < rows; ++r) {
      double sum = 0;
      for (int c = 0; c < vocab; ++c)
        sum += std::exp(double(logits.get(r * columns + c)));
      double want =
          targets[r] < 0
              ? 0
              : std::log(sum) - logits.get(r * columns + targets[r]);
      EXPECT_NEAR(losses.get(r), want, 1e-4) << name << " row " << r;
    }
  }
}

TEST(Embed, AddsTokenAndPositionRows) {
  HostKernels &kernels = HostKernels::of("embed.mlir");
  ASSERT_EQ(kernels.error(), "");
  for (auto [name, columns, type] :
       {std::tuple{"vectors", 768, "f16"}, std::tuple{"elements", 5, "f32"}}) {
    int rows = 35;
    std::vector<int> tokens(rows), starts = {3, 0, 30, 0};
    for (int r = 0; r < rows; ++r)
      tokens[r] = (r * 7) % 50;
    Buffer wte = randomBuffer(50 * columns, type, 6);
    Buffer wpe = randomBuffer(32 * columns, type, 7);
    Buffer y(rows * columns, "f32");
    kernels.run(name,
                {tokens.data(), starts.data(), wte.data(), wpe.data(),
                 y.data()},
                rows);
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c) {
        int position = std::min(starts[r / 16] + r % 16, 31);
        ASSERT_EQ(y.get(r * columns + c),
                  wte.get(tokens[r] * columns + c) +
                      wpe.get(position * columns + c))
            << name << " row " << r << " column " << c;
      }
  }
}

/// The inputs of a matvec test and its result at `rows` rows.
struct Matvec {
  Matvec(size_t n, size_t k, const char *xType, const char *type,
         const char *outType)
      : n(n), k(k), outType(outType), x(randomBuffer(8 * k, xType, 8)),
        gamma(randomBuffer(k, "f32", 9, 1)), beta(randomBuffer(k, "f32", 10)),
        weight(randomBuffer(n * k, type, 11)),
        bias(randomBuffer(n, "f32", 12)), residual(randomBuffer(8 * n, "f32", 13)) {
    for (size_t i = 0; i < weight.size(); ++i)
      weight.set(i, weight.get(i) / std::sqrt(float(k)));
  }
  /// dot(W[column], x[row]); x is normalised and rounded to W's type if asked.
  double dot(size_t row, size_t column, bool normalise) const {
    Norm norm(x, row, k);
    Buffer rounded(1, weight.type);
    double sum = 0;
    for (size_t i = 0; i < k; ++i) {
      double value = x.get(row * k + i);
      if (normalise) {
        rounded.set(0, (value - norm.mean) * norm.rstd * gamma.get(i) +
                           beta.get(i));
        value = rounded.get(0);
      }
      sum += value * weight.get(column * k + i);
    }
    return sum;
  }
  size_t n, k;
  std::string outType;
  Buffer x, gamma, beta, weight, bias, residual;
};

/// Rows of a batch are their batch-1 runs, bit for bit.
void expectRowsIndependent(const Buffer &batch, const Buffer &single, size_t n) {
  size_t bytes = n * batch.width();
  EXPECT_EQ(std::memcmp(batch.bytes.data(), single.bytes.data(), bytes), 0);
}

TEST(MatvecKernels, NormalisesThenMultiplies) {
  HostKernels &kernels = HostKernels::of("matvec.mlir");
  ASSERT_EQ(kernels.error(), "");
  Matvec m(24, 768, "f32", "f16", "f32");
  Buffer one(m.n, "f32");
  for (size_t rows : {1, 3, 8}) {
    Buffer y(rows * m.n, "f32");
    kernels.run("norm_linear",
                {m.x.data(), m.gamma.data(), m.beta.data(), m.weight.data(),
                 y.data()},
                rows);
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_NEAR(y.get(i), m.dot(i / m.n, i % m.n, true), 2e-3)
          << rows << " rows, element " << i;
    if (rows == 1)
      one = y;
    else
      expectRowsIndependent(y, one, m.n);
  }
}

TEST(MatvecKernels, SplitsRowsAndAddsBiasAndResidual) {
  HostKernels &kernels = HostKernels::of("matvec.mlir");
  ASSERT_EQ(kernels.error(), "");
  Matvec m(24, 3072, "f16", "f16", "f32");
  Buffer one(m.n, "f32");
  for (size_t rows : {1, 8}) {
    Buffer y(rows * m.n, "f32");
    kernels.run("residual",
                {m.x.data(), m.weight.data(), m.bias.data(), m.residual.data(),
                 y.data()},
                rows);
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_NEAR(y.get(i),
                  m.dot(i / m.n, i % m.n, false) + m.bias.get(i % m.n) +
                      m.residual.get(i),
                  4e-3)
          << rows << " rows, element " << i;
    if (rows == 1)
      one = y;
    else
      expectRowsIndependent(y, one, m.n);
  }
}

TEST(MatvecKernels, ResidualMayBeTheOutput) {
  HostKernels &kernels = HostKernels::of("matvec.mlir");
  ASSERT_EQ(kernels.error(), "");
  Matvec m(24, 3072, "f16", "f16", "f32");
  Buffer y(2 * m.n, "f32");
  auto run = [&](Buffer &out) {
    kernels.run("residual",
                {m.x.data(), m.weight.data(), m.bias.data(), m.residual.data(),
                 out.data()},
                2);
  };
  run(y);
  run(m.residual);
  EXPECT_EQ(std::memcmp(y.data(), m.residual.data(), y.bytes.size()), 0);
}

TEST(MatvecKernels, SmallAndOddShapes) {
  HostKernels &kernels = HostKernels::of("matvec.mlir");
  ASSERT_EQ(kernels.error(), "");
  Matvec odd(41, 37, "f32", "bf16", "f32");
  Buffer y(3 * odd.n, "f32");
  kernels.run("odd",
              {odd.x.data(), odd.gamma.data(), odd.beta.data(),
               odd.weight.data(), odd.bias.data(), odd.residual.data(),
               y.data()},
              3);
  for (size_t i = 0; i < y.size(); ++i)
    ASSERT_NEAR(y.get(i),
                odd.dot(i / odd.n, i % odd.n, true) + odd.bias.get(i % odd.n) +
                    odd.residual.get(i),
                3e-2)
        << "element " << i;
  Matvec small(64, 64, "f32", "f32", "f32");
  Buffer z(2 * small.n, "f32");
  kernels.run("gelu",
              {small.x.data(), small.gamma.data(), small.beta.data(),
               small.weight.data(), small.bias.data(), z.data()},
              2);
  for (size_t i = 0; i < z.size(); ++i) {
    double v = small.dot(i / small.n, i % small.n, true) +
               small.bias.get(i % small.n);
    double want =
        0.5 * v * (1 + std::tanh(0.79788456 * (v + 0.044715 * v * v * v)));
    ASSERT_NEAR(z.get(i), want, 1e-5) << "element " << i;
  }
}

} // namespace
