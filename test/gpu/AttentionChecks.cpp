//===- AttentionChecks.cpp - Attention kernels against fp64 ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a kernel must not read is NaN, and what it must write is NaN before it
// runs, so a wrong index shows as a NaN or as poison that stays.
//
//===----------------------------------------------------------------------===//
#include "test/gpu/AttentionReference.h"
#include "test/gpu/GpuKernel.h"

#include <cmath>
#include <cstring>

using namespace gpt2rt;
using namespace gpt2rt::gputest;
namespace geometry = mlir::gpt2c::cuda;

namespace {

std::vector<std::byte> poison(size_t bytes) {
  return std::vector<std::byte>(bytes, std::byte(0xff));
}

bool isPoison(const std::byte *bytes, size_t count) {
  return std::all_of(bytes, bytes + count,
                     [](std::byte b) { return b == std::byte(0xff); });
}

/// Caches of `slots` rows whose first valid[slot] positions are random.
struct Caches {
  std::vector<float> k, v;
  std::vector<std::byte> kBytes, vBytes;

  Caches(const KernelCase &c, const std::vector<int32_t> &valid,
         uint64_t seed) {
    int64_t row = c.heads * c.positions * c.headSize;
    k = randomValues(c.dtype, valid.size() * row, seed);
    v = randomValues(c.dtype, valid.size() * row, seed + 1);
    for (size_t slot = 0; slot < valid.size(); ++slot)
      for (int64_t h = 0; h < c.heads; ++h)
        for (int64_t i = valid[slot] * c.headSize; i < c.positions * c.headSize;
             ++i) {
          int64_t at = slot * row + h * c.positions * c.headSize + i;
          k[at] = v[at] = NAN;
        }
    kBytes = encode(c.dtype, k);
    vBytes = encode(c.dtype, v);
  }
};

const std::vector<int32_t> decodeStarts = {511, 0, 1, 127, 128, 640, 999, 300};

std::vector<double> decodeReference(const KernelCase &c,
                                    const std::vector<float> &qkv,
                                    Caches &caches) {
  int64_t width = c.heads * c.headSize, rows = decodeStarts.size();
  std::vector<double> out(rows * width);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t h = 0; h < c.heads; ++h) {
      int64_t at = (r * c.heads + h) * c.positions * c.headSize;
      const float *query = &qkv[r * 3 * width + h * c.headSize];
      int64_t now = at + decodeStarts[r] * c.headSize;
      std::copy_n(query + width, c.headSize, &caches.k[now]);
      std::copy_n(query + 2 * width, c.headSize, &caches.v[now]);
      attend(query, &caches.k[at], &caches.v[at], c.headSize,
             decodeStarts[r] + 1, c.headSize, c.scale(),
             &out[r * width + h * c.headSize]);
    }
  return out;
}

/// Launches every row by itself: a row must not depend on its batch.
bool rowsAreAlone(Bench &bench, GpuKernel &kernel, const KernelCase &c,
                  const std::vector<std::byte> &qkv, const Caches &caches,
                  const std::vector<std::byte> &together) {
  size_t rows = decodeStarts.size(), size = sizeOf(c.dtype);
  size_t width = c.heads * c.headSize * size;
  size_t cacheRow = c.heads * c.positions * c.headSize * size;
  LaunchShape shape = geometry::decodeAttentionLaunch(shapeOf(c), 1);
  for (size_t r = 0; r < rows; ++r) {
    DeviceArray row(bench, std::span(qkv).subspan(r * 3 * width, 3 * width));
    DeviceArray k(bench,
                  std::span(caches.kBytes).subspan(r * cacheRow, cacheRow));
    DeviceArray v(bench,
                  std::span(caches.vBytes).subspan(r * cacheRow, cacheRow));
    DeviceArray start(bench, std::vector<int32_t>{decodeStarts[r]});
    DeviceArray out(bench, poison(width));
    DeviceArray workspace(bench, poison(shape.workspaceBytes));
    DeviceArray counters(bench, std::vector<int32_t>(c.heads));
    kernel.run(shape,
               {row.address(), start.address(), k.address(), v.address(),
                out.address(), workspace.address(), counters.address()},
               1);
    if (std::memcmp(out.read<std::byte>().data(), &together[r * width], width))
      return false;
  }
  return true;
}

