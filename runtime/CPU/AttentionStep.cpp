//===- AttentionStep.cpp - Causal attention of a CPU program --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prefill and eval: blocks of 64 query rows of one head. A block multiplies
// the keys up to its diagonal (rounded up to a block), masks, exponentiates,
// multiplies the values in f32 and normalises: half the work of the full square
// and scores that stay in the second-level cache. Blocks run one to a thread,
// the longest first. One new token a row (decode): plain loops over the cache
// (Simd/Kernels.cpp).
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/Step.h"
#include "runtime/Plan/CpuWorkspace.h"

#include <algorithm>
#include <cstring>
#include <omp.h>

namespace gpt2rt::cpu {
namespace {

constexpr int64_t blockRows = attentionBlockRows;

class AttentionStep : public Step {
public:
  AttentionStep(const StepContext &context, const fb::Attention &op)
      : qkv(context.address(op.qkv())),
        out(context.address(op.out())), caches{context.address(op.k_cache()),
                                               context.address(op.v_cache())},
        starts(context.address<int32_t>(op.starts())),
        slot(context.address<int32_t>(op.slot())), batch(op.batch()),
        tokens(op.tokens()), heads(op.heads()), headSize(op.head_size()),
        scale(op.scale()), type(context.dtype(op.qkv())),
        elementBytes(static_cast<int64_t>(sizeOf(type))),
        dynamicRows(op.dynamic_rows()), lse(context.address<float>(op.lse())),
        dropout(context.address<int32_t>(op.rng()), op.dropout(),
                op.dropout_id()),
        workspace(context.address(op.workspace())),
        workspaceBytes(context.bytes(op.workspace())), simd(context.simd),
        matmuls(context.matmuls) {
    maxKeys = tokens;
    if (caches[0]) {
      const auto &shape = *context.plan.buffer(op.k_cache()).shape();
      slots = static_cast<int64_t>(shape[0]);
      maxKeys = static_cast<int64_t>(shape[2]);
    }
    teamThreads = threads = context.threads;
  }

  Status prepare() {
    scoreBytes = static_cast<int64_t>(
        attentionScoreBytes(isDecode(), static_cast<uint64_t>(maxKeys)));
    scratchBytes = isDecode() ? 0 : attentionScratchBytes;
    libraryBytes = static_cast<int64_t>(
        attentionScratchBytes -
        attentionResultBytes(static_cast<uint64_t>(headSize)));
    int64_t perThread = scoreBytes + scratchBytes;
    int64_t fits = static_cast<int64_t>(workspaceBytes) / perThread;
    if (fits < 1)
      return internalError("attention over ", maxKeys, " keys wants ",
                           perThread, " bytes of workspace, the plan reserves ",
                           workspaceBytes);
    threads = static_cast<int>(std::min<int64_t>(threads, fits));
    // Without a cache all blocks are known, and any thread may get any.
    for (int thread = 0; !caches[0] && thread < threads; ++thread)
      for (int64_t row = 0; row < tokens; row += blockRows) {
        Block block = blockAt(0, row, tokens);
        GPT2_RETURN_IF_ERROR(find(thread, block.qk).status());
        GPT2_RETURN_IF_ERROR(find(thread, block.pv).status());
      }
    return Status();
  }

  Status run(int64_t count) override {
    if (isDecode()) {
      runDecode();
      return Status();
    }
    int64_t live = liveRows(tokens, dynamicRows, count);
    if (!caches[0])
      clearBehind(live);
    return runBlocks(live);
  }

private:
  bool isDecode() const { return caches[0] && tokens == 1; }

  int64_t cacheRow(int64_t b) const {
    return std::clamp<int64_t>(b + (slot ? *slot : 0), 0, slots - 1);
  }
  int64_t startOf(int64_t b) const {
    return caches[0] ? std::clamp<int64_t>(starts[b], 0, maxKeys - 1) : 0;
  }
  const std::byte *qkvRow(int64_t row, int64_t part, int64_t head) const {
    return qkv + ((row * 3 + part) * heads + head) * headSize * elementBytes;
  }
  /// A head's keys (part 1) or values (2).
  const std::byte *headTensor(int64_t part, int64_t b, int64_t h) const {
    if (!caches[0])
      return qkvRow(b * tokens, part, h);
    int64_t head = cacheRow(b) * heads + h;
    return caches[part - 1] + head * maxKeys * headSize * elementBytes;
  }
  std::byte *outRow(int64_t row, int64_t head) const {
    return out + (row * heads + head) * headSize * elementBytes;
  }

  /// Zeroes what the last block multiplies beyond the live rows, which nothing
  /// reads: what it masks must be finite. (With a cache, the append does it.)
  void clearBehind(int64_t live) {
    int64_t end = std::min(roundUp(live, attentionKeyStep), tokens);
    int64_t rowBytes = 3 * heads * headSize * elementBytes;
    for (int64_t b = 0; b < batch; ++b)
      std::memset(qkv + (b * tokens + live) * rowBytes, 0,
                  static_cast<size_t>((end - live) * rowBytes));
  }

  void runDecode() {
    // One piece for each thread that has scores of its own.
#pragma omp parallel for num_threads(teamThreads) schedule(static)
    for (int piece = 0; piece < threads; ++piece)
      decodePiece(piece);
  }

