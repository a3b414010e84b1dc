//===- Generator.h - Text from prompts --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Engine/Session.h"
#include "runtime/Engine/TextStream.h"
#include "runtime/Text/Tokenizer.h"

#include <functional>

namespace gpt2rt {

struct GenerateOptions {
  /// Unset: defaultNewTokens, or what still fits the model's positions.
  std::optional<uint32_t> maxNewTokens;
  SamplingParams sampling;
  bool ignoreEos = false;
  /// Text that ends a sequence; needs a tokenizer. No empty strings.
  std::vector<std::string> stop;
  /// How many of the largest logits after the prompt to report.
  uint32_t topLogits = 0;

  static constexpr uint32_t defaultNewTokens = 128;
};

enum class FinishReason { Eos, Length, Stop, Cancelled };
/// "eos", "length", "stop", "cancelled".
const char *finishReasonName(FinishReason reason);

struct TokenLogit {
  int32_t token;
  float logit;
};

struct GenerateResult {
  std::vector<int32_t> promptIds;
  /// New tokens, with the eos that ended them as transformers has it.
  std::vector<int32_t> outputIds;
  /// The new tokens' text, whole characters, without eos or a stop string.
  /// Empty where there is no tokenizer.
  std::string text;
  FinishReason finish = FinishReason::Length;
  std::vector<TokenLogit> topLogits; ///< the largest first
};

/// Called while tokens are generated. All may be empty.
struct GenerateCallbacks {
  /// New text of a prompt, in order.
  std::function<void(size_t prompt, std::string_view text)> onText;
  /// A prompt's sequence is complete.
  std::function<void(size_t prompt, const GenerateResult &result)> onDone;
  /// Polled between steps; true ends every sequence where it is.
  std::function<bool()> cancelled;
};

/// Runs prompts in groups as large as the plan's batch. A row that is done
/// keeps riding in its group, so that no other row changes buckets.
class Generator {
public:
  /// `tokenizer` may be null: then results have ids only.
  static Result<Generator> create(const Plan &plan, Executor &executor,
                                  const Tokenizer *tokenizer);

  /// Refuses all prompts before it runs any.
  Result<std::vector<GenerateResult>>
  generate(const std::vector<std::vector<int32_t>> &prompts,
           const GenerateOptions &options,
           const GenerateCallbacks &callbacks = {});

private:
  struct Row;

  Generator(const Plan &plan, Session session, const Tokenizer *tokenizer)
      : session(std::move(session)), tokenizer(tokenizer),
        eos(plan.root().model()->eos()) {}

  Result<uint32_t> newTokens(size_t index, std::span<const int32_t> prompt,
                             const GenerateOptions &options) const;
  Status runGroup(std::span<Row> rows, const GenerateOptions &options,
                  const GenerateCallbacks &callbacks);
  Status accept(Row &row, int32_t token, const GenerateOptions &options,
                const GenerateCallbacks &callbacks);
  void finish(Row &row, FinishReason reason,
              const GenerateCallbacks &callbacks) const;
  Status readTopLogits(Row &row, uint32_t count);

  Session session;
  const Tokenizer *tokenizer;
  int32_t eos;
};

} // namespace gpt2rt
