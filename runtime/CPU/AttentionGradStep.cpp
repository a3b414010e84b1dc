//===- AttentionGradStep.cpp - Backward of causal attention ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A task is one head of one sequence. It walks blocks of 64 query rows: scores
// again (S = Q K^T), the gradient of the weights (G = dO V^T), from both the
// weights P and the gradient dS of the scores, then dQ = dS K for the block and
// dV += P^T dO, dK += dS^T Q for the keys up to its diagonal. The sums over
// blocks are f32 and in block order, so no result depends on threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/Step.h"
#include "runtime/Plan/CpuWorkspace.h"
#include "runtime/Support/Convert.h"

#include <algorithm>
#include <cstring>
#include <omp.h>

namespace gpt2rt::cpu {
namespace {

constexpr int64_t blockRows = attentionBlockRows;

class AttentionGradStep : public Step {
public:
  AttentionGradStep(const StepContext &context, const fb::AttentionGrad &op)
      : qkv(context.address(op.qkv())), out(context.address(op.out())),
        dout(context.address(op.dout())), dqkv(context.address(op.dqkv())),
        lse(context.address<float>(op.lse())), batch(op.batch()),
        tokens(op.tokens()), heads(op.heads()), headSize(op.head_size()),
        width(heads * headSize), scale(op.scale()),
        type(context.dtype(op.qkv())),
        elementBytes(static_cast<int64_t>(sizeOf(type))),
        dropout(context.address<int32_t>(op.rng()), op.dropout(),
                op.dropout_id()),
        workspace(context.address(op.workspace())), threads(context.threads),
        simd(context.simd), matmuls(context.matmuls) {
    auto t = static_cast<uint64_t>(tokens);
    scoreBytes = static_cast<int64_t>(attentionScoreBytes(/*decode=*/false, t));
    sumBytes = roundUp(tokens * headSize * 4, 64);
    threadBytes = static_cast<int64_t>(
        attentionGradThreadBytes(t, static_cast<uint64_t>(headSize)));
  }

  Status prepare(uint64_t workspaceBytes) {
    int64_t fits = static_cast<int64_t>(workspaceBytes) / threadBytes;
    if (fits < 1)
      return internalError("the gradient of attention over ", tokens,
                           " tokens wants ", threadBytes,
                           " bytes of workspace, the plan reserves ",
                           workspaceBytes);
    threads = static_cast<int>(std::min<int64_t>(threads, fits));
    // Any thread may get any head, and a step allocates nothing.
    for (int thread = 0; thread < threads; ++thread)
      for (int64_t row = 0; row < tokens; row += blockRows) {
        Block block = blockAt(row);
        for (const MatmulShape *shape :
             {&block.s, &block.g, &block.dq, &block.dk, &block.dv})
          GPT2_RETURN_IF_ERROR(find(thread, *shape).status());
      }
    return Status();
  }

  Status run(int64_t) override {
    int64_t tasks = batch * heads;
    Status failure;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t task = 0; task < tasks; ++task) {
      Status status = runHead(task / heads, task % heads);
      if (!status.ok())
#pragma omp critical(gpt2_attention_grad_failure)
        failure = status;
    }
    return failure;
  }

private:
  /// One thread's part of the workspace.
  struct Scratch {
    float *scores, *gradients; ///< [blockRows, stride]
    float *dk, *dv;            ///< [tokens, headSize]
    void *library;
  };

  Scratch scratchOf(int thread) const {
    std::byte *at = workspace + thread * threadBytes;
    auto take = [&](int64_t bytes) {
      auto *taken = reinterpret_cast<float *>(at);
      at += bytes;
      return taken;
    };
    Scratch scratch = {take(scoreBytes), take(scoreBytes), take(sumBytes),
                       take(sumBytes), nullptr};
    scratch.library = at;
    return scratch;
  }

  /// Part 0 of a row of qkv or dqkv is the query, 1 the key, 2 the value.
  int64_t qkvOffset(int64_t row, int64_t part, int64_t head) const {
    return ((row * 3 + part) * heads + head) * headSize * elementBytes;
  }

