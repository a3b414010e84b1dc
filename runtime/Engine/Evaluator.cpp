//===- Evaluator.cpp - Loss of a model on a text --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Engine/Evaluator.h"

#include <algorithm>
#include <cmath>

using namespace gpt2rt;

namespace {
/// A row whose loss is not wanted.
constexpr int32_t notScored = -1;
} // namespace

double EvalResult::perplexity() const { return std::exp(meanLoss); }

Result<Evaluator> Evaluator::create(const Plan &plan, Executor &executor) {
  GPT2_RETURN_IF_ERROR(plan.requireMode(fb::Mode::Eval));
  Evaluator evaluator(plan, executor);
  std::optional<uint32_t> program = plan.findProgram("eval");
  if (!program)
    return internalError("plan without a program 'eval'");
  evaluator.program = *program;
  evaluator.batch = plan.program(*program).batch();
  evaluator.tokensPerRow = plan.program(*program).tokens();
  struct {
    const char *name;
    uint32_t *index;
  } wanted[] = {{"eval_tokens", &evaluator.tokensSlot},
                {"targets", &evaluator.targetsSlot},
                {"losses", &evaluator.lossesSlot},
                {"logits", &evaluator.logitsSlot}};
  for (auto [name, index] : wanted) {
    std::optional<uint32_t> found = plan.findState(name);
    if (!found) // the validator has proved them present
      return internalError("plan without state slot '", name, "'");
    *index = *found;
  }
  size_t rows = size_t(evaluator.batch) * evaluator.tokensPerRow;
  evaluator.inputs.resize(rows);
  evaluator.targets.resize(rows);
  evaluator.losses.resize(rows);
  return evaluator;
}

std::vector<Evaluator::Window>
Evaluator::windowsOf(size_t tokens, size_t length, size_t stride) {
  std::vector<Window> windows;
  size_t scored = 0;
  for (size_t begin = 0; scored < tokens; begin += stride) {
    size_t end = std::min(begin + length, tokens);
    windows.push_back({begin, end, scored});
    scored = end;
  }
  return windows;
}

Status Evaluator::checkIds(std::span<const int32_t> ids) const {
  uint32_t vocab = plan->root().model()->vocab();
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || static_cast<uint32_t>(ids[i]) >= vocab)
      return outOfRange("token ", i, " has id ", ids[i],
                        ", but the model's ids are 0 to ", vocab - 1);
  return Status::okStatus();
}

/// The row at t predicts token begin + t + 1. What lies past the window is
/// padding, which causal attention keeps out of the rows before it.
void Evaluator::placeRow(uint32_t row, std::span<const int32_t> text,
                         Window window) {
  auto input = inputs.begin() + size_t(row) * tokensPerRow;
  auto target = targets.begin() + size_t(row) * tokensPerRow;
  std::fill_n(input, tokensPerRow, 0);
  std::fill_n(target, tokensPerRow, notScored);
  for (size_t at = window.begin; at < window.end; ++at) {
    input[at - window.begin] = text[at];
    if (at > window.begin && at >= window.scored)
      target[at - window.begin - 1] = text[at];
  }
}

Status Evaluator::runRows() {
  GPT2_RETURN_IF_ERROR(executor->write(tokensSlot, 0, inputs.data(),
                                       inputs.size() * sizeof(int32_t)));
  GPT2_RETURN_IF_ERROR(executor->write(targetsSlot, 0, targets.data(),
                                       targets.size() * sizeof(int32_t)));
  return executor->run(program);
}

Result<EvalResult>
Evaluator::evaluate(std::span<const int32_t> text, uint32_t stride,
                    const std::function<void(size_t)> &progress) {
  if (stride == 0 || stride > tokensPerRow)
    return outOfRange("--stride is ", stride, ", but it must be in [1, ",
                      tokensPerRow, "], the window of the plan");
  if (text.size() < 2)
    return invalidArgument("the text has ", text.size(),
                           " tokens; at least 2 are needed to score one");
  GPT2_RETURN_IF_ERROR(checkIds(text));
  std::vector<Window> windows = windowsOf(text.size(), tokensPerRow, stride);
  EvalResult result;
  double sum = 0;
  for (size_t first = 0; first < windows.size(); first += batch) {
    for (uint32_t row = 0; row < batch; ++row)
      placeRow(row, text,
               first + row < windows.size() ? windows[first + row] : Window());
    GPT2_RETURN_IF_ERROR(runRows());
    GPT2_RETURN_IF_ERROR(executor->read(lossesSlot, 0, losses.data(),
                                        losses.size() * sizeof(float)));
    for (size_t i = 0; i < losses.size(); ++i)
      if (targets[i] != notScored) {
        sum += losses[i];
        ++result.tokens;
      }
    if (!std::isfinite(sum))
      return dataLoss("the loss is not finite (NaN or infinity) by token ",
                      windows[first].end,
                      " of the text; check the weights, "
                      "or compile with a wider --precision");
    if (progress)
      progress(windows[std::min(first + batch, windows.size()) - 1].end);
  }
  result.meanLoss = result.tokens ? sum / double(result.tokens) : 0;
  return result;
}

Result<std::vector<float>> Evaluator::logits(std::span<const int32_t> ids) {
  if (ids.empty() || ids.size() > tokensPerRow)
    return outOfRange("--ids has ", ids.size(), " ids, but it must be 1 to ",
                      tokensPerRow, ", the window of the plan");
  GPT2_RETURN_IF_ERROR(checkIds(ids));
  std::fill(inputs.begin(), inputs.end(), 0);
  std::fill(targets.begin(), targets.end(), notScored);
  std::copy(ids.begin(), ids.end(), inputs.begin());
  GPT2_RETURN_IF_ERROR(runRows());
  const fb::Model &model = *plan->root().model();
  std::vector<float> rows(ids.size() * model.vocab());
  for (size_t row = 0; row < ids.size(); ++row)
    GPT2_RETURN_IF_ERROR(executor->read(
        logitsSlot, row * model.padded_vocab() * sizeof(float),
        rows.data() + row * model.vocab(), model.vocab() * sizeof(float)));
  return rows;
}
