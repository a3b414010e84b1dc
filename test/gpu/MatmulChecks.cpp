//===- MatmulChecks.cpp - cuBLASLt products of training -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/gpu/MatmulChecks.h"

#include <cmath>

using namespace gpt2rt;
using namespace gpt2rt::gputest;
using cuda::MatmulShape;

namespace {

constexpr uint64_t workspaceBytes = uint64_t(32) << 20;

/// Row-major [rows, columns], or its transpose.
struct Matrix {
  Matrix(uint64_t rows, uint64_t columns, bool isTransposed, DType type,
         uint64_t seed)
      : rows(rows), columns(columns), isTransposed(isTransposed),
        values(randomValues(type, rows * columns, seed)) {}
  float at(uint64_t row, uint64_t column) const {
    return values[isTransposed ? column * rows + row : row * columns + column];
  }
  uint64_t rows, columns;
  bool isTransposed;
  std::vector<float> values;
};

class MatmulRun : public cuda::Step {
public:
  explicit MatmulRun(cuda::MatmulCall &call) : call(call) {}
  Status enqueue(const cuda::Context &, CUstream stream, bool) override {
    return call.run(stream);
  }

private:
  cuda::MatmulCall &call;
};

std::unique_ptr<cuda::MatmulCall> planned(const cuda::BlasLt &library,
                                          const MatmulShape &shape,
                                          cuda::MatmulBuffers buffers,
                                          const DeviceArray &workspace) {
  buffers.workspace = workspace.address();
  buffers.workspaceBytes = workspaceBytes;
  std::unique_ptr<cuda::MatmulCall> call =
      require(library.plan(shape, buffers));
  if (!call)
    require(notFound("no algorithm for ", shape.text()));
  return call;
}

void check(Bench &bench, const cuda::BlasLt &library,
           const DeviceArray &workspace, const MatmulShape &shape) {
  Matrix a(shape.m, shape.k, shape.transposeA, shape.input, 1);
  Matrix w(shape.k, shape.n, shape.weightNk, shape.input, 2);
  Matrix d(shape.m, shape.n, false, shape.output, 3);
  DeviceArray dA(bench, encode(shape.input, a.values));
  DeviceArray dW(bench, encode(shape.input, w.values));
  DeviceArray dD(bench, encode(shape.output, d.values));
  std::unique_ptr<cuda::MatmulCall> call = planned(
      library, shape, {dA.address(), dW.address(), dD.address()}, workspace);
  require(call->run(bench.context.stream()));
  require(bench.context.synchronize());
  std::vector<float> got = decode(shape.output, dD.read<std::byte>());
  double difference = 0, norm = 0;
  for (uint64_t i = 0; i < shape.m; ++i)
    for (uint64_t j = 0; j < shape.n; ++j) {
      double want = shape.accumulate ? d.at(i, j) : 0;
      for (uint64_t k = 0; k < shape.k; ++k)
        want += double(a.at(i, k)) * w.at(k, j);
      difference += std::pow(got[i * shape.n + j] - want, 2);
      norm += want * want;
    }
  double error = std::sqrt(difference / norm);
  double limit = shape.tf32                   ? 1e-3
                 : shape.output == DType::F32 ? 2e-6
                                              : tolerance(shape.output);
  bench.report(shape.text(), error < limit, strCat("error ", error));
}

} // namespace

void gputest::checkMatmuls(Bench &bench) {
  std::unique_ptr<cuda::BlasLt> library = require(cuda::BlasLt::create());
  DeviceArray workspace(bench, std::vector<std::byte>(workspaceBytes));
  MatmulShape shape;
  shape.m = 96;
  shape.n = 136;
  shape.k = 200;
  for (DType type : {DType::F32, DType::F16, DType::BF16}) {
    shape.input = type;
    for (bool tf32 : {false, true}) {
      shape.tf32 = tf32;
      if (tf32 && type != DType::F32)
        continue;
      // Forward, gradient of the input, gradient of the weight.
      shape.output = type;
      shape.weightNk = true;
      shape.transposeA = shape.accumulate = false;
      check(bench, *library, workspace, shape);
      shape.weightNk = false;
      check(bench, *library, workspace, shape);
      shape.output = DType::F32;
      shape.transposeA = shape.accumulate = true;
      check(bench, *library, workspace, shape);
    }
  }
}

double gputest::timeMatmul(Bench &bench, const MatmulShape &shape) {
  std::unique_ptr<cuda::BlasLt> library = require(cuda::BlasLt::create());
  DeviceArray workspace(bench, std::vector<std::byte>(workspaceBytes));
  // One block of random values, repeated.
  auto random = [&](uint64_t elements, DType type) {
    std::vector<std::byte> block =
        encode(type, randomValues(type, uint64_t(1) << 20, elements));
    std::vector<std::byte> all(elements * sizeOf(type));
    for (size_t at = 0; at < all.size(); at += block.size())
      std::copy_n(block.begin(), std::min(block.size(), all.size() - at),
                  all.begin() + at);
    return DeviceArray(bench, all);
  };
  DeviceArray a = random(shape.m * shape.k, shape.input);
  DeviceArray w = random(shape.n * shape.k, shape.input);
  DeviceArray d = random(shape.m * shape.n, shape.output);
  std::unique_ptr<cuda::MatmulCall> call = planned(
      *library, shape, {a.address(), w.address(), d.address()}, workspace);
  cuda::Steps steps;
  constexpr size_t runs = 12;
  for (size_t i = 0; i < runs; ++i)
    steps.push_back(std::make_unique<MatmulRun>(*call));
  std::vector<double> seconds = require(cuda::timeSteps(bench.context, steps));
  std::sort(seconds.begin(), seconds.end());
  return seconds[runs / 2] * 1e6;
}
