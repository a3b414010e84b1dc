//===- TrainingKernelChecks.cpp - Kernels of backward passes --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/unit/CodegenCUDA/Findings.h"
#include "test/unit/CodegenCUDA/RowKernelChecks.h"
#include "test/unit/GPT2/TrainingReference.h"

#include <cmath>
#include <numeric>

using namespace gpt2test;
using gpt2rt::DType;

namespace {

/// One instance of the flash templates in training_templates.mlir.
struct FlashCase {
  std::string name;
  DType type;
  int heads, headSize, positions;
  float dropout = 0;
  bool tf32 = false;
  int batch = 2;

  int rows() const { return batch * positions; }
  int width() const { return heads * headSize; }
  /// Of the norm of a result. A tf32 operand is off by u = 2^-11 at most and
  /// by u / sqrt(3) in the mean: a score of N(0, 1) numbers then by
  /// sqrt(2/3) u, a sum over probabilities and values by sqrt(2/3 + 1/3 + 1/3)
  /// u = 1.2 u, and dS K, where dP errs as the scores do, by
  /// sqrt(2/3 + 2/3 + 1/3 + 1/3) u = 1.5 u. Operands that are cut off instead
  /// of rounded would give twice that. The numbers of half are exact, and its
  /// probabilities, dS and results are off by u, too.
  double epsilon() const {
    return type == DType::BF16          ? 8e-3
           : type == DType::F16 || tf32 ? 0x1p-10
                                        : 2e-6;
  }
};

Matrix matrixOf(const Buffer &buffer, int64_t rows) {
  Matrix matrix(rows, buffer.size() / rows);
  for (size_t i = 0; i < buffer.size(); ++i)
    matrix.data[i] = buffer.get(i);
  return matrix;
}

std::string checkFlash(KernelRunner &runner, const FlashCase &c) {
  Findings findings;
  size_t rows = c.rows(), width = c.width();
  Buffer qkv = Buffer::random(rows * 3 * width, c.type, 1);
  Buffer dout = Buffer::random(rows * width, c.type, 2);
  Attention reference = {c.batch,
                         c.positions,
                         c.heads,
                         c.headSize,
                         1 / std::sqrt(double(c.headSize)),
                         c.dropout,
                         dropoutNumber,
                         {0x12345678, -5, 1000, 40}};
  Buffer rng = Buffer::integers({reference.rng.begin(), reference.rng.end()});
  Buffer out(rows * width, c.type), lse(rows * c.heads, DType::F32);
  Buffer dqkv(rows * 3 * width, c.type),
      workspace(rows * c.heads * 2, DType::F32);
  auto run = [&](const std::string &kernel, std::vector<Buffer *> ins,
                 std::vector<Buffer *> outs) {
    if (c.dropout != 0)
      ins.push_back(&rng);
    ins.insert(ins.end(), outs.begin(), outs.end());
    runner.run(kernel + "_" + c.name, ins, c.rows());
  };
  run("forward", {&qkv}, {&out, &lse});
  run("backward_query", {&qkv, &out, &lse, &dout}, {&dqkv, &workspace});
  run("backward_key", {&qkv, &dout, &workspace}, {&dqkv});

  Matrix x = matrixOf(qkv, c.rows());
  Attention::Results forward = reference.forward(x);
  Matrix gradient = reference.backward(x, matrixOf(dout, c.rows()));
  findings.relative("out", out, forward.out.data, c.epsilon());
  findings.relative("lse", lse, forward.lse.data, c.tf32 ? 0x1p-11 : 1e-5);
  // Queries, keys and values apart: one may be small beside another.
  for (int part = 0; part < 3; ++part) {
    Buffer got(rows * width, DType::F32);
    std::vector<double> wanted;
    for (size_t i = 0; i < dqkv.size(); ++i)
      if (i / width % 3 == size_t(part)) {
        got.set(wanted.size(), dqkv.get(i));
        wanted.push_back(gradient.data[i]);
      }
    findings.relative(std::string("d") + "qkv"[part], got, wanted, c.epsilon());
  }
  return findings.text;
}

/// `partials` [columns, blocks] against the sums of each block of rows.
void checkBlocks(Findings &findings, const std::string &what,
                 const Buffer &partials, size_t rows, size_t columns,
                 size_t blocks,
                 const std::function<double(size_t, size_t)> &element) {
  for (size_t b = 0; b < blocks; ++b)
    for (size_t c = 0; c < columns; ++c) {
      double want = 0, size = 1;
      for (size_t r = rows * b / blocks; r < rows * (b + 1) / blocks; ++r) {
        want += element(r, c);
        size += std::fabs(element(r, c));
      }
      findings.near(what, c * blocks + b, partials.get(c * blocks + b), want,
                    1e-5 * size);
    }
}

std::string checkNormGrad(KernelRunner &runner, const std::string &kernel,
                          size_t columns, DType type) {
  constexpr size_t rows = 37, blocks = 5;
  Findings findings;
  Buffer dy = Buffer::random(rows * columns, type, 1);
  Buffer x = Buffer::random(rows * columns, DType::F32, 2, 0.5f);
  Buffer gamma = Buffer::random(columns, DType::F32, 3, 1);
  Buffer mean = Buffer::random(rows, DType::F32, 4);
  Buffer rstd = Buffer::random(rows, DType::F32, 5, 2);
  Buffer dx(rows * columns, DType::F32), dgamma(columns * blocks, DType::F32),
      dbeta(columns * blocks, DType::F32);
  std::vector<Buffer *> buffers = {&dy,   &x,  &gamma,  &mean,
                                   &rstd, &dx, &dgamma, &dbeta};
  // The same tensor twice is one input.
  if (kernel == "norm_20") {
    x = dy;
    buffers.erase(buffers.begin() + 1);
  }
  runner.run(kernel, buffers, blocks);
  auto normal = [&](size_t r, size_t c) {
    return (double(x.get(r * columns + c)) - mean.get(r)) * rstd.get(r);
  };
  for (size_t r = 0; r < rows; ++r) {
    double center = 0, slope = 0;
    for (size_t c = 0; c < columns; ++c) {
      double scaled = double(dy.get(r * columns + c)) * gamma.get(c);
      center += scaled / columns;
      slope += scaled * normal(r, c) / columns;
    }
    for (size_t c = 0; c < columns; ++c) {
      double scaled = double(dy.get(r * columns + c)) * gamma.get(c);
      double want = (scaled - center - normal(r, c) * slope) * rstd.get(r);
      findings.near("dx", r * columns + c, dx.get(r * columns + c), want,
                    1e-4 * std::max(1.0, std::fabs(want)));
    }
  }
  checkBlocks(findings, "dgamma", dgamma, rows, columns, blocks,
              [&](size_t r, size_t c) {
                return dy.get(r * columns + c) * normal(r, c);
              });
  checkBlocks(
      findings, "dbeta", dbeta, rows, columns, blocks,
      [&](size_t r, size_t c) { return double(dy.get(r * columns + c)); });
  return findings.text;
}

std::string checkColumnSum(KernelRunner &runner, const std::string &kernel,
                           size_t rows, size_t columns, DType type) {
  constexpr size_t blocks = 5;
  Findings findings;
  Buffer x = Buffer::random(rows * columns, type, 1);
  Buffer sums(columns * blocks, DType::F32);
  runner.run(kernel, {&x, &sums}, blocks);
  checkBlocks(
      findings, "sums", sums, rows, columns, blocks,
      [&](size_t r, size_t c) { return double(x.get(r * columns + c)); });
  return findings.text;
}

std::string checkSquareSum(KernelRunner &runner, const std::string &kernel,
                           size_t rows, size_t columns) {
  constexpr size_t blocks = 5;
  Findings findings;
  Buffer g = Buffer::random(rows * columns, DType::F32, 1);
  Buffer state = Buffer::random(8, DType::F32, 2, 4);
  Buffer sums(blocks, DType::F32);
  runner.run(kernel, {&g, &state, &sums}, blocks);
  checkBlocks(
      findings, "squares", sums, rows, 1, blocks, [&](size_t r, size_t) {
        double sum = 0;
        for (size_t c = 0; c < columns; ++c)
          sum += std::pow(double(g.get(r * columns + c)) / state.get(0), 2);
        return sum;
      });
  return findings.text;
}

/// Logits become their gradients where they lie.
std::string checkLossGrad(KernelRunner &runner, const std::string &kernel,
                          size_t columns, int vocab, DType type) {
  constexpr size_t rows = 9, blocks = 2;
  Findings findings;
  Buffer logits = Buffer::random(rows * columns, type, 1);
  for (size_t i = 0; i < logits.size(); ++i) // padding is not read as a score
    if (int(i % columns) >= vocab)
      logits.set(i, 60);
  Buffer before = logits;
  std::vector<int> labels = {0, 5, -1, vocab - 1, 7, 7, 300, -1, 1};
  Buffer targets = Buffer::integers(labels);
  Buffer parameters = Buffer::random(16, DType::F32, 2);
  Buffer state = Buffer::random(8, DType::F32, 3, 100);
  Buffer losses(rows, DType::F32), total(blocks, DType::F32);
  runner.run(kernel,
             {&logits, &targets, &parameters, &state, &losses, &total, &logits},
             blocks);
  double scale = double(parameters.get(1)) * state.get(0);
  double epsilon = type == DType::F32 ? 1e-5 : type == DType::F16 ? 1e-3 : 8e-3;
  std::vector<double> wantLosses;
  for (size_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int c = 0; c < vocab; ++c)
      sum += std::exp(double(before.get(r * columns + c)));
    bool scored = labels[r] >= 0;
    wantLosses.push_back(
        scored ? std::log(sum) - before.get(r * columns + labels[r]) : 0);
    findings.near("loss", r, losses.get(r), wantLosses[r], 2e-5);
    for (size_t c = 0; c < columns; ++c) {
      double want = (std::exp(double(before.get(r * columns + c))) / sum -
                     (int(c) == labels[r])) *
                    scale;
      if (!scored || int(c) >= vocab)
        want = 0;
      // Half precision has no more digits below 6e-5.
      findings.near("dlogits", r * columns + c, logits.get(r * columns + c),
                    want, epsilon * std::fabs(want) + 1e-7);
    }
  }
  checkBlocks(findings, "total", total, rows, 1, blocks,
              [&](size_t r, size_t) { return wantLosses[r]; });
  return findings.text;
}

