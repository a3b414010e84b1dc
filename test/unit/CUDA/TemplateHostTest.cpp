//===- TemplateHostTest.cpp - Template kernels run on the host ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The text that NVRTC gets, with the lanes of a warp as fibers (HostGpu.h),
// against fp64 and against the host's sampling. What must not be read is NaN.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Templates/TemplateGeometry.h"
#include "runtime/Device/Sampling.h"
#include "runtime/Support/Convert.h"
#include "test/gpu/AttentionReference.h"

#include <gtest/gtest.h>

#include <random>

using namespace gpt2rt;
using namespace mlir::gpt2c::cuda;
using gputest::attend;
using gputest::relativeError;

// From the generated units; NAME says dtype, head size and form.
#define DECLARE(NAME)                                                          \
  void run_##NAME(const unsigned *grid, unsigned threads, void **args)
DECLARE(decode_f16_64);
DECLARE(decode_f32_25);
DECLARE(flash_f16_64_cached);
DECLARE(flash_bf16_80);
DECLARE(flash_f32_20_cached);
DECLARE(cache_f16_20);
DECLARE(sample_1500);

namespace {

using Run = void (*)(const unsigned *, unsigned, void **);

// As CMakeLists.txt defines them for every unit.
constexpr int64_t heads = 2, positions = 300;
constexpr float scale = 0.125f;

void launch(Run run, const LaunchShape &shape,
            std::vector<const void *> buffers, int rows) {
  std::vector<void *> args;
  for (const void *&buffer : buffers)
    args.push_back(&buffer);
  args.push_back(&rows);
  run(shape.grid, shape.blockThreads, args.data());
}

/// An array in the kernel's element type and its values.
struct Array {
  DType dtype;
  std::vector<float> values;
  std::vector<std::byte> bytes;

  Array(DType dtype, size_t count, int seed)
      : dtype(dtype), values(count, NAN), bytes(count * sizeOf(dtype)) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    if (seed)
      for (float &value : values)
        value = normal(engine);
    store();
    load();
  }
  void store() {
    EXPECT_TRUE(convertElements(DType::F32, values.data(), dtype, bytes.data(),
                                values.size())
                    .ok());
  }
  void load() {
    EXPECT_TRUE(convertElements(dtype, bytes.data(), DType::F32, values.data(),
                                values.size())
                    .ok());
  }
};

struct Attention {
  DType dtype;
  int64_t headSize;

  int64_t width() const { return heads * headSize; }
  int64_t row() const { return heads * positions * headSize; }
  AttentionShape shape() const {
    return {unsigned(sizeOf(dtype)), heads, headSize, positions};
  }
  double tolerance() const {
    return dtype == DType::F32 ? 2e-6 : dtype == DType::F16 ? 1e-3 : 8e-3;
  }
  /// A cache of one slot a length, NaN from its length on.
  Array cache(const std::vector<int> &lengths, int seed) const {
    Array cache(dtype, lengths.size() * row(), seed);
    for (size_t slot = 0; slot < lengths.size(); ++slot)
      for (int64_t h = 0; h < heads; ++h)
        std::fill_n(cache.values.begin() + slot * row() +
                        (h * positions + lengths[slot]) * headSize,
                    (positions - lengths[slot]) * headSize, NAN);
    cache.store();
    return cache;
  }
  /// Puts K (part 1) or V (part 2) of a qkv row where the cache has it.
  void append(Array &cache, const Array &qkv, int64_t row, int part, int slot,
              int position) const {
    for (int64_t h = 0; h < heads; ++h)
      std::copy_n(&qkv.values[(row * 3 + part) * width() + h * headSize],
                  headSize,
                  &cache.values[slot * this->row() +
                                (h * positions + position) * headSize]);
    cache.store();
  }
};

