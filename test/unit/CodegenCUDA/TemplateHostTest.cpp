//===- TemplateHostTest.cpp - Template kernels run on the host ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Templates of generation and eval against fp64 and against the host's
// sampling. What must not be read is NaN.
//
//===----------------------------------------------------------------------===//
#include "HostKernels.h"
#include "compiler/Codegen/CUDA/Templates/TemplateGeometry.h"
#include "runtime/Device/Sampling.h"
#include "test/gpu/AttentionReference.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace gpt2test;
using namespace mlir::gpt2c::cuda;
using gpt2rt::DType;
using gpt2rt::SamplingParams;
using gpt2rt::gputest::attend;
using gpt2rt::gputest::relativeError;

namespace {

// As inference_templates.mlir has them.
constexpr int64_t heads = 2, positions = 300;
constexpr float scale = 0.125f;

void launch(const std::string &kernel, const std::vector<Buffer *> &buffers,
            int rows) {
  HostKernels &kernels = HostKernels::of("inference_templates.mlir");
  ASSERT_EQ(kernels.error(), "");
  kernels.run(kernel, buffers, rows);
}

/// An array in the kernel's element type and its values.
struct Array {
  Buffer buffer;
  std::vector<float> values;

  /// NaN everywhere if `seed` is 0.
  Array(DType dtype, size_t count, unsigned seed)
      : buffer(seed ? Buffer::random(count, dtype, seed)
                    : Buffer(count, dtype)) {
    load();
  }
  void store() {
    for (size_t i = 0; i < values.size(); ++i)
      buffer.set(i, values[i]);
  }
  void load() {
    values.clear();
    for (size_t i = 0; i < buffer.size(); ++i)
      values.push_back(buffer.get(i));
  }
};

struct Attention {
  DType dtype;
  int64_t headSize;
  bool tf32 = false;