/// Tokens of which one takes most places, as commas do in text.
std::string checkEmbedGrad(KernelRunner &runner, const std::string &kernel,
                           size_t columns, int vocab, int positions) {
  Findings findings;
  size_t rows = 4 * positions;
  Buffer dx = Buffer::random(rows * columns, DType::F32, 1);
  Buffer dwte = Buffer::random(vocab * columns, DType::F32, 2);
  Buffer dwpe = Buffer::random((positions + 3) * columns, DType::F32, 3);
  std::vector<int> tokens, order(rows);
  for (size_t r = 0; r < rows; ++r)
    tokens.push_back(r % 3 ? 4 : int(r * 7 % vocab));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return tokens[a] < tokens[b]; });
  std::vector<double> wantTokens, wantPositions;
  for (size_t i = 0; i < dwte.size(); ++i)
    wantTokens.push_back(dwte.get(i));
  for (size_t i = 0; i < dwpe.size(); ++i)
    wantPositions.push_back(dwpe.get(i));
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) {
      wantTokens[tokens[r] * columns + c] += dx.get(r * columns + c);
      wantPositions[r % positions * columns + c] += dx.get(r * columns + c);
    }
  Buffer dTokens = Buffer::integers(tokens), dOrder = Buffer::integers(order);
  runner.run(kernel, {&dx, &dTokens, &dOrder, &dwte, &dwpe}, int(rows));
  findings.relative("dwte", dwte, wantTokens, 1e-6);
  findings.relative("dwpe", dwpe, wantPositions, 1e-6);
  for (size_t i = 0; i < dwte.size(); ++i)
    findings.near("dwte", i, dwte.get(i), wantTokens[i], 1e-4);
  for (size_t i = 0; i < dwpe.size(); ++i)
    findings.near("dwpe", i, dwpe.get(i), wantPositions[i], 1e-4);
  return findings.text;
}

} // namespace

