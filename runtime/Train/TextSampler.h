//===- TextSampler.h - Texts of a model in training -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A plan's `sample` program draws one token behind the first `count` of a
// sequence. It reads parameters and writes slots that no step of training
// reads, but for `inputs`, which every micro-batch writes anew: a run with
// samples is equal to the bit to one without.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Executor.h"
#include "runtime/Engine/Generator.h"

#include <functional>
#include <string>
#include <vector>

namespace gpt2rt {

struct SamplePrompt {
  std::string text; ///< shown; empty where there is no tokenizer
  std::vector<int32_t> ids;
};

struct SampleSettings {
  const Tokenizer *tokenizer = nullptr; ///< null: ids without text
  std::vector<SamplePrompt> prompts;
  SamplingParams sampling;
  uint32_t tokens = 0; ///< new ones of each prompt; 0: defaultTokens, or room

  static constexpr uint32_t defaultTokens = 64;
};

/// A text of a step.
struct SampleReport {
  uint64_t step = 0;
  size_t prompt = 0; ///< its number, from 0
  std::string promptText;
  bool hasText = false; ///< else ids only
  GenerateResult result;
};

class TextSampler {
public:
  /// Fails for plans without the program and for prompts that the model cannot
  /// continue. Plan and executor must outlive it.
  static Result<TextSampler> create(const Plan &plan, Executor &executor,
                                    SampleSettings settings);

  size_t prompts() const { return settings.prompts.size(); }

  /// Continues a prompt until its end, the end-of-text token, or `stopped`,
  /// which is asked between tokens. DataLoss where logits are not finite.
  Result<SampleReport> draw(size_t prompt,
                            const std::function<bool()> &stopped);

private:
  TextSampler(const Plan &plan, Executor &executor, SampleSettings settings)
      : plan(&plan), executor(&executor), settings(std::move(settings)) {}

  Status findState();
  Status checkPrompts() const;
  size_t newTokens(size_t prompt) const;
  Status begin(std::span<const int32_t> prompt);
  /// The token behind the first `count`; -1 where there is none.
  Result<int32_t> drawNext(size_t count);
  Status writeWord(uint32_t buffer, uint64_t index, int32_t word) {
    return executor->write(buffer, index * sizeof(word), &word, sizeof(word));
  }

  const Plan *plan;
  Executor *executor;
  SampleSettings settings;
  uint32_t program = 0;
  size_t positions = 0; ///< of a sequence
  // Buffer indices of the state slots.
  uint32_t inputs = 0, tokens = 0, sampling = 0, start = 0, count = 0, slot = 0;
};

} // namespace gpt2rt