  int64_t width() const { return heads * headSize; }
  int64_t row() const { return heads * positions * headSize; }
  double tolerance() const {
    return dtype == DType::BF16          ? 8e-3
           : dtype == DType::F16 || tf32 ? 1e-3
                                         : 2e-6;
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

void checkDecode(const std::string &kernel, Attention a) {
  // One, two and three chunks, their ends, and the last position.
  std::vector<int> starts = {0, 130, 127, 299, 128};
  int rows = int(starts.size());
  Array qkv(a.dtype, rows * 3 * a.width(), 1),
      out(a.dtype, rows * a.width(), 0);
  Array k = a.cache(starts, 2), v = a.cache(starts, 3);
  AttentionShape shape = {unsigned(sizeOf(a.dtype)), heads, a.headSize,
                          positions};
  int64_t bytes = decodeAttentionLaunch(shape, rows).workspaceBytes;
  Buffer workspace(bytes / 4, DType::F32),
      first = Buffer::integers(starts),
      counters = Buffer::integers(std::vector<int>(rows * heads)),
      newK = k.buffer, newV = v.buffer;
  launch(
      kernel,
      {&qkv.buffer, &first, &newK, &newV, &out.buffer, &workspace, &counters},
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
  EXPECT_TRUE(newK.bytes == k.buffer.bytes && newV.bytes == v.buffer.bytes)
      << "appended in place only";
  EXPECT_EQ(counters.bytes, std::vector<std::byte>(counters.bytes.size()));
}

void checkCachedFlash(const std::string &kernel, Attention a) {
  int rows = 100, start = 61, count = 83, slot = 1;
  Buffer starts = Buffer::integers({start}), slots = Buffer::integers({slot}),
         counts = Buffer::integers({count});
  Array qkv(a.dtype, rows * 3 * a.width(), 4),
      out(a.dtype, rows * a.width(), 0);
  std::fill(qkv.values.begin() + count * 3 * a.width(), qkv.values.end(), NAN);
  qkv.store();
  Array k = a.cache({0, start + count}, 5), v = a.cache({0, start + count}, 6);
  launch(kernel,
         {&qkv.buffer, &k.buffer, &v.buffer, &starts, &slots, &counts,
          &out.buffer},
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

void checkPackedFlash(const std::string &kernel, Attention a) {
  int rows = 2 * positions;
  Array qkv(a.dtype, rows * 3 * a.width(), 7),
      out(a.dtype, rows * a.width(), 0);
  launch(kernel, {&qkv.buffer, &out.buffer}, rows);
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

/// Key 0 scores 0, all others -0.6875, whose weight of 0.50283 is rounded; all
/// values are one number, which every mean of them is, however they weigh.
void checkEqualValues(const std::string &kernel, Attention a, float value) {
  int rows = 2 * positions;
  Array qkv(a.dtype, rows * 3 * a.width(), 0),
      out(a.dtype, rows * a.width(), 0);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < a.width(); ++c) {
      float *row = &qkv.values[r * 3 * a.width() + c];
      bool first = c % a.headSize == 0;
      row[0] = first;
      row[a.width()] = first && r % positions ? -5.5f : 0.0f;
      row[2 * a.width()] = value;
    }
  qkv.store();
  launch(kernel, {&qkv.buffer, &out.buffer}, rows);
  out.load();
  for (size_t i = 0; i < out.values.size(); ++i)
    ASSERT_EQ(out.values[i], value) << "row " << i / a.width();
}

TEST(TemplateHost, DecodeAttention) {
  checkDecode("decode_half_64", {DType::F16, 64});
}
TEST(TemplateHost, DecodeAttentionOfOddHeads) {
  checkDecode("decode_single_25", {DType::F32, 25});
}
TEST(TemplateHost, FlashAttentionOverACache) {
  checkCachedFlash("flash_half_64_cached", {DType::F16, 64});
}
TEST(TemplateHost, FlashAttentionWithoutTensorCores) {
  checkCachedFlash("flash_single_20_cached", {DType::F32, 20});
}
TEST(TemplateHost, FlashAttentionOverItsOwnRows) {
  checkPackedFlash("flash_bfloat_80", {DType::BF16, 80});
}

TEST(TemplateHost, FlashAttentionInTf32) {
  checkCachedFlash("flash_tf32_64_cached", {DType::F32, 64, true});
  checkPackedFlash("flash_tf32_80", {DType::F32, 80, true});
}

TEST(TemplateHost, FlashAttentionWeighsWithWhatItSums) {
  checkEqualValues("flash_bfloat_80", {DType::BF16, 80}, 1.984375f);
}

TEST(TemplateHost, CacheAppend) {
  Attention a = {DType::F16, 20};
  int rows = 10, start = 5, slot = 1, count = 7;
  Array qkv(a.dtype, rows * 3 * a.width(), 8);
  Array k = a.cache({9, start}, 9), v = a.cache({9, start}, 10);
  Buffer starts = Buffer::integers({start}), slots = Buffer::integers({slot}),
         counts = Buffer::integers({count}), newK = k.buffer, newV = v.buffer;
  launch("cache_half_20", {&qkv.buffer, &starts, &slots, &counts, &newK, &newV},
         rows);
  for (int t = 0; t < count; ++t) {
    a.append(k, qkv, t, 1, slot, start + t);
    a.append(v, qkv, t, 2, slot, start + t);
  }
  EXPECT_TRUE(newK.bytes == k.buffer.bytes && newV.bytes == v.buffer.bytes);
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

int word(const Buffer &buffer) {
  int value;
  std::memcpy(&value, buffer.bytes.data(), sizeof(value));
  return value;
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
      Buffer row(padded, DType::F32), workspace(2 * sampleBlocks, DType::F32),
          sampling(sizeof(params) / 4, DType::I32),
          starts = Buffer::integers({start}), counter = Buffer::integers({0});
      for (int i = 0; i < padded; ++i)
        row.set(i, logits[i]);
      std::memcpy(sampling.bytes.data(), &params, sizeof(params));
      Buffer token = Buffer::integers({-77}), position = token;
      launch(
          "sample_1500",
          {&row, &sampling, &starts, &token, &position, &workspace, &counter},
          1);
      int place = std::min(start + 1, limit - 1);
      EXPECT_EQ(word(token),
                sampleToken(std::span(logits.data(), vocab), params, place))
          << "row " << kind << ", temperature " << s.temperature << ", top k "
          << s.topK << ", top p " << s.topP;
      EXPECT_EQ(word(position), place);
      EXPECT_EQ(word(counter), 0);
    }
}

} // namespace