void checkDecode(Run run, Attention a) {
  // One, two and three chunks, their ends, and the last position.
  std::vector<int> starts = {0, 130, 127, 299, 128};
  int rows = int(starts.size());
  Array qkv(a.dtype, rows * 3 * a.width(), 1),
      out(a.dtype, rows * a.width(), 0);
  Array k = a.cache(starts, 2), v = a.cache(starts, 3);
  LaunchShape shape = decodeAttentionLaunch(a.shape(), rows);
  std::vector<float> workspace(shape.workspaceBytes / 4, NAN);
  std::vector<unsigned> counters(rows * heads);
  std::vector<std::byte> newK = k.bytes, newV = v.bytes;
  launch(run, shape,
         {qkv.bytes.data(), starts.data(), newK.data(), newV.data(),
          out.bytes.data(), workspace.data(), counters.data()},
         rows);
  std::vector<double> expected(out.values.size());
  for (int r = 0; r < rows; ++r) {
    a.append(k, qkv, r, 1, r, starts[r]);
    a.append(v, qkv, r, 2, r, starts[r]);
    for (int64_t h = 0; h < heads; ++h) {
      int64_t at = r * a.row() + h * positions * a.headSize;
      attend(&qkv.values[r * 3 * a.width() + h * a.headSize], &k.values[at],
             &v.values[at], a.headSize, starts[r] + 1, a.headSize, scale,
             &expected[r * a.width() + h * a.headSize]);
    }
  }
  out.load();
  EXPECT_LT(relativeError(out.values, expected), a.tolerance());
  EXPECT_TRUE(newK == k.bytes && newV == v.bytes) << "appended in place only";
  EXPECT_EQ(counters, std::vector<unsigned>(counters.size()));
}

void checkCachedFlash(Run run, Attention a) {
  int rows = 100, start = 61, count = 83, slot = 1;
  Array qkv(a.dtype, rows * 3 * a.width(), 4),
      out(a.dtype, rows * a.width(), 0);
  std::fill(qkv.values.begin() + count * 3 * a.width(), qkv.values.end(), NAN);
  qkv.store();
  Array k = a.cache({0, start + count}, 5), v = a.cache({0, start + count}, 6);
  launch(run, flashAttentionLaunch(a.shape(), rows, true),
         {qkv.bytes.data(), k.bytes.data(), v.bytes.data(), &start, &slot,
          &count, out.bytes.data()},
         rows);
  out.load();
  for (size_t i = count * a.width(); i < out.values.size(); ++i)
    ASSERT_TRUE(std::isnan(out.values[i])) << "a row past count was written";
  out.values.resize(count * a.width());
  std::vector<double> expected(out.values.size());
  for (int t = 0; t < count; ++t)
    for (int64_t h = 0; h < heads; ++h) {
      int64_t at = slot * a.row() + h * positions * a.headSize;
      attend(&qkv.values[t * 3 * a.width() + h * a.headSize], &k.values[at],
             &v.values[at], a.headSize, start + t + 1, a.headSize, scale,
             &expected[t * a.width() + h * a.headSize]);
    }
  EXPECT_LT(relativeError(out.values, expected), a.tolerance());
}

void checkPackedFlash(Run run, Attention a) {
  int rows = 2 * positions;
  Array qkv(a.dtype, rows * 3 * a.width(), 7),
      out(a.dtype, rows * a.width(), 0);
  launch(run, flashAttentionLaunch(a.shape(), rows, false),
         {qkv.bytes.data(), out.bytes.data()}, rows);
  out.load();
  std::vector<double> expected(out.values.size());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t h = 0; h < heads; ++h) {
      int64_t first = r / positions * positions * 3 * a.width();
      const float *key = &qkv.values[first + a.width() + h * a.headSize];
      attend(&qkv.values[r * 3 * a.width() + h * a.headSize], key,
             key + a.width(), 3 * a.width(), r % positions + 1, a.headSize,
             scale, &expected[r * a.width() + h * a.headSize]);
    }
  EXPECT_LT(relativeError(out.values, expected), a.tolerance());
}

