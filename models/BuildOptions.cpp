// What a user may ask of a graph, checked against the model.
// SPDX-License-Identifier: Apache-2.0
#include "models/BuildOptions.h"

#include "models/ModelGlobals.h"

using namespace mlir;
using namespace mlir::gpt2c;
using gpt2rt::ModelConfig;

static constexpr int64_t defaultChunk = 256;

/// Fails where a tensor would be larger than the dialect takes.
static gpt2rt::Status checkSizes(const BuildOptions &options,
                                 const ModelConfig &config) {
  constexpr int64_t maxElements = int64_t(1) << 40;
  bool generates = options.mode == GraphMode::Generate;
  int64_t rows = generates ? std::max(options.batch, options.chunk)
                           : options.batch * options.seq;
  int64_t columns =
      std::max({paddedVocab(config), 3 * config.width, config.inner});
  int64_t cache = generates ? options.batch * options.seq * config.width : 0;
  int64_t table = paddedVocab(config) * config.width;
  if (rows <= std::numeric_limits<int32_t>::max() &&
      std::max({rows * columns, cache, table}) <= maxElements)
    return {};
  return gpt2rt::invalidArgument(
      "--batch=", options.batch, " with --seq=", options.seq,
      " makes tensors that are too large: choose less");
}

SmallVector<int64_t> gpt2c::halvesOf(int64_t seq) {
  constexpr int64_t shortest = 64, multiple = 16;
  SmallVector<int64_t> halves;
  for (int64_t length = seq / 2; length >= shortest; length /= 2)
    if (int64_t rounded = llvm::alignTo(length, multiple); rounded < seq)
      halves.insert(halves.begin(), rounded);
  return halves;
}

/// Sorts the lengths of sequences; fails where one is no shorter than all.
static gpt2rt::Status resolveSeqBuckets(BuildOptions &options) {
  SmallVector<int64_t> &buckets = options.seqBuckets;
  if (options.mode != GraphMode::Train)
    return {};
  if (options.halveSeq)
    buckets = halvesOf(options.seq);
  llvm::sort(buckets);
  for (auto [i, bucket] : llvm::enumerate(buckets)) {
    if (bucket < 1 || bucket >= options.seq)
      return gpt2rt::invalidArgument("--seq-buckets names ", bucket,
                                     ", but a bucket must be at least 1 and "
                                     "less than --seq=",
                                     options.seq);
    if (i > 0 && buckets[i - 1] == bucket)
      return gpt2rt::invalidArgument("--seq-buckets names ", bucket, " twice");
  }
  return {};
}

gpt2rt::Result<BuildOptions> gpt2c::resolveOptions(BuildOptions options,
                                                   const ModelConfig &config) {
  constexpr int64_t maxBatch = 4096;
  if (options.batch < 1 || options.batch > maxBatch)
    return gpt2rt::invalidArgument("--batch=", options.batch,
                                   " must be between 1 and ", maxBatch);
  if (options.seq == 0)
    options.seq = config.nPositions;
  if (options.seq < 1 || options.seq > config.nPositions)
    return gpt2rt::invalidArgument("--seq=", options.seq,
                                   " must be between 1 and the model's ",
                                   config.nPositions, " positions");
  if (options.dropout && !(*options.dropout >= 0 && *options.dropout < 1))
    return gpt2rt::invalidArgument("--dropout=", *options.dropout,
                                   " must be at least 0 and less than 1");
  if (options.chunk == 0)
    options.chunk = std::min(defaultChunk, options.seq);
  if (options.chunk < 1 || options.chunk > options.seq)
    return gpt2rt::invalidArgument(
        "a prefill chunk of ", options.chunk,
        " tokens must be between 1 and --seq=", options.seq);
  GPT2_RETURN_IF_ERROR(checkSizes(options, config));
  GPT2_RETURN_IF_ERROR(resolveSeqBuckets(options));
  if (options.buckets.empty()) {
    for (int64_t bucket = 1; bucket < options.batch; bucket *= 2)
      options.buckets.push_back(bucket);
    options.buckets.push_back(options.batch);
  }
  for (int64_t bucket : options.buckets)
    if (bucket < 1 || bucket > options.batch)
      return gpt2rt::invalidArgument(
          "decode bucket ", bucket,
          " must be between 1 and --batch=", options.batch);
  return options;
}
