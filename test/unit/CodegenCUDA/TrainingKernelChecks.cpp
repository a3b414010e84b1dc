//===- TrainingKernelChecks.cpp - Kernels of backward passes --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/unit/CodegenCUDA/Findings.h"
#include "test/unit/CodegenCUDA/RowKernelChecks.h"

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
  int batch = 2;

  int rows() const { return batch * positions; }
  int width() const { return heads * headSize; }
};

const int32_t rngState[] = {0x12345678, -5, 1000, 40};

/// The hash of docs/architecture.md, written a second time.
uint32_t mix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352d;
  x ^= x >> 15;
  x *= 0x846ca68b;
  return x ^ x >> 16;
}

/// What dropout multiplies a probability by.
double dropoutFactor(const FlashCase &c, int sequence, int query, int head,
                     int key) {
  if (c.dropout == 0)
    return 1;
  uint32_t hash = mix(uint32_t(rngState[0]) + 0x9e3779b9u * dropoutNumber);
  for (int part :
       {rngState[1], rngState[2], rngState[3] + sequence, query, head, key})
    hash = mix(hash ^ uint32_t(part));
  return hash >= uint32_t(double(c.dropout) * 4294967296.0)
             ? 1 / (1 - double(c.dropout))
             : 0;
}

/// Attention and its gradients in double.
struct FlashReference {
  std::vector<double> out, lse, dqkv;

  FlashReference(const FlashCase &c, const Buffer &qkv, const Buffer &dout)
      : out(c.rows() * c.width()), lse(c.rows() * c.heads),
        dqkv(3 * out.size()), c(c) {
    for (size_t i = 0; i < qkv.size(); ++i)
      x.push_back(qkv.get(i));
    for (size_t i = 0; i < dout.size(); ++i)
      g.push_back(dout.get(i));
    for (int b = 0; b < c.batch; ++b)
      for (int h = 0; h < c.heads; ++h)
        for (int t = 0; t < c.positions; ++t)
          addQuery(b, h, t);
  }

private:
  /// Of part 0 (query), 1 (key) or 2 (value) of position t.
  size_t at(int b, int h, int t, int part) const {
    return (size_t(b) * c.positions + t) * 3 * c.width() + part * c.width() +
           h * c.headSize;
  }
  double dot(const double *a, const double *b) const {
    return std::inner_product(a, a + c.headSize, b, 0.0);
  }

  void addQuery(int b, int h, int t) {
    double scale = 1 / std::sqrt(double(c.headSize));
    std::vector<double> p(t + 1), factor(t + 1), gradient(t + 1);
    double top = -INFINITY, sum = 0, delta = 0;
    size_t row = size_t(b) * c.positions + t;
    const double *query = &x[at(b, h, t, 0)];
    const double *dout = &g[row * c.width() + h * c.headSize];
    for (int k = 0; k <= t; ++k) {
      p[k] = scale * dot(query, &x[at(b, h, k, 1)]);
      factor[k] = dropoutFactor(c, b, t, h, k);
      top = std::max(top, p[k]);
    }
    for (int k = 0; k <= t; ++k)
      sum += p[k] = std::exp(p[k] - top);
    lse[row * c.heads + h] = top + std::log(sum);
    for (int k = 0; k <= t; ++k) {
      p[k] /= sum;
      gradient[k] = factor[k] * dot(dout, &x[at(b, h, k, 2)]);
      delta += p[k] * gradient[k];
    }
    for (int k = 0; k <= t; ++k)
      for (int d = 0; d < c.headSize; ++d) {
        double ds = scale * p[k] * (gradient[k] - delta);
        out[row * c.width() + h * c.headSize + d] +=
            p[k] * factor[k] * x[at(b, h, k, 2) + d];
        dqkv[at(b, h, t, 0) + d] += ds * x[at(b, h, k, 1) + d];
        dqkv[at(b, h, k, 1) + d] += ds * query[d];
        dqkv[at(b, h, k, 2) + d] += p[k] * factor[k] * dout[d];
      }
  }

  const FlashCase &c;
  std::vector<double> x, g;
};

std::string checkFlash(KernelRunner &runner, const FlashCase &c) {
  Findings findings;
  size_t rows = c.rows(), width = c.width();
  Buffer qkv = Buffer::random(rows * 3 * width, c.type, 1);
  Buffer dout = Buffer::random(rows * width, c.type, 2);
  Buffer rng = Buffer::integers({rngState, rngState + 4});
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

  FlashReference want(c, qkv, dout);
  double epsilon = c.type == DType::F32   ? 2e-6
                   : c.type == DType::F16 ? 1e-3
                                          : 8e-3;
  findings.relative("out", out, want.out, epsilon);
  findings.relative("lse", lse, want.lse, 1e-5);
  findings.relative("dqkv", dqkv, want.dqkv, epsilon);
  // Queries, keys and values apart: one may be small beside another.
  for (int part = 0; part < 3; ++part) {
    Buffer got(rows * width, DType::F32);
    std::vector<double> wanted;
    for (size_t i = 0; i < dqkv.size(); ++i)
      if (i / width % 3 == size_t(part)) {
        got.set(wanted.size(), dqkv.get(i));
        wanted.push_back(want.dqkv[i]);
      }
    findings.relative(std::string("d") + "qkv"[part], got, wanted, epsilon);
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
  add("loss_shared", checkLossGrad, 50304, 50257, DType::F16);
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
      {"single_20", DType::F32, 2, 20, 33}};
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