double timeDecode(Bench &bench, GpuKernel &kernel, const KernelCase &c,
                  int rows, int context) {
  // As many caches as a model has layers, so that L2 serves no layer twice.
  constexpr int layers = 24;
  std::vector<int32_t> starts(rows, context);
  LaunchShape shape = geometry::decodeAttentionLaunch(shapeOf(c), rows);
  size_t size = sizeOf(c.dtype);
  std::vector<DeviceArray> caches;
  for (int i = 0; i < 2 * layers; ++i)
    caches.emplace_back(
        bench,
        encode(c.dtype, std::vector<float>(
                            rows * c.heads * c.positions * c.headSize, 0.5f)));
  DeviceArray qkv(
      bench, encode(c.dtype,
                    randomValues(c.dtype, rows * 3 * c.heads * c.headSize, 7)));
  DeviceArray start(bench, starts);
  DeviceArray out(bench, poison(rows * c.heads * c.headSize * size));
  DeviceArray workspace(bench, poison(shape.workspaceBytes));
  DeviceArray counters(bench, std::vector<int32_t>(rows * c.heads));
  return kernel.time(shape, rows, 2 * layers, [&](int i) {
    return GpuKernel::Arguments{qkv.address(),
                                start.address(),
                                caches[i % layers * 2].address(),
                                caches[i % layers * 2 + 1].address(),
                                out.address(),
                                workspace.address(),
                                counters.address()};
  });
}

} // namespace

void gputest::checkDecodeAttention(Bench &bench, const KernelCase &c) {
  GpuKernel kernel(bench, c);
  int rows = static_cast<int>(decodeStarts.size());
  int64_t width = c.heads * c.headSize;
  std::vector<float> qkv = randomValues(c.dtype, rows * 3 * width, 1);
  std::vector<std::byte> qkvBytes = encode(c.dtype, qkv);
  Caches caches(c, decodeStarts, 2);
  LaunchShape shape = geometry::decodeAttentionLaunch(shapeOf(c), rows);
  DeviceArray dQkv(bench, qkvBytes), dStarts(bench, decodeStarts);
  DeviceArray dK(bench, caches.kBytes), dV(bench, caches.vBytes);
  DeviceArray dOut(bench, poison(rows * width * sizeOf(c.dtype)));
  DeviceArray dWorkspace(bench, poison(shape.workspaceBytes));
  DeviceArray dCounters(bench, std::vector<int32_t>(rows * c.heads));
  kernel.run(shape,
             {dQkv.address(), dStarts.address(), dK.address(), dV.address(),
              dOut.address(), dWorkspace.address(), dCounters.address()},
             rows);

  std::vector<std::byte> out = dOut.read<std::byte>();
  bool alone = rowsAreAlone(bench, kernel, c, qkvBytes, caches, out);
  double error =
      relativeError(decode(c.dtype, out), decodeReference(c, qkv, caches));
  bool appended = dK.read<std::byte>() == encode(c.dtype, caches.k) &&
                  dV.read<std::byte>() == encode(c.dtype, caches.v);
  bool reset =
      dCounters.read<int32_t>() == std::vector<int32_t>(rows * c.heads);
  std::string detail = percent(error);
  if (!alone)
    detail += "  rows depend on their batch";
  if (!appended)
    detail += "  caches differ";
  if (!reset)
    detail += "  counters are not zero";
  if (c.positions == 1024) {
    detail += microseconds("b1 ctx512", timeDecode(bench, kernel, c, 1, 511));
    detail += microseconds("b1 ctx1000", timeDecode(bench, kernel, c, 1, 999));
    detail += microseconds("b8 ctx512", timeDecode(bench, kernel, c, 8, 511));
  }
  bench.report(c.name(),
               error < tolerance(c.dtype, c.tf32) && alone && appended && reset,
               detail);
}

