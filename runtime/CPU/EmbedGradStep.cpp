//===- EmbedGradStep.cpp - Gradients of the embedding tables --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Threads share the columns, never the rows of a sum: what a token's row gains
// is added up in the order of `order`, and what a position's row gains by
// increasing sequence.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/Step.h"

#include <algorithm>

namespace gpt2rt::cpu {
namespace {

/// Columns of a sum that stay in registers.
constexpr int64_t blockColumns = 64;

class EmbedGradStep : public Step {
public:
  EmbedGradStep(const StepContext &context, const fb::EmbedGrad &op)
      : dx(context.address<float>(op.dx())),
        ids(context.address<int32_t>(op.tokens())),
        order(context.address<int32_t>(op.order())),
        dwte(context.address<float>(op.dwte())),
        dwpe(context.address<float>(op.dwpe())), batch(op.batch()),
        tokens(op.tokens_per_sequence()), rows(batch * tokens),
        threads(context.threads) {
    const auto &shape = *context.plan.buffer(op.dx()).shape();
    columns = static_cast<int64_t>(shape[shape.size() - 1]);
    vocab = static_cast<int64_t>(context.bytes(op.dwte()) / sizeof(float)) /
            columns;
  }

  Status run(int64_t) override {
    int64_t blocks = (columns + blockColumns - 1) / blockColumns;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t block = 0; block < blocks; ++block) {
      int64_t begin = block * blockColumns;
      int64_t count = std::min(blockColumns, columns - begin);
      addTokens(begin, count);
      addPositions(begin, count);
    }
    return Status();
  }

private:
  /// Adds a row's `count` columns from `begin` on to `sums`.
  void addRow(float *sums, int64_t row, int64_t begin, int64_t count) const {
    const float *from = dx + row * columns + begin;
    for (int64_t i = 0; i < count; ++i)
      sums[i] += from[i];
  }

  /// What was read from the state slots stays inside the tables.
  int64_t rowAt(int64_t i) const {
    return std::clamp<int64_t>(order[i], 0, rows - 1);
  }
  int64_t tokenAt(int64_t i) const {
    return std::clamp<int64_t>(ids[rowAt(i)], 0, vocab - 1);
  }

  void addTokens(int64_t begin, int64_t count) const {
    for (int64_t i = 0; i < rows;) {
      int64_t token = tokenAt(i);
      float sums[blockColumns] = {};
      for (; i < rows && tokenAt(i) == token; ++i)
        addRow(sums, rowAt(i), begin, count);
      float *to = dwte + token * columns + begin;
      for (int64_t c = 0; c < count; ++c)
        to[c] += sums[c];
    }
  }

  void addPositions(int64_t begin, int64_t count) const {
    for (int64_t t = 0; t < tokens; ++t) {
      float sums[blockColumns] = {};
      for (int64_t b = 0; b < batch; ++b)
        addRow(sums, b * tokens + t, begin, count);
      float *to = dwpe + t * columns + begin;
      for (int64_t c = 0; c < count; ++c)
        to[c] += sums[c];
    }
  }

  const float *dx;
  const int32_t *ids, *order;
  float *dwte, *dwpe;
  int64_t batch, tokens, rows, vocab = 0, columns = 0;
  int threads;
};

} // namespace

StepOrError makeEmbedGradStep(const StepContext &context,
                              const fb::EmbedGrad &op) {
  return std::unique_ptr<Step>(std::make_unique<EmbedGradStep>(context, op));
}

} // namespace gpt2rt::cpu
