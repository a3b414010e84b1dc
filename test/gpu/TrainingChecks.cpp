//===- TrainingChecks.cpp - Attention of training at full size ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// flash_forward, flash_backward_query and flash_backward_key over 64 sequences,
// the last of which is compared with double. Sequences hold two sets of values
// in turns, so that without dropout all of a kind must have equal bits.
//
//===----------------------------------------------------------------------===//
#include "test/gpu/AttentionReference.h"
#include "test/gpu/GpuKernel.h"
#include "test/unit/CodegenCUDA/RowKernelChecks.h"
#include "test/unit/GPT2/TrainingReference.h"

#include <algorithm>

using namespace gpt2rt;
using namespace gpt2rt::gputest;
using gpt2test::Matrix;
namespace geometry = mlir::gpt2c::cuda;

namespace {

constexpr int64_t batch = 64;

/// Values of `rows` rows, two sequences repeated.
std::vector<float> repeated(const KernelCase &c, int64_t columns,
                            uint64_t seed) {
  std::vector<float> values =
      randomValues(c.dtype, 2 * c.positions * columns, seed);
  size_t period = values.size();
  values.resize(batch * c.positions * columns);
  for (size_t i = period; i < values.size(); ++i)
    values[i] = values[i - period];
  return values;
}

/// Rows of the last sequence.
std::vector<float> lastOf(const KernelCase &c,
                          const std::vector<float> &values) {
  return {values.end() - values.size() / batch, values.end()};
}

Matrix matrixOf(const KernelCase &c, const std::vector<float> &values) {
  Matrix matrix(c.positions, values.size() / c.positions);
  std::copy(values.begin(), values.end(), matrix.data.begin());
  return matrix;
}

/// One third of rows of three.
template <typename T>
std::vector<T> partOf(const std::vector<T> &rows, int64_t width, int part) {
  std::vector<T> values;
  for (size_t i = part * width; i < rows.size(); i += 3 * width)
    values.insert(values.end(), rows.begin() + i, rows.begin() + i + width);
  return values;
}

/// Whether sequences of equal values have equal results.
bool repeats(const std::vector<std::byte> &bytes) {
  size_t period = 2 * bytes.size() / batch;
  return std::equal(bytes.begin() + period, bytes.end(), bytes.begin());
}

struct Run {
  Bench &bench;
  const KernelCase &c;
  int64_t rows = batch * c.positions, width = c.heads * c.headSize;
  geometry::AttentionShape shape = shapeOf(c);
  std::vector<float> qkv = repeated(c, 3 * width, 1),
                     dout = repeated(c, width, 2);
  DeviceArray dQkv{bench, encode(c.dtype, qkv)};
  DeviceArray dDout{bench, encode(c.dtype, dout)};
  DeviceArray dRng{bench, std::vector<int32_t>{1, 2, 3, 4}};
  DeviceArray dOut = poisoned(rows * width * sizeOf(c.dtype));
  DeviceArray dLse = poisoned(rows * c.heads * 4);
  DeviceArray dDqkv = poisoned(rows * 3 * width * sizeOf(c.dtype));
  DeviceArray dWorkspace = poisoned(rows * c.heads * 8);

  DeviceArray poisoned(size_t bytes) {
    return {bench, std::vector<std::byte>(bytes, std::byte(0xff))};
  }
  std::vector<float> last(const DeviceArray &array, DType dtype) {
    return lastOf(c, decode(dtype, array.read<std::byte>()));
  }

  void report(const std::string &what, double error, double us, bool equal) {
    std::string detail = strCat(percent(error), microseconds("b64", us));
    if (!equal)
      detail += "  sequences of equal values differ";
    bench.report(strCat(c.name(), " ", what),
                 error < tolerance(c.dtype, c.tf32) && equal, detail);
  }

  /// Microseconds of a kernel.
  double launch(const char *kind, const LaunchShape &launchShape,
                std::vector<const DeviceArray *> ins,
                std::vector<const DeviceArray *> outs) {
    KernelCase one = c;
    one.kind = kind;
    GpuKernel kernel(bench, one);
    if (c.dropout != 0)
      ins.push_back(&dRng);
    ins.insert(ins.end(), outs.begin(), outs.end());
    GpuKernel::Arguments arguments;
    for (const DeviceArray *array : ins)
      arguments.push_back(array->address());
    return kernel.time(launchShape, static_cast<int>(rows), 2,
                       [&](int) { return arguments; });
  }
};

} // namespace

void gputest::checkTraining(Bench &bench, const KernelCase &c) {
  Run run = {bench, c};
  double forwardUs =
      run.launch("flash_forward",
                 geometry::flashAttentionLaunch(run.shape, run.rows, false),
                 {&run.dQkv}, {&run.dOut, &run.dLse});
  double queryUs =
      run.launch("flash_backward_query",
                 geometry::flashBackwardLaunch(run.shape, run.rows, false),
                 {&run.dQkv, &run.dOut, &run.dLse, &run.dDout},
                 {&run.dDqkv, &run.dWorkspace});
  double keyUs =
      run.launch("flash_backward_key",
                 geometry::flashBackwardLaunch(run.shape, run.rows, true),
                 {&run.dQkv, &run.dDout, &run.dWorkspace}, {&run.dDqkv});

  gpt2test::Attention reference = {1,
                                   c.positions,
                                   c.heads,
                                   c.headSize,
                                   c.scale(),
                                   c.dropout,
                                   gpt2test::dropoutNumber,
                                   {1, 2, 3, 4 + batch - 1}};
  Matrix qkv = matrixOf(c, lastOf(c, run.qkv));
  std::vector<double> out = reference.forward(qkv).out.data;
  std::vector<double> gradient =
      reference.backward(qkv, matrixOf(c, lastOf(c, run.dout))).data;
  bool drops = c.dropout != 0;
  run.report("out", relativeError(run.last(run.dOut, c.dtype), out), forwardUs,
             drops || repeats(run.dOut.read<std::byte>()));
  std::vector<float> actual = run.last(run.dDqkv, c.dtype);
  bool equal = drops || repeats(run.dDqkv.read<std::byte>());
  const char *names[] = {"dq", "dk", "dv"};
  for (int part = 0; part < 3; ++part)
    run.report(names[part],
               relativeError(partOf(actual, run.width, part),
                             partOf(gradient, run.width, part)),
               part == 0 ? queryUs : keyUs, equal);
}
