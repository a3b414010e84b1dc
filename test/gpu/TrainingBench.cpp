//===- TrainingBench.cpp - Kernels of a training step, timed --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// training_bench FOLDER ARCH [FILTER]: times every kernel of
// test/gpu/training_bench.mlir whose name holds FILTER at the sizes of gpt2
// with 64 sequences of 1024 tokens, on random data that no cache holds, and
// prints what share of memory bandwidth or how many FLOP/s that is. FOLDER is
// what `plan-to-cuda training_bench.mlir --rows=65536,50304,32768` wrote.
//
//===----------------------------------------------------------------------===//
#include "test/gpu/GpuKernel.h"
#include "test/gpu/KernelShapes.h"
#include "test/gpu/MatmulChecks.h"

#include <cmath>
#include <cstdio>
#include <numeric>

using namespace gpt2rt;
using namespace gpt2rt::gputest;

namespace {

constexpr size_t batch = 64, tokens = 1024, rows = batch * tokens;
constexpr size_t width = 768, heads = 12, vocab = 50304, blocks = 512;

/// A device array of a kernel: how it is filled.
struct Array {
  enum Kind { F32, BF16, F16, Labels, Tokens, Order, Rng } kind;
  size_t elements;
  size_t bytes() const {
    return elements * (kind == BF16 || kind == F16 ? 2 : 4);
  }
};

struct Timing {
  std::string kernel;
  int rows;
  std::vector<Array> arrays;
  /// Arrays that lie where another does: (argument, argument before it).
  std::vector<std::pair<int, int>> aliases;
  double bytes = 0, flops = 0;
};

/// Tokens as frequent as words are: rank r in proportion to 1 / r.
std::vector<int32_t> naturalTokens() {
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> uniform(0, std::log(50257.0));
  std::vector<int32_t> result(rows);
  for (int32_t &token : result)
    token = static_cast<int32_t>(std::exp(uniform(engine))) - 1;
  return result;
}

std::vector<int32_t> tokenOrder() {
  std::vector<int32_t> all = naturalTokens(), order(rows);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return all[a] < all[b]; });
  return order;
}

