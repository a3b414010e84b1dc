//===- BasicSteps.cpp - Kernels, caches, sampling, copies -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CPU/Step.h"
#include "runtime/Device/Sampling.h"

#include <algorithm>
#include <cstring>
#include <omp.h>

namespace gpt2rt::cpu {
namespace {

/// Splits a kernel's rows over the threads. Rows are independent, so the
/// split changes no result.
class LaunchStep : public Step {
public:
  LaunchStep(const StepContext &context, const fb::Launch &launch)
      : function(context.kernels.kernel(launch.kernel())), rows(launch.rows()),
        dynamicRows(launch.dynamic_rows()), threads(context.threads) {
    uint32_t hint =
        context.plan.root().kernels()->Get(launch.kernel())->rows_grain();
    grain = std::max<int64_t>(hint, 1);
    for (uint32_t buffer : *launch.buffers())
      buffers.push_back(context.address(buffer));
  }

  Status run(int64_t count) override {
    int64_t live = liveRows(rows, dynamicRows, count);
    int64_t pieces = std::min<int64_t>(threads, (live + grain - 1) / grain);
    if (pieces <= 1) {
      function(buffers.data(), 0, live);
      return Status();
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < pieces; ++i)
      function(buffers.data(), live * i / pieces, live * (i + 1) / pieces);
    return Status();
  }

private:
  KernelFunction function;
  std::vector<void *> buffers;
  int64_t rows;
  int64_t grain;
  bool dynamicRows;
  int threads;
};

class CacheAppendStep : public Step {
public:
  CacheAppendStep(const StepContext &context, const fb::CacheAppend &op)
      : qkv(context.address(op.qkv())), caches{context.address(op.k_cache()),
                                               context.address(op.v_cache())},
        starts(context.address<int32_t>(op.starts())),
        counts(context.address<int32_t>(op.count())),
        slot(context.address<int32_t>(op.slot())), batch(op.batch()),
        tokens(op.tokens()), heads(op.heads()),
        rowBytes(op.head_size() * sizeOf(context.dtype(op.qkv()))),
        threads(context.threads) {
    const auto &shape = *context.plan.buffer(op.k_cache()).shape();
    slots = static_cast<int64_t>(shape[0]);
    positions = static_cast<int64_t>(shape[2]);
  }

  Status run(int64_t) override {
    int64_t valid = counts ? std::clamp<int64_t>(*counts, 0, tokens) : tokens;
    int64_t tasks = batch * heads;
    if (valid <= 8) {
      for (int64_t task = 0; task < tasks; ++task)
        append(task / heads, task % heads, valid);
      return Status();
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t task = 0; task < tasks; ++task)
      append(task / heads, task % heads, valid);
    return Status();
  }

private:
  void append(int64_t b, int64_t h, int64_t valid) {
    int64_t row = std::clamp<int64_t>(b + (slot ? *slot : 0), 0, slots - 1);
    int64_t start = std::clamp<int64_t>(starts[b], 0, positions);
    int64_t end = std::min(start + valid, positions);
    for (int part = 0; part < 2; ++part) {
      std::byte *cache =
          caches[part] + (row * heads + h) * positions * rowBytes;
      const std::byte *in =
          qkv + ((b * tokens * 3 + part + 1) * heads + h) * rowBytes;
      for (int64_t p = start; p < end; ++p)
        std::memcpy(cache + p * rowBytes,
                    in + (p - start) * 3 * heads * rowBytes, rowBytes);
      // Prefill multiplies whole blocks of 64 keys, also for the rows that it
      // rounds its own up to; what it masks must be finite, whatever an earlier
      // sequence left here. Decode reads single keys.
      if (tokens == 1)
        continue;
      int64_t rows = std::min(roundUp(valid, attentionRowStep), tokens);
      int64_t clearEnd =
          std::min(roundUp(start + rows, attentionKeyStep), positions);
      if (clearEnd > end)
        std::memset(cache + end * rowBytes, 0, (clearEnd - end) * rowBytes);
    }
  }

