//===- RowKernelChecks.cpp - What row and matvec kernels compute ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "RowKernelChecks.h"
#include "runtime/Support/Convert.h"
#include "test/unit/CodegenCUDA/Findings.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

using namespace gpt2test;
using gpt2rt::DType;

Buffer::Buffer(size_t count, DType type)
    : type(type), bytes(count * sizeOf(type), std::byte(0xff)) {}

Buffer Buffer::random(size_t count, DType type, unsigned seed, float mean) {
  Buffer buffer(count, type);
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(mean, 1);
  for (size_t i = 0; i < count; ++i)
    buffer.set(i, normal(engine));
  return buffer;
}

Buffer Buffer::integers(const std::vector<int> &values) {
  Buffer buffer(values.size(), DType::I32);
  std::memcpy(buffer.bytes.data(), values.data(), buffer.bytes.size());
  return buffer;
}

float Buffer::get(size_t i) const {
  float value;
  (void)gpt2rt::convertElements(type, &bytes[i * sizeOf(type)], DType::F32,
                                &value, 1);
  return value;
}

void Buffer::set(size_t i, float value) {
  (void)gpt2rt::convertElements(DType::F32, &value, type,
                                &bytes[i * sizeOf(type)], 1);
}

namespace {

/// Statistics of one row.
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

std::string checkLayerNorm(KernelRunner &runner, const std::string &kernel,
                           size_t columns, DType inType, DType outType) {
  Findings findings;
  Buffer gamma = Buffer::random(columns, DType::F32, 2, 1);
  Buffer beta = Buffer::random(columns, DType::F32, 3);
  for (size_t rows : {1, 5, 17}) {
    // Wide rows take the host's reference long.
    if (columns > 1000 && rows > 5)
      continue;
    Buffer x = Buffer::random(rows * columns, inType, 1, 0.5f);
    Buffer y(rows * columns, outType), mean(rows, DType::F32),
        rstd(rows, DType::F32);
    runner.run(kernel, {&x, &gamma, &beta, &y, &mean, &rstd}, rows);
    for (size_t r = 0; r < rows; ++r) {
      Norm want(x, r, columns);
      findings.rounded("mean", mean, r, want.mean);
      findings.rounded("rstd", rstd, r, want.rstd);
      for (size_t i = r * columns; i < (r + 1) * columns; ++i)
        findings.rounded("y", y, i,
                         (x.get(i) - want.mean) * want.rstd *
                                 gamma.get(i % columns) +
                             beta.get(i % columns));
    }
  }
  return findings.text;
}

std::string checkLayerNormInPlace(KernelRunner &runner) {
  size_t columns = 6000, rows = 3;
  Buffer gamma = Buffer::random(columns, DType::F32, 2, 1);
  Buffer beta = Buffer::random(columns, DType::F32, 3);
  Buffer x = Buffer::random(rows * columns, DType::BF16, 1);
  Buffer y(rows * columns, DType::BF16), mean(rows, DType::F32),
      rstd(rows, DType::F32);
  runner.run("block", {&x, &gamma, &beta, &y, &mean, &rstd}, rows);
  runner.run("block", {&x, &gamma, &beta, &x, &mean, &rstd}, rows);
  Findings findings;
  findings.equalBytes("results in and out of place", x, y, y.size());
  return findings.text;
}

double geluTanh(double x) {
  return 0.5 * x * (1 + std::tanh(0.79788456 * (x + 0.044715 * x * x * x)));
}
double geluErf(double x) { return 0.5 * x * (1 + std::erf(x * 0.70710678)); }
double expLog(double x) { return 0.5 * x * (std::exp(-x) - x + 1); }

std::string checkActivation(KernelRunner &runner, const std::string &kernel,
                            size_t columns, DType type,
                            double (*function)(double)) {
  Findings findings;
  size_t rows = 29;
  Buffer x = Buffer::random(rows * columns, type, 4);
  Buffer y(rows * columns, type);
  runner.run(kernel, {&x, &y}, rows);
  for (size_t i = 0; i < x.size(); ++i)
    findings.rounded("y", y, i, function(x.get(i)));
  return findings.text;
}

std::string checkCrossEntropy(KernelRunner &runner, const std::string &kernel,
                              int columns, int vocab) {
  Findings findings;
  int rows = 3;
  Buffer logits = Buffer::random(rows * columns, DType::F32, 5);
  // A padded logit that would win.
  logits.set(columns - 1, 100);
  std::vector<int> targets = {vocab - 1, -1, 0};
  Buffer labels = Buffer::integers(targets);
  Buffer losses(rows, DType::F32);
  runner.run(kernel, {&logits, &labels, &losses}, rows);
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int c = 0; c < vocab; ++c)
      sum += std::exp(double(logits.get(r * columns + c)));
    double want = targets[r] < 0
                      ? 0
                      : std::log(sum) - logits.get(r * columns + targets[r]);
    findings.near("loss", r, losses.get(r), want, 1e-4);
  }
  return findings.text;
}