static void addColumnChecks(std::vector<RowKernelCheck> &checks) {
  auto add = [&](const std::string &kernel, auto check, auto... arguments) {
    checks.push_back(
        {"Columns_" + kernel, "column_sums.mlir", [=](KernelRunner &runner) {
           return check(runner, kernel, arguments...);
         }});
  };
  add("norm_768", checkNormGrad, 768, DType::BF16);
  add("norm_1600", checkNormGrad, 1600, DType::F16);
  add("norm_20", checkNormGrad, 20, DType::F32);
  add("sum_2304", checkColumnSum, 37, 2304, DType::BF16);
  add("sum_6400", checkColumnSum, 37, 6400, DType::F16);
  add("sum_7", checkColumnSum, 37, 7, DType::F32);
  add("sum_vector", checkColumnSum, 200, 1, DType::F32);
  add("square_matrix", checkSquareSum, 37, 768);
  add("square_vector", checkSquareSum, 200, 1);
  add("loss_held", checkLossGrad, 384, 371, DType::BF16);
  add("loss_staged", checkLossGrad, 50304, 50257, DType::F16);
  add("loss_streamed", checkLossGrad, 50304, 50257, DType::F32);
}

void gpt2test::addTrainingKernelChecks(std::vector<RowKernelCheck> &checks) {
  static const std::vector<FlashCase> flashCases = {
      {"half_64", DType::F16, 2, 64, 150},
      {"bfloat_32_drop", DType::BF16, 2, 32, 70, 0.25f},
      {"half_80", DType::F16, 1, 80, 64},
      {"half_128_drop", DType::F16, 1, 128, 130, 0.1f},
      {"half_25", DType::F16, 2, 25, 40},
      {"single_64_drop", DType::F32, 2, 64, 50, 0.25f},
      {"single_20", DType::F32, 2, 20, 33},
      {"tf32_64", DType::F32, 2, 64, 150, 0, true},
      {"tf32_64_drop", DType::F32, 1, 64, 70, 0.25f, true},
      {"tf32_32", DType::F32, 2, 32, 70, 0, true},
      {"tf32_80_drop", DType::F32, 1, 80, 70, 0.1f, true},
      {"tf32_96", DType::F32, 1, 96, 40, 0, true},
      {"tf32_128_drop", DType::F32, 1, 128, 130, 0.1f, true},
      {"tf32_25", DType::F32, 2, 25, 40, 0, true}};
  addColumnChecks(checks);
  const std::string file = "training_templates.mlir";
  for (const FlashCase &c : flashCases)
    checks.push_back({"flash_" + c.name, file, [&c](KernelRunner &runner) {
                        return checkFlash(runner, c);
                      }});
  checks.push_back({"embed_grad_wide", file, [](KernelRunner &runner) {
                      return checkEmbedGrad(runner, "embed_grad_wide", 130, 20,
                                            70);
                    }});
  checks.push_back({"embed_grad_narrow", file, [](KernelRunner &runner) {
                      return checkEmbedGrad(runner, "embed_grad_narrow", 20, 9,
                                            50);
                    }});
}
