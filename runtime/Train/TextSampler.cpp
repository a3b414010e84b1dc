//===- TextSampler.cpp - Texts of a model in training ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/TextSampler.h"
#include "runtime/Device/SamplingMath.h"

#include <algorithm>

using namespace gpt2rt;

Result<TextSampler> TextSampler::create(const Plan &plan, Executor &executor,
                                        SampleSettings settings) {
  std::optional<uint32_t> program = plan.findProgram("sample");
  if (!program)
    return failedPrecondition(
        "--sample-every needs a plan with a program 'sample', and this one is "
        "of an older gpt2c: compile it again with gpt2c --mode=train, or leave "
        "--sample-every out");
  TextSampler sampler(plan, executor, std::move(settings));
  sampler.program = *program;
  sampler.positions = plan.program(*program).tokens();
  GPT2_RETURN_IF_ERROR(sampler.findState());
  GPT2_RETURN_IF_ERROR(sampler.checkPrompts());
  return sampler;
}

/// The validator has proved slots present and as long as they must be.
Status TextSampler::findState() {
  struct {
    const char *name;
    uint32_t *index;
  } wanted[] = {{"inputs", &inputs},     {"tokens", &tokens},
                {"sampling", &sampling}, {"start", &start},
                {"count", &count},       {"slot", &slot}};
  for (auto [name, index] : wanted) {
    std::optional<uint32_t> found = plan->findState(name);
    if (!found)
      return internalError("plan without state slot '", name, "'");
    *index = *found;
  }
  return {};
}

Status TextSampler::checkPrompts() const {
  uint32_t vocab = plan->root().model()->vocab();
  for (size_t i = 0; i < prompts(); ++i) {
    const std::vector<int32_t> &ids = settings.prompts[i].ids;
    for (int32_t id : ids)
      if (id < 0 || static_cast<uint32_t>(id) >= vocab)
        return outOfRange("--sample-prompt ", i + 1, " has token id ", id,
                          ", but the model's ids are 0 to ", vocab - 1);
    if (ids.empty() || ids.size() >= positions)
      return outOfRange("--sample-prompt ", i + 1, " has ", ids.size(),
                        " tokens, but it must have 1 to ", positions - 1,
                        ": the plan's sequences have ", positions, " (--seq)");
    if (ids.size() + settings.tokens > positions)
      return outOfRange("--sample-prompt ", i + 1, " has ", ids.size(),
                        " tokens and --sample-tokens is ", settings.tokens,
                        ", together ", ids.size() + settings.tokens,
                        ", but the plan's sequences have ", positions,
                        " (--seq)");
  }
  return {};
}

size_t TextSampler::newTokens(size_t prompt) const {
  size_t room = positions - settings.prompts[prompt].ids.size();
  return settings.tokens
             ? settings.tokens
             : std::min<size_t>(room, SampleSettings::defaultTokens);
}

Status TextSampler::begin(std::span<const int32_t> prompt) {
  // What lies behind the valid tokens reaches none of them.
  std::vector<int32_t> sequence(positions, 0);
  std::copy(prompt.begin(), prompt.end(), sequence.begin());
  GPT2_RETURN_IF_ERROR(executor->write(inputs, 0, sequence.data(),
                                       sequence.size() * sizeof(int32_t)));
  GPT2_RETURN_IF_ERROR(writeWord(start, 0, 0));
  GPT2_RETURN_IF_ERROR(writeWord(slot, 0, 0));
  return executor->write(sampling, 0, &settings.sampling,
                         sizeof(settings.sampling));
}

Result<int32_t> TextSampler::drawNext(size_t valid) {
  GPT2_RETURN_IF_ERROR(writeWord(count, 0, static_cast<int32_t>(valid)));
  GPT2_RETURN_IF_ERROR(executor->run(program));
  int32_t token = invalidToken;
  GPT2_RETURN_IF_ERROR(executor->read(tokens, 0, &token, sizeof(token)));
  if (token == invalidToken)
    return dataLoss("the logits for position ", valid,
                    " are not finite (NaN or infinity)");
  return token;
}

Result<SampleReport> TextSampler::draw(size_t prompt,
                                       const std::function<bool()> &stopped) {
  SampleReport report;
  report.prompt = prompt;
  report.promptText = settings.prompts[prompt].text;
  report.hasText = settings.tokenizer != nullptr;
  GenerateResult &result = report.result;
  result.promptIds = settings.prompts[prompt].ids;
  GPT2_RETURN_IF_ERROR(begin(result.promptIds));
  TextStream stream({});
  size_t valid = result.promptIds.size(), end = valid + newTokens(prompt);
  for (; valid < end; ++valid) {
    if (stopped()) {
      result.finish = FinishReason::Cancelled;
      break;
    }
    GPT2_ASSIGN_OR_RETURN(int32_t token, drawNext(valid));
    result.outputIds.push_back(token);
    if (token == plan->root().model()->eos()) {
      result.finish = FinishReason::Eos;
      break;
    }
    if (settings.tokenizer)
      result.text += stream.push(settings.tokenizer->tokenBytes(token));
    GPT2_RETURN_IF_ERROR(writeWord(inputs, valid, token));
  }
  result.text += stream.finish();
  return report;
}