std::string checkEmbed(KernelRunner &runner, const std::string &kernel,
                       int columns, DType type) {
  Findings findings;
  int rows = 35;
  std::vector<int> tokens(rows), starts = {3, 0, 30, 0};
  for (int r = 0; r < rows; ++r)
    tokens[r] = (r * 7) % 50;
  Buffer ids = Buffer::integers(tokens), begins = Buffer::integers(starts);
  Buffer wte = Buffer::random(50 * columns, type, 6);
  Buffer wpe = Buffer::random(32 * columns, type, 7);
  Buffer y(rows * columns, DType::F32);
  runner.run(kernel, {&ids, &begins, &wte, &wpe, &y}, rows);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) {
      int position = std::min(starts[r / 16] + r % 16, 31);
      findings.near("y", r * columns + c, y.get(r * columns + c),
                    wte.get(tokens[r] * columns + c) +
                        wpe.get(position * columns + c),
                    0);
    }
  return findings.text;
}

/// The inputs of a matvec and its dot products in double.
struct Matvec {
  Matvec(size_t n, size_t k, DType xType, DType type)
      : n(n), k(k), x(Buffer::random(8 * k, xType, 8)),
        gamma(Buffer::random(k, DType::F32, 9, 1)),
        beta(Buffer::random(k, DType::F32, 10)),
        weight(Buffer::random(n * k, type, 11)),
        bias(Buffer::random(n, DType::F32, 12)),
        residual(Buffer::random(8 * n, DType::F32, 13)) {
    for (size_t i = 0; i < weight.size(); ++i)
      weight.set(i, weight.get(i) / std::sqrt(float(k)));
  }
  /// Element i of x W^T; x is normalised and rounded to W's type if asked.
  double product(size_t i, bool normalise) const {
    size_t row = i / n, column = i % n;
    Norm norm(x, row, k);
    Buffer rounded(1, weight.type);
    double sum = 0;
    for (size_t j = 0; j < k; ++j) {
      double value = x.get(row * k + j);
      if (normalise) {
        rounded.set(0, (value - norm.mean) * norm.rstd * gamma.get(j) +
                           beta.get(j));
        value = rounded.get(0);
      }
      sum += value * weight.get(column * k + j);
    }
    return sum;
  }
  size_t n, k;
  Buffer x, gamma, beta, weight, bias, residual;
};

std::string checkNormalised(KernelRunner &runner) {
  Findings findings;
  Matvec m(24, 768, DType::F32, DType::F16);
  Buffer first(8 * m.n, DType::F32);
  for (int rows : {1, 3, 8}) {
    Buffer y(rows * m.n, DType::F32);
    runner.run("norm_linear", {&m.x, &m.gamma, &m.beta, &m.weight, &y}, rows);
    for (size_t i = 0; i < y.size(); ++i)
      findings.near("y of " + std::to_string(rows) + " rows", i, y.get(i),
                    m.product(i, true), 2e-3);
    if (rows == 1)
      first = y;
    findings.equalBytes("row 0 of a batch and alone", y, first, m.n);
  }
  Matvec one(1600, 1600, DType::F32, DType::F16);
  Buffer y(one.n, DType::F32);
  runner.run("norm_linear_one",
             {&one.x, &one.gamma, &one.beta, &one.weight, &y}, 1);
  for (size_t i = 0; i < y.size(); ++i)
    findings.near("y of the kernel for one row", i, y.get(i),
                  one.product(i, true), 2e-3);
  return findings.text;
}

std::string checkWide(KernelRunner &runner) {
  Findings findings;
  Matvec m(2300, 1600, DType::F16, DType::F16);
  Buffer y(m.n, DType::F32);
  runner.run("wide_one", {&m.x, &m.weight, &y}, 1);
  for (size_t i = 0; i < y.size(); ++i)
    findings.near("y", i, y.get(i), m.product(i, false), 2e-3);
  return findings.text;
}

std::string checkSplit(KernelRunner &runner) {
  Findings findings;
  Matvec m(24, 3072, DType::F16, DType::F16);
  Buffer first(8 * m.n, DType::F32);
  for (int rows : {1, 3}) {
    Buffer y(rows * m.n, DType::F32);
    runner.run("residual", {&m.x, &m.weight, &m.bias, &m.residual, &y}, rows);
    for (size_t i = 0; i < y.size(); ++i)
      findings.near(
          "y of " + std::to_string(rows) + " rows", i, y.get(i),
          m.product(i, false) + m.bias.get(i % m.n) + m.residual.get(i), 4e-3);
    if (rows == 1)
      first = y;
    findings.equalBytes("row 0 of a batch and alone", y, first, m.n);
  }
  Buffer y(2 * m.n, DType::F32);
  runner.run("residual", {&m.x, &m.weight, &m.bias, &m.residual, &y}, 2);
  runner.run("residual", {&m.x, &m.weight, &m.bias, &m.residual, &m.residual},
             2);
  findings.equalBytes("results in and out of place", m.residual, y, y.size());
  return findings.text;
}