namespace {

struct PrefillRun {
  int32_t rows, start, count;
};

/// Prefill of one chunk into slot 1 of 2; rows past count stay as they are.
void checkCached(Bench &bench, GpuKernel &kernel, const KernelCase &c,
                 PrefillRun run) {
  int64_t width = c.heads * c.headSize;
  size_t size = sizeOf(c.dtype);
  std::vector<float> qkv = randomValues(c.dtype, run.rows * 3 * width, 3);
  std::fill(qkv.begin() + run.count * 3 * width, qkv.end(), NAN);
  // Slot 0 is all NaN.
  Caches caches(c, {0, run.start + run.count}, 4);
  LaunchShape shape =
      geometry::flashAttentionLaunch(shapeOf(c), run.rows, true);
  DeviceArray dQkv(bench, encode(c.dtype, qkv));
  DeviceArray dK(bench, caches.kBytes), dV(bench, caches.vBytes);
  DeviceArray dStart(bench, std::vector<int32_t>{run.start});
  DeviceArray dSlot(bench, std::vector<int32_t>{1});
  DeviceArray dCount(bench, std::vector<int32_t>{run.count});
  DeviceArray dOut(bench, poison(run.rows * width * size));
  GpuKernel::Arguments arguments = {
      dQkv.address(),  dK.address(),     dV.address(),  dStart.address(),
      dSlot.address(), dCount.address(), dOut.address()};
  kernel.run(shape, arguments, run.rows);

  std::vector<double> expected(run.count * width);
  for (int64_t h = 0; h < c.heads; ++h) {
    int64_t at = (c.heads + h) * c.positions * c.headSize;
    for (int64_t t = 0; t < run.count; ++t)
      attend(&qkv[t * 3 * width + h * c.headSize], &caches.k[at], &caches.v[at],
             c.headSize, run.start + t + 1, c.headSize, c.scale(),
             &expected[t * width + h * c.headSize]);
  }
  std::vector<std::byte> out = dOut.read<std::byte>();
  size_t written = run.count * width * size;
  bool untouched = isPoison(out.data() + written, out.size() - written);
  out.resize(written);
  double error = relativeError(decode(c.dtype, out), expected);
  std::string detail = percent(error);
  if (!untouched)
    detail += "  rows past count were written";
  if (c.positions == 1024 && run.count == run.rows)
    detail += microseconds(
        "", kernel.time(shape, run.rows, 8, [&](int) { return arguments; }));
  bench.report(strCat(c.name(), " ", run.start, "+", run.count),
               error < tolerance(c.dtype, c.tf32) && untouched, detail);
}

/// Two whole sequences that attend to their own rows.
void checkPacked(Bench &bench, GpuKernel &kernel, const KernelCase &c) {
  constexpr int64_t batch = 2;
  int64_t width = c.heads * c.headSize, rows = batch * c.positions;
  std::vector<float> qkv = randomValues(c.dtype, rows * 3 * width, 5);
  LaunchShape shape = geometry::flashAttentionLaunch(shapeOf(c), rows, false);
  DeviceArray dQkv(bench, encode(c.dtype, qkv));
  DeviceArray dOut(bench, poison(rows * width * sizeOf(c.dtype)));
  GpuKernel::Arguments arguments = {dQkv.address(), dOut.address()};
  kernel.run(shape, arguments, static_cast<int>(rows));

  // Every 7th query: the reference is the slow part.
  std::vector<float> actual, out = decode(c.dtype, dOut.read<std::byte>());
  std::vector<double> expected;
  for (int64_t row = 0; row < rows; row += 7)
    for (int64_t h = 0; h < c.heads; ++h) {
      int64_t first = row / c.positions * c.positions * 3 * width;
      const float *key = &qkv[first + width + h * c.headSize];
      expected.resize(expected.size() + c.headSize);
      attend(&qkv[row * 3 * width + h * c.headSize], key, key + width,
             3 * width, row % c.positions + 1, c.headSize, c.scale(),
             &*expected.end() - c.headSize);
      const float *from = &out[row * width + h * c.headSize];
      actual.insert(actual.end(), from, from + c.headSize);
    }
  double error = relativeError(actual, expected);
  std::string detail = percent(error);
  if (c.positions == 1024)
    detail += microseconds("b2", kernel.time(shape, static_cast<int>(rows), 8,
                                             [&](int) { return arguments; }));
  bool finite =
      std::none_of(out.begin(), out.end(), [](float v) { return v != v; });
  if (!finite)
    detail += "  rows are missing";
  bench.report(c.name(), error < tolerance(c.dtype, c.tf32) && finite, detail);
}

} // namespace

void gputest::checkFlashAttention(Bench &bench, const KernelCase &c) {
  GpuKernel kernel(bench, c);
  if (!c.cached)
    return checkPacked(bench, kernel, c);
  checkCached(bench, kernel, c, {512, 0, 512});
  checkCached(bench, kernel, c, {128, 700, 128});
  checkCached(bench, kernel, c, {128, 61, 5});
}

void gputest::checkCacheAppend(Bench &bench, const KernelCase &c) {
  GpuKernel kernel(bench, c);
  constexpr int rows = 64, count = 37, start = 100, slot = 1;
  int64_t width = c.heads * c.headSize;
  std::vector<float> qkv = randomValues(c.dtype, rows * 3 * width, 6);
  Caches caches(c, {50, start}, 8);
  DeviceArray dQkv(bench, encode(c.dtype, qkv));
  DeviceArray dK(bench, caches.kBytes), dV(bench, caches.vBytes);
  DeviceArray dStart(bench, std::vector<int32_t>{start});
  DeviceArray dSlot(bench, std::vector<int32_t>{slot});
  DeviceArray dCount(bench, std::vector<int32_t>{count});
  kernel.run(geometry::cacheAppendLaunch(rows),
             {dQkv.address(), dStart.address(), dSlot.address(),
              dCount.address(), dK.address(), dV.address()},
             rows);
  for (int64_t t = 0; t < count; ++t)
    for (int64_t h = 0; h < c.heads; ++h) {
      int64_t to =
          ((slot * c.heads + h) * c.positions + start + t) * c.headSize;
      const float *from = &qkv[t * 3 * width + width + h * c.headSize];
      std::copy_n(from, c.headSize, &caches.k[to]);
      std::copy_n(from + width, c.headSize, &caches.v[to]);
    }
  bool equal = dK.read<std::byte>() == encode(c.dtype, caches.k) &&
               dV.read<std::byte>() == encode(c.dtype, caches.v);
  bench.report(c.name(), equal, equal ? "equal" : "caches differ");
}