  Status runHead(int64_t b, int64_t h) {
    Scratch scratch = scratchOf(omp_get_thread_num());
    std::memset(scratch.dk, 0, static_cast<size_t>(sumBytes));
    std::memset(scratch.dv, 0, static_cast<size_t>(sumBytes));
    for (int64_t row = 0; row < tokens; row += blockRows)
      GPT2_RETURN_IF_ERROR(runBlock(scratch, b, h, row));
    for (int64_t t = 0; t < tokens; ++t) {
      store(scratch.dk + t * headSize, qkvOffset(b * tokens + t, 1, h));
      store(scratch.dv + t * headSize, qkvOffset(b * tokens + t, 2, h));
    }
    return Status();
  }

  /// The products of one block of queries.
  struct Block {
    int64_t rows, keys, stride;
    MatmulShape s, g, dq, dk, dv;
  };

  Block blockAt(int64_t row) const {
    int64_t rows = std::min(blockRows, tokens - row);
    int64_t keys = std::min(roundUp(row + rows, attentionKeyStep), tokens);
    int64_t stride = roundUp(keys, attentionKeyStep), packed = 3 * width;
    // Rows of 16-bit weights begin where their scores did.
    int64_t pStride = type == DType::F32 ? stride : 2 * stride;
    Block block = {rows, keys, stride, {}, {}, {}, {}, {}};
    block.s = {rows, keys,   headSize, packed, 1,
               1,    packed, stride,   type,   DType::F32};
    block.g = block.s;
    block.g.aStrideM = width;
    block.dq = {rows,   headSize, keys,   pStride, 1,
                packed, 1,        packed, type,    type};
    block.dk = {keys,   headSize, rows,     1,    pStride,
                packed, 1,        headSize, type, DType::F32};
    block.dk.accumulate = true;
    block.dv = block.dk;
    block.dv.bStrideK = width;
    return block;
  }

  Status runBlock(const Scratch &scratch, int64_t b, int64_t h, int64_t row) {
    Block block = blockAt(row);
    int64_t first = b * tokens, at = first + row;
    const std::byte *q = qkv + qkvOffset(at, 0, h);
    const std::byte *k = qkv + qkvOffset(first, 1, h);
    const std::byte *v = qkv + qkvOffset(first, 2, h);
    int64_t outOffset = (at * heads + h) * headSize * elementBytes;
    const std::byte *go = dout + outOffset;
    auto multiply = [&](const MatmulShape &shape, const void *a, const void *b,
                        void *d) -> Status {
      GPT2_ASSIGN_OR_RETURN(OneDnnMatmul * matmul,
                            find(omp_get_thread_num(), shape));
      matmul->execute(a, b, nullptr, d, scratch.library);
      return Status();
    };
    GPT2_RETURN_IF_ERROR(multiply(block.s, q, k, scratch.scores));
    GPT2_RETURN_IF_ERROR(multiply(block.g, go, v, scratch.gradients));
    simd.softmaxGrad({scratch.scores, scratch.gradients, block.rows, block.keys,
                      block.stride, row, scale, type, lse + at * heads + h,
                      heads, out + outOffset, go, width, headSize,
                      dropout.of(b, h, row)});
    GPT2_RETURN_IF_ERROR(
        multiply(block.dq, scratch.gradients, k, dqkv + qkvOffset(at, 0, h)));
    GPT2_RETURN_IF_ERROR(multiply(block.dk, scratch.gradients, q, scratch.dk));
    return multiply(block.dv, scratch.scores, go, scratch.dv);
  }

  Result<OneDnnMatmul *> find(int thread, const MatmulShape &shape) {
    return matmuls.findForThread(thread, shape, attentionScratchBytes);
  }

  void store(const float *sums, int64_t offset) const {
    (void)convertElements(DType::F32, sums, type, dqkv + offset,
                          static_cast<uint64_t>(headSize));
  }

  const std::byte *qkv, *out, *dout;
  std::byte *dqkv;
  const float *lse;
  int64_t batch, tokens, heads, headSize, width;
  float scale;
  DType type;
  int64_t elementBytes;
  DropoutOfAttention dropout;
  std::byte *workspace;
  int threads; // those that the workspace has scratch for
  const SimdKernels &simd;
  OneDnnPool &matmuls;
  int64_t scoreBytes = 0, sumBytes = 0, threadBytes = 0;
};

} // namespace

StepOrError makeAttentionGradStep(const StepContext &context,
                                  const fb::AttentionGrad &op) {
  auto step = std::make_unique<AttentionGradStep>(context, op);
  GPT2_RETURN_IF_ERROR(step->prepare(context.bytes(op.workspace())));
  return std::unique_ptr<Step>(std::move(step));
}

} // namespace gpt2rt::cpu
