//===- StateFill.cpp - State that every program of a plan can run on ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/Engine/StateFill.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace gpt2rt;

namespace {

class Filler {
public:
  Filler(const Plan &plan, Executor &executor)
      : plan(plan), executor(executor) {}

  Status fillTraining();
  Status fillGeneration();
  Status fillEvaluation();

private:
  /// Elements of a slot of words.
  size_t sizeOf(const char *slot) const {
    std::optional<uint32_t> buffer = plan.findState(slot);
    return buffer ? plan.buffer(*buffer).bytes() / sizeof(int32_t) : 0;
  }
  template <typename T>
  Status write(const char *slot, const std::vector<T> &values) {
    std::optional<uint32_t> buffer = plan.findState(slot);
    if (!buffer) // the validator has proved them present
      return internalError("plan without state slot '", slot, "'");
    return executor.write(*buffer, 0, values.data(), values.size() * sizeof(T));
  }
  std::vector<int32_t> tokens(size_t count);
  Status writeTokens(const char *slot) {
    return write(slot, tokens(sizeOf(slot)));
  }

  const Plan &plan;
  Executor &executor;
  std::mt19937 engine{1};
};

/// The token of rank r comes in proportion to 1 / r.
std::vector<int32_t> Filler::tokens(size_t count) {
  uint32_t vocab = plan.root().model()->vocab();
  std::uniform_real_distribution<double> uniform(0, std::log(double(vocab)));
  std::vector<int32_t> result(count);
  for (int32_t &token : result)
    token = std::min(static_cast<int32_t>(std::exp(uniform(engine))),
                     static_cast<int32_t>(vocab)) -
            1;
  return result;
}

Status Filler::fillTraining() {
  std::vector<int32_t> inputs = tokens(sizeOf("inputs"));
  std::vector<int32_t> order(inputs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return inputs[static_cast<size_t>(a)] < inputs[static_cast<size_t>(b)];
  });
  GPT2_RETURN_IF_ERROR(write("inputs", inputs));
  GPT2_RETURN_IF_ERROR(write("order", order));
  GPT2_RETURN_IF_ERROR(writeTokens("targets"));
  GPT2_RETURN_IF_ERROR(write("rng", std::vector<int32_t>{1, 2, 3, 0}));
  // A whole text before the token that is drawn.
  if (std::optional<uint32_t> sample = plan.findProgram("sample")) {
    auto count = static_cast<int32_t>(plan.program(*sample).tokens());
    GPT2_RETURN_IF_ERROR(write("count", std::vector<int32_t>{count}));
  }
  // As in a run's first steps (docs/architecture.md has the slots), with a rate
  // that leaves the weights what they are.
  auto rows = static_cast<float>(inputs.size());
  std::vector<float> parameters = {1e-6f, 1 / rows, 0.1f,  0.9f, 0.95f, 1e-8f,
                                   1.0f,  0.1f,     0.22f, 0,    0.1f,  0.05f};
  GPT2_RETURN_IF_ERROR(write("step_params", parameters));
  std::vector<float> state = {1, 0, 0, 0, 0, 0, 0, 0};
  return write("train_state", state);
}

Status Filler::fillGeneration() {
  auto chunk = static_cast<int32_t>(sizeOf("prompt"));
  uint32_t positions = plan.root().model()->positions();
  // Decoding attends to as much as bench's default prompt leaves.
  auto middle = static_cast<int32_t>(std::min(512u, positions / 2));
  std::vector<int32_t> places(sizeOf("positions"), middle);
  GPT2_RETURN_IF_ERROR(writeTokens("tokens"));
  GPT2_RETURN_IF_ERROR(write("positions", places));
  GPT2_RETURN_IF_ERROR(writeTokens("prompt"));
  GPT2_RETURN_IF_ERROR(write("start", std::vector<int32_t>{0}));
  GPT2_RETURN_IF_ERROR(write("count", std::vector<int32_t>{chunk}));
  return write("slot", std::vector<int32_t>{0});
}

Status Filler::fillEvaluation() {
  GPT2_RETURN_IF_ERROR(writeTokens("eval_tokens"));
  return writeTokens("targets");
}

} // namespace

Status gpt2rt::fillState(const Plan &plan, Executor &executor) {
  Filler filler(plan, executor);
  switch (plan.root().mode()) {
  case fb::Mode::Generate:
    return filler.fillGeneration();
  case fb::Mode::Eval:
    return filler.fillEvaluation();
  case fb::Mode::Train:
    return filler.fillTraining();
  }
  return internalError("the validator knows the mode");
}