/// Device memory with a block of N(0, 1) repeated.
class Filled {
public:
  Filled(Bench &bench, const Array &array)
      : memory(require(
            cuda::DeviceMemory::allocate(bench.context, array.bytes()))) {
    std::vector<std::byte> block = blockOf(array);
    const cuda::Driver &driver = bench.context.driver();
    for (size_t at = 0; at < array.bytes(); at += block.size())
      require(cuda::toStatus(
          driver,
          driver.cuMemcpyHtoDAsync(memory.address() + at, block.data(),
                                   std::min(block.size(), array.bytes() - at),
                                   bench.context.stream()),
          "cuMemcpyHtoDAsync"));
    require(bench.context.synchronize());
  }
  CUdeviceptr address() const { return memory.address(); }

private:
  static std::vector<std::byte> blockOf(const Array &array) {
    constexpr size_t most = size_t(1) << 22;
    auto integers = [](const std::vector<int32_t> &values) {
      auto bytes = std::as_bytes(std::span(values));
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    if (array.kind == Array::Labels || array.kind == Array::Tokens)
      return integers(naturalTokens());
    if (array.kind == Array::Order)
      return integers(tokenOrder());
    if (array.kind == Array::Rng)
      return integers({1, 2, 3, 4});
    DType type = array.kind == Array::F32   ? DType::F32
                 : array.kind == Array::F16 ? DType::F16
                                            : DType::BF16;
    return encode(type, randomValues(type, std::min(array.elements, most), 7));
  }

  cuda::DeviceMemory memory;
};

Array f32(size_t elements) { return {Array::F32, elements}; }

/// Causal attention: half of the scores; `products` of them per element.
std::vector<Timing> flashTimings(const std::string &name, Array::Kind kind,
                                 size_t heads, size_t headSize, bool drops) {
  size_t n = rows * width;
  Array qkv = {kind, 3 * n}, out = {kind, n};
  double product = 2.0 * batch * heads * tokens * tokens / 2 * headSize;
  Array lse = f32(rows * heads), workspace = f32(2 * rows * heads);
  auto arrays = [&](std::vector<Array> ins, const std::vector<Array> &outs) {
    if (drops)
      ins.push_back({Array::Rng, 4});
    ins.insert(ins.end(), outs.begin(), outs.end());
    return ins;
  };
  return {
      {"forward_" + name, rows, arrays({qkv}, {out, lse}), {}, 0, 2 * product},
      {"backward_query_" + name,
       rows,
       arrays({qkv, out, lse, out}, {qkv, workspace}),
       {},
       0,
       3 * product},
      {"backward_key_" + name,
       rows,
       arrays({qkv, out, workspace}, {qkv}),
       {},
       0,
       4 * product}};
}

Timing normGrad(const std::string &name, size_t rows, size_t width) {
  size_t n = rows * width;
  return {name,
          blocks,
          {{Array::BF16, n},
           f32(n),
           f32(width),
           f32(rows),
           f32(rows),
           f32(n),
           f32(width * blocks),
           f32(width * blocks)},
          {},
          10.0 * n};
}

Timing columnSum(const std::string &name, size_t width) {
  return {name,
          blocks,
          {{Array::BF16, rows * width}, f32(width * blocks)},
          {},
          2.0 * rows * width};
}

std::vector<Timing> allTimings() {
  std::vector<Timing> all;
  for (auto &list : {flashTimings("bf16", Array::BF16, 12, 64, false),
                     flashTimings("drop", Array::BF16, 12, 64, true),
                     flashTimings("wide", Array::F16, 6, 128, false),
                     flashTimings("tf32", Array::F32, 12, 64, false),
                     flashTimings("tf32_drop", Array::F32, 12, 64, true),
                     flashTimings("f32", Array::F32, 12, 64, false)})
    all.insert(all.end(), list.begin(), list.end());
  all.push_back(normGrad("norm_grad_768", rows, width));
  all.push_back(normGrad("norm_grad_1600", rows / 2, 1600));
  all.push_back(columnSum("column_sum_768", width));
  all.push_back(columnSum("column_sum_2304", 3 * width));
  Array hidden = {Array::BF16, rows * 4 * width};
  all.push_back({"activation_grad",
                 rows,
                 {hidden, hidden, hidden},
                 {},
                 3.0 * hidden.bytes()});
  Array logits = {Array::BF16, rows * vocab};
  all.push_back({"loss_grad",
                 blocks,
                 {logits,
                  {Array::Labels, rows},
                  f32(16),
                  f32(8),
                  f32(rows),
                  f32(blocks),
                  logits},
                 {{6, 0}},
                 2.0 * logits.bytes()});
  all.push_back({"embed_grad",
                 rows,
                 {f32(rows * width),
                  {Array::Tokens, rows},
                  {Array::Order, rows},
                  f32(vocab * width),
                  f32(tokens * width)},
                 {},
                 8.0 * rows * width});
  Array table = f32(vocab * width);
  all.push_back({"square_sum",
                 blocks,
                 {table, f32(8), f32(blocks)},
                 {},
                 4.0 * vocab * width});
  all.push_back({"adamw",
                 vocab,
                 {table,
                  table,
                  table,
                  table,
                  f32(16),
                  f32(8),
                  table,
                  table,
                  table,
                  table,
                  {Array::BF16, vocab * width}},
                 {{6, 0}, {7, 1}, {8, 2}, {9, 3}},
                 34.0 * vocab * width});
  Array branch = {Array::BF16, rows * width};
  all.push_back({"dropout",
                 rows,
                 {branch, {Array::Rng, 4}, branch},
                 {},
                 2.0 * branch.bytes()});
  return all;
}

void run(Bench &bench, const KernelShapes &shapes, const std::string &path,
         const Timing &timing) {
  GpuKernel kernel(bench, path, timing.kernel);
  std::vector<std::unique_ptr<Filled>> filled;
  GpuKernel::Arguments arguments;
  for (size_t i = 0; i < timing.arrays.size(); ++i) {
    int place = -1;
    for (auto [argument, before] : timing.aliases)
      if (argument == static_cast<int>(i))
        place = before;
    if (place < 0)
      filled.push_back(std::make_unique<Filled>(bench, timing.arrays[i]));
    arguments.push_back(place < 0 ? filled.back()->address()
                                  : arguments[place]);
  }
  double us = kernel.time(shapes.at(timing.kernel, timing.rows), timing.rows, 2,
                          [&](int) { return arguments; });
  std::printf("%-24s %10.1f us", timing.kernel.c_str(), us);
  if (timing.bytes != 0)
    std::printf("  %6.2f TB/s", timing.bytes / us * 1e-6);
  if (timing.flops != 0)
    std::printf("  %6.1f TFLOP/s", timing.flops / us * 1e-6);
  std::printf("\n");
  std::fflush(stdout);
}

/// The products of a linear layer K -> N: forward, dx and dW.
void runLinear(Bench &bench, uint64_t n, uint64_t k) {
  cuda::MatmulShape shape;
  shape.input = shape.output = DType::BF16;
  auto time = [&](const char *what) {
    double us = timeMatmul(bench, shape);
    double flops = 2.0 * double(shape.m) * double(shape.n) * double(shape.k);
    std::printf("%-8s %5lu -> %5lu   %10.1f us  %6.1f TFLOP/s\n", what, k, n,
                us, flops / us * 1e-6);
    std::fflush(stdout);
  };
  shape.m = rows, shape.n = n, shape.k = k;
  time("forward");
  shape.n = k, shape.k = n, shape.weightNk = false;
  time("dx");
  shape.m = n, shape.k = rows;
  shape.transposeA = shape.accumulate = true;
  shape.output = DType::F32;
  time("dW");
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: training_bench FOLDER ARCH [FILTER]\n");
    return 2;
  }
  std::string folder = argv[1], filter = argc == 4 ? argv[3] : "";
  const cuda::Driver *driver = require(cuda::loadDriver());
  std::unique_ptr<cuda::Context> context =
      require(cuda::Context::create(*driver, 0));
  Bench bench = {*context, folder};
  KernelShapes shapes(folder);
  for (const Timing &timing : allTimings())
    if (timing.kernel.find(filter) != std::string::npos)
      run(bench, shapes,
          folder + "/" + timing.kernel + "." + argv[2] + ".cubin", timing);
  if (std::string("matmul").find(filter) != std::string::npos)
    for (auto [n, k] : {std::pair(3 * width, width), std::pair(width, width),
                        std::pair(4 * width, width),
                        std::pair(width, 4 * width), std::pair(vocab, width)})
      runLinear(bench, n, k);
  return 0;
}