std::string checkMany(KernelRunner &runner) {
  Findings findings;
  Matvec m(420, 10240, DType::F16, DType::F16);
  Buffer y(2 * m.n, DType::F32);
  runner.run("many", {&m.x, &m.weight, &m.bias, &y}, 2);
  for (size_t i = 0; i < y.size(); ++i)
    findings.near("y", i, y.get(i), m.product(i, false) + m.bias.get(i % m.n),
                  2e-3);
  return findings.text;
}

std::string checkOdd(KernelRunner &runner) {
  Findings findings;
  Matvec m(41, 37, DType::F32, DType::BF16);
  Buffer y(3 * m.n, DType::F32);
  runner.run("odd",
             {&m.x, &m.gamma, &m.beta, &m.weight, &m.bias, &m.residual, &y}, 3);
  for (size_t i = 0; i < y.size(); ++i)
    findings.near("y", i, y.get(i),
                  m.product(i, true) + m.bias.get(i % m.n) + m.residual.get(i),
                  3e-2);
  return findings.text;
}

std::string checkGelu(KernelRunner &runner) {
  Findings findings;
  Matvec m(64, 64, DType::F32, DType::F32);
  Buffer y(2 * m.n, DType::F32);
  runner.run("gelu", {&m.x, &m.gamma, &m.beta, &m.weight, &m.bias, &y}, 2);
  for (size_t i = 0; i < y.size(); ++i)
    findings.near("y", i, y.get(i),
                  geluTanh(m.product(i, true) + m.bias.get(i % m.n)), 1e-5);
  return findings.text;
}

std::vector<RowKernelCheck> makeChecks() {
  std::vector<RowKernelCheck> checks;
  auto norm = [&](const char *kernel, size_t columns, DType in, DType out) {
    checks.push_back({std::string("LayerNorm_") + kernel, "layer_norm.mlir",
                      [=](KernelRunner &runner) {
                        return checkLayerNorm(runner, kernel, columns, in, out);
                      }});
  };
  norm("narrow", 64, DType::F16, DType::F16);
  norm("odd", 7, DType::BF16, DType::F32);
  norm("wide", 768, DType::F32, DType::F16);
  norm("block", 6000, DType::BF16, DType::BF16);
  norm("streamed", 33000, DType::F32, DType::F16);
  checks.push_back(
      {"LayerNorm_in_place", "layer_norm.mlir", checkLayerNormInPlace});
  auto activation = [&](const char *kernel, size_t columns, DType type,
                        double (*function)(double)) {
    checks.push_back({std::string("Activation_") + kernel, "activation.mlir",
                      [=](KernelRunner &runner) {
                        return checkActivation(runner, kernel, columns, type,
                                               function);
                      }});
  };
  activation("gelu_tanh", 96, DType::F16, geluTanh);
  activation("gelu_erf", 20, DType::BF16, geluErf);
  activation("exp_log", 3, DType::F32, expLog);
  activation("one_column", 1, DType::F32, geluTanh);
  checks.push_back(
      {"CrossEntropy_held", "cross_entropy.mlir", [](KernelRunner &runner) {
         return checkCrossEntropy(runner, "held", 384, 371);
       }});
  checks.push_back(
      {"CrossEntropy_streamed", "cross_entropy.mlir", [](KernelRunner &runner) {
         return checkCrossEntropy(runner, "streamed", 50304, 50257);
       }});
  checks.push_back({"Embed_vectors", "embed.mlir", [](KernelRunner &runner) {
                      return checkEmbed(runner, "vectors", 768, DType::F16);
                    }});
  checks.push_back({"Embed_elements", "embed.mlir", [](KernelRunner &runner) {
                      return checkEmbed(runner, "elements", 5, DType::F32);
                    }});
  checks.push_back({"Matvec_normalises", "matvec.mlir", checkNormalised});
  checks.push_back({"Matvec_splits_rows", "matvec.mlir", checkSplit});
  checks.push_back({"Matvec_loops", "matvec.mlir", checkMany});
  checks.push_back({"Matvec_wide", "matvec.mlir", checkWide});
  checks.push_back({"Matvec_odd", "matvec.mlir", checkOdd});
  checks.push_back({"Matvec_gelu", "matvec.mlir", checkGelu});
  gpt2test::addTrainingKernelChecks(checks);
  return checks;
}

} // namespace

const std::vector<RowKernelCheck> &gpt2test::allRowKernelChecks() {
  static const std::vector<RowKernelCheck> checks = makeChecks();
  return checks;
}
