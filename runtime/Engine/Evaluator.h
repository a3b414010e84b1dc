//===- Evaluator.h - Loss of a model on a text ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The text is cut into windows as long as the eval program's sequence, which
// start `stride` tokens apart. Each window scores only the tokens that none
// before it has; the rest of it is context. The first token of a window has no
// context and is never scored, so at a stride of a whole window one token a
// window is lost.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Executor.h"

#include <functional>
#include <span>

namespace gpt2rt {

struct EvalResult {
  double meanLoss = 0; ///< nats a token
  uint64_t tokens = 0; ///< scored ones
  double perplexity() const;
};

class Evaluator {
public:
  /// Fails for plans of another mode. Both must outlive the evaluator.
  static Result<Evaluator> create(const Plan &plan, Executor &executor);

  /// Tokens of a window.
  uint32_t window() const { return tokensPerRow; }

  /// The mean loss over a text of two tokens or more. `progress`, if not
  /// empty, is told how many tokens of the text are behind after each run.
  Result<EvalResult> evaluate(std::span<const int32_t> text, uint32_t stride,
                              const std::function<void(size_t)> &progress = {});

  /// The logits of at most one window of ids: ids.size() rows of vocab floats.
  Result<std::vector<float>> logits(std::span<const int32_t> ids);

private:
  /// Tokens [begin, end) of the text, of which [scored, end) are scored.
  struct Window {
    size_t begin, end, scored;
  };

  Evaluator(const Plan &plan, Executor &executor)
      : plan(&plan), executor(&executor) {}

  static std::vector<Window> windowsOf(size_t tokens, size_t length,
                                       size_t stride);
  Status checkIds(std::span<const int32_t> ids) const;
  void placeRow(uint32_t row, std::span<const int32_t> text, Window window);
  Status runRows();

  const Plan *plan;
  Executor *executor;
  uint32_t program = 0;
  uint32_t batch = 0, tokensPerRow = 0;
  uint32_t tokensSlot = 0, targetsSlot = 0, lossesSlot = 0, logitsSlot = 0;
  // One run's rows, batch * tokensPerRow.
  std::vector<int32_t> inputs, targets;
  std::vector<float> losses;
};

} // namespace gpt2rt