TEST(TemplateHost, DecodeAttention) {
  checkDecode(run_decode_f16_64, {DType::F16, 64});
}
TEST(TemplateHost, DecodeAttentionOfOddHeads) {
  checkDecode(run_decode_f32_25, {DType::F32, 25});
}
TEST(TemplateHost, FlashAttentionOverACache) {
  checkCachedFlash(run_flash_f16_64_cached, {DType::F16, 64});
}
TEST(TemplateHost, FlashAttentionWithoutTensorCores) {
  checkCachedFlash(run_flash_f32_20_cached, {DType::F32, 20});
}
TEST(TemplateHost, FlashAttentionOverItsOwnRows) {
  checkPackedFlash(run_flash_bf16_80, {DType::BF16, 80});
}

TEST(TemplateHost, CacheAppend) {
  Attention a = {DType::F16, 20};
  int rows = 10, start = 5, slot = 1, count = 7;
  Array qkv(a.dtype, rows * 3 * a.width(), 8);
  Array k = a.cache({9, start}, 9), v = a.cache({9, start}, 10);
  std::vector<std::byte> newK = k.bytes, newV = v.bytes;
  launch(run_cache_f16_20, cacheAppendLaunch(rows),
         {qkv.bytes.data(), &start, &slot, &count, newK.data(), newV.data()},
         rows);
  for (int t = 0; t < count; ++t) {
    a.append(k, qkv, t, 1, slot, start + t);
    a.append(v, qkv, t, 2, slot, start + t);
  }
  EXPECT_TRUE(newK == k.bytes && newV == v.bytes);
}

/// Rows that have gone wrong elsewhere: ties, constants, infinities, NaN.
std::vector<float> logitRow(int kind, int vocab, int padded) {
  std::mt19937 engine(kind);
  std::normal_distribution<float> normal(-30.0f, 4.0f);
  std::vector<float> logits(padded, 1e30f); // padding must not be looked at
  for (int i = 0; i < vocab; ++i) {
    float value = normal(engine);
    logits[i] = kind == 1   ? std::round(value)
                : kind == 2 ? 2.5f
                : kind == 3 ? -INFINITY
                            : value;
  }
  if (kind == 3)
    logits[vocab / 2] = -3.0f;
  if (kind == 4)
    logits[vocab / 3] = NAN;
  return logits;
}

TEST(TemplateHost, SampleEqualsTheHost) {
  constexpr int vocab = 1500, padded = 1536, limit = 1024;
  struct Setting {
    float temperature;
    int topK;
    float topP;
  };
  for (Setting s : {Setting{0.0f, 0, 1.0f},
                    {1.0f, 0, 1.0f},
                    {0.7f, 50, 1.0f},
                    {1.0f, 0, 0.9f},
                    {0.8f, 40, 0.95f},
                    {1e-6f, 0, 0.5f}})
    for (int kind = 0; kind < 5; ++kind) {
      std::vector<float> logits = logitRow(kind, vocab, padded);
      SamplingParams params;
      params.temperature = s.temperature;
      params.topK = s.topK;
      params.topP = s.topP;
      params.seedLow = kind + 1;
      int start = kind == 0 ? limit - 1 : 17 * kind;
      int token = -77, position = -77;
      std::vector<uint64_t> workspace(sampleBlocks, ~uint64_t(0));
      unsigned counter = 0;
      launch(run_sample_1500, sampleLaunch(1),
             {logits.data(), &params, &start, &token, &position,
              workspace.data(), &counter},
             1);
      int place = std::min(start + 1, limit - 1);
      EXPECT_EQ(token,
                sampleToken(std::span(logits.data(), vocab), params, place))
          << "row " << kind << ", temperature " << s.temperature << ", top k "
          << s.topK << ", top p " << s.topP;
      EXPECT_EQ(position, place);
      EXPECT_EQ(counter, 0u);
    }
}

} // namespace
