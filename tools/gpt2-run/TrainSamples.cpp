//===- TrainSamples.cpp - The texts that train's flags ask for ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "tools/gpt2-run/TrainSamples.h"

#include <algorithm>

using namespace gpt2rt;
using namespace gpt2rt::tool;

namespace {

class Prompts {
public:
  Prompts(const Plan &plan, const Tokenizer *tokenizer, Dataset &data)
      : plan(plan), tokenizer(tokenizer), data(data) {}

  Result<SamplePrompt> encode(const std::string &text);
  Result<SamplePrompt> byDefault();

private:
  std::optional<int32_t> endOfText() const;
  Result<SamplePrompt> beginningOfData();

  const Plan &plan;
  const Tokenizer *tokenizer;
  Dataset &data;
};

std::optional<int32_t> Prompts::endOfText() const {
  if (int32_t eos = plan.root().model()->eos(); eos >= 0)
    return eos;
  return tokenizer ? tokenizer->specialToken("<|endoftext|>") : std::nullopt;
}

Result<SamplePrompt> Prompts::beginningOfData() {
  constexpr uint64_t most = 8;
  uint32_t tokens = plan.program(*plan.findProgram("accumulate")).tokens();
  std::vector<int32_t> inputs(tokens), targets(tokens);
  GPT2_RETURN_IF_ERROR(data.fill(0, inputs, targets));
  inputs.resize(std::min({most, data.scoredTokens(0), uint64_t(tokens - 1)}));
  SamplePrompt prompt;
  prompt.ids = std::move(inputs);
  if (tokenizer)
    prompt.text = tokenizer->decode(prompt.ids);
  return prompt;
}

Result<SamplePrompt> Prompts::byDefault() {
  if (std::optional<int32_t> end = endOfText())
    return SamplePrompt{"", {*end}};
  return beginningOfData();
}

Result<SamplePrompt> Prompts::encode(const std::string &text) {
  if (text.empty())
    return byDefault();
  if (!tokenizer)
    return notFound("--sample-prompt needs the tokenizer of --model DIR "
                    "(vocab.json and merges.txt); without --sample-prompt, "
                    "texts are drawn as ids");
  GPT2_RETURN_IF_ERROR(checkUtf8(text, "--sample-prompt"));
  SamplePrompt prompt;
  prompt.text = text;
  GPT2_ASSIGN_OR_RETURN(prompt.ids, tokenizer->encode(text));
  return prompt;
}

} // namespace

Result<SampleSettings> tool::sampleSettings(const RunConfig &config,
                                            const Plan &plan,
                                            const Tokenizer *tokenizer,
                                            Dataset &data) {
  SampleSettings settings;
  settings.tokenizer = tokenizer;
  settings.tokens = static_cast<uint32_t>(config.sampleTokens);
  SamplingParams &sampling = settings.sampling;
  sampling.temperature = static_cast<float>(config.sampleTemperature);
  sampling.topK = static_cast<int32_t>(config.sampleTopK);
  sampling.topP = static_cast<float>(config.sampleTopP);
  auto seed = static_cast<uint64_t>(config.sampleSeed);
  sampling.seedLow = static_cast<uint32_t>(seed);
  sampling.seedHigh = static_cast<uint32_t>(seed >> 32);
  std::vector<std::string> texts = config.samplePrompt;
  if (texts.empty())
    texts.emplace_back();
  Prompts prompts(plan, tokenizer, data);
  for (const std::string &text : texts) {
    GPT2_ASSIGN_OR_RETURN(settings.prompts.emplace_back(),
                          prompts.encode(text));
  }
  return settings;
}