  void decodePiece(int piece) {
    auto *scores = reinterpret_cast<float *>(workspace + piece * scoreBytes);
    int64_t tasks = batch * heads, end = tasks * (piece + 1) / threads;
    for (int64_t task = tasks * piece / threads; task < end; ++task) {
      int64_t b = task / heads, h = task % heads;
      simd.decodeAttention({qkvRow(b, 0, h), headTensor(1, b, h),
                            headTensor(2, b, h), outRow(b, h), scores,
                            startOf(b) + 1, headSize, scale, type});
    }
  }

  Status runBlocks(int64_t live) {
    int64_t blocks = (live + blockRows - 1) / blockRows;
    int64_t tasks = blocks * batch * heads;
    Status failure;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t task = 0; task < tasks; ++task) {
      int64_t block = blocks - 1 - task / (batch * heads);
      int64_t b = task % (batch * heads) / heads, h = task % heads;
      Status status = runBlock(b, h, block * blockRows, live);
      if (!status.ok())
#pragma omp critical(gpt2_attention_failure)
        failure = status;
    }
    return failure;
  }

  /// A block of query rows and its products.
  struct Block {
    int64_t start; ///< Position of its first row.
    int64_t rows, keys, stride;
    MatmulShape qk, pv;
  };

  /// Of the sequence whose first row stands at `past`.
  Block blockAt(int64_t past, int64_t row, int64_t live) const {
    int64_t rows =
        std::min(roundUp(std::min(live - row, blockRows), attentionRowStep),
                 tokens - row);
    int64_t start = past + row;
    int64_t keys = std::min(roundUp(start + rows, attentionKeyStep), maxKeys);
    int64_t stride = roundUp(keys, attentionKeyStep);
    int64_t width = heads * headSize,
            kvStride = caches[0] ? headSize : 3 * width;
    int64_t pStride = type == DType::F32 ? stride : 2 * stride;
    MatmulShape qk = {rows, keys,     headSize, 3 * width, 1,
                      1,    kvStride, stride,   type,      DType::F32};
    MatmulShape pv = {rows,     headSize, keys,     pStride, 1,
                      kvStride, 1,        headSize, type,    DType::F32};
    return {start, rows, keys, stride, qk, pv};
  }

  Status runBlock(int64_t b, int64_t h, int64_t row, int64_t live) {
    int thread = omp_get_thread_num();
    std::byte *mine = workspace + thread * (scoreBytes + scratchBytes);
    auto *scores = reinterpret_cast<float *>(mine);
    void *scratch = mine + scoreBytes;
    auto *values = reinterpret_cast<float *>(mine + scoreBytes + libraryBytes);
    float *sums = values + blockRows * headSize;
    Block block = blockAt(startOf(b), row, live);
    GPT2_ASSIGN_OR_RETURN(OneDnnMatmul * qk, find(thread, block.qk));
    qk->execute(qkvRow(b * tokens + row, 0, h), headTensor(1, b, h), nullptr,
                scores, scratch);
    CausalSoftmaxArgs softmax = {
        scores, block.rows, block.keys, block.stride, block.start, scale, type};
    if (lse)
      softmax.lse = lse + (b * tokens + row) * heads + h;
    softmax.lseStride = heads;
    softmax.dropout = dropout.of(b, h, row);
    softmax.sums = sums;
    simd.causalSoftmax(softmax);
    GPT2_ASSIGN_OR_RETURN(OneDnnMatmul * pv, find(thread, block.pv));
    pv->execute(scores, headTensor(2, b, h), nullptr, values, scratch);
    simd.divideRows({values, sums, block.rows, headSize,
                     outRow(b * tokens + row, h), heads * headSize, type});
    return Status();
  }

  Result<OneDnnMatmul *> find(int thread, const MatmulShape &shape) {
    return matmuls.findForThread(thread, shape,
                                 static_cast<uint64_t>(libraryBytes));
  }

  std::byte *qkv;
  std::byte *out;
  std::byte *caches[2];
  const int32_t *starts, *slot;
  int64_t batch, tokens, heads, headSize;
  float scale;
  DType type;
  int64_t elementBytes;
  bool dynamicRows;
  float *lse;
  DropoutOfAttention dropout;
  std::byte *workspace;
  uint64_t workspaceBytes;
  const SimdKernels &simd;
  OneDnnPool &matmuls;
  int64_t slots = 0, maxKeys = 0, scoreBytes = 0, scratchBytes = 0;
  int64_t libraryBytes = 0; // of the scratch; then come a block's results
  int teamThreads = 1;
  int threads = 1; // those that the workspace has scratch for
};

} // namespace

StepOrError makeAttentionStep(const StepContext &context,
                              const fb::Attention &op) {
  if (op.head_size() > maxHeadSize)
    return failedPrecondition("head size ", op.head_size(), " is above ",
                              maxHeadSize, ", the CPU target's limit");
  auto step = std::make_unique<AttentionStep>(context, op);
  GPT2_RETURN_IF_ERROR(step->prepare());
  return std::unique_ptr<Step>(std::move(step));
}

} // namespace gpt2rt::cpu