  const std::byte *qkv;
  std::byte *caches[2];
  const int32_t *starts, *counts, *slot;
  int64_t batch, tokens, heads, rowBytes, slots = 0, positions = 0;
  int threads;
};

class SampleStep : public Step {
public:
  SampleStep(const StepContext &context, const fb::Sample &op)
      : logits(context.address<float>(op.logits())),
        params(context.address<SamplingParams>(op.sampling())),
        tokens(context.address<int32_t>(op.tokens())),
        positions(context.address<int32_t>(op.positions())),
        starts(context.address<int32_t>(op.starts())),
        count(context.address<int32_t>(op.count())),
        slot(context.address<int32_t>(op.slot())), batch(op.batch()),
        vocab(op.vocab()), limit(op.positions_limit()),
        threads(context.threads) {
    const auto &shape = *context.plan.buffer(op.logits()).shape();
    stride = static_cast<int64_t>(shape[shape.size() - 1]);
    slots =
        static_cast<int64_t>(context.plan.buffer(op.tokens()).shape()->Get(0));
  }

  Status run(int64_t) override {
    if (batch == 1) {
      sample(0);
      return Status();
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t b = 0; b < batch; ++b)
      sample(b);
    return Status();
  }

private:
  void sample(int64_t b) {
    int64_t row = std::clamp<int64_t>(b + (slot ? *slot : 0), 0, slots - 1);
    int64_t next =
        std::min<int64_t>(starts[b] + int64_t(count ? *count : 1), limit - 1);
    std::span<const float> line(logits + b * stride,
                                static_cast<size_t>(vocab));
    tokens[row] = sampleToken(line, params[row], static_cast<uint32_t>(next));
    positions[row] = static_cast<int32_t>(next);
  }

  const float *logits;
  const SamplingParams *params;
  int32_t *tokens, *positions;
  const int32_t *starts, *count, *slot;
  int64_t batch, vocab, limit, stride = 0, slots = 0;
  int threads;
};

class CopyStep : public Step {
public:
  CopyStep(const StepContext &context, const fb::Copy &op)
      : from(context.address(op.src())), to(context.address(op.dst())),
        bytes(context.bytes(op.dst())) {}

  Status run(int64_t) override {
    std::memcpy(to, from, bytes);
    return Status();
  }

private:
  const std::byte *from;
  std::byte *to;
  uint64_t bytes;
};

class FillStep : public Step {
public:
  FillStep(const StepContext &context, const fb::Fill &op)
      : data(context.address(op.dst())), bytes(context.bytes(op.dst())),
        type(context.dtype(op.dst())), value(op.value()) {}

  Status run(int64_t) override {
    if (type == DType::F32)
      std::fill_n(reinterpret_cast<float *>(data), bytes / 4, value);
    else if (type == DType::I32)
      std::fill_n(reinterpret_cast<int32_t *>(data), bytes / 4,
                  static_cast<int32_t>(value));
    else
      std::memset(data, 0, bytes);
    return Status();
  }

private:
  std::byte *data;
  uint64_t bytes;
  DType type;
  float value;
};

} // namespace

StepOrError makeLaunchStep(const StepContext &context, const fb::Launch &op) {
  return std::unique_ptr<Step>(std::make_unique<LaunchStep>(context, op));
}

StepOrError makeCacheAppendStep(const StepContext &context,
                                const fb::CacheAppend &op) {
  return std::unique_ptr<Step>(std::make_unique<CacheAppendStep>(context, op));
}

StepOrError makeSampleStep(const StepContext &context, const fb::Sample &op) {
  return std::unique_ptr<Step>(std::make_unique<SampleStep>(context, op));
}

StepOrError makeCopyStep(const StepContext &context, const fb::Copy &op) {
  return std::unique_ptr<Step>(std::make_unique<CopyStep>(context, op));
}

StepOrError makeFillStep(const StepContext &context, const fb::Fill &op) {
  DType type = context.dtype(op.dst());
  if (type != DType::F32 && type != DType::I32 && op.value() != 0.0f)
    return failedPrecondition("fill of ", name(type),
                              " with a value other than 0 is not supported");
  return std::unique_ptr<Step>(std::make_unique<FillStep>(context, op));
}

} // namespace gpt2rt::cpu
