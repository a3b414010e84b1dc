//===- Generator.cpp - Text from prompts ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Engine/Generator.h"
#include "runtime/Device/SamplingMath.h"

#include <algorithm>
#include <bit>
#include <numeric>

using namespace gpt2rt;

const char *gpt2rt::finishReasonName(FinishReason reason) {
  switch (reason) {
  case FinishReason::Eos:
    return "eos";
  case FinishReason::Length:
    return "length";
  case FinishReason::Stop:
    return "stop";
  case FinishReason::Cancelled:
    return "cancelled";
  }
  return "unknown";
}

/// One prompt on its way.
struct Generator::Row {
  Row(size_t index, GenerateResult &result, uint32_t limit,
      std::span<const std::string> stops)
      : index(index), result(result), limit(limit), stream(stops) {}

  size_t index; ///< of the prompt
  GenerateResult &result;
  uint32_t limit; ///< new tokens
  TextStream stream;
  bool done = false;
};

Result<Generator> Generator::create(const Plan &plan, Executor &executor,
                                    const Tokenizer *tokenizer) {
  GPT2_ASSIGN_OR_RETURN(Session session, Session::create(plan, executor));
  return Generator(plan, std::move(session), tokenizer);
}

/// How many tokens to add to a prompt, after all checks on it.
Result<uint32_t> Generator::newTokens(size_t index,
                                      std::span<const int32_t> prompt,
                                      const GenerateOptions &options) const {
  uint32_t positions = session.positions();
  if (prompt.empty())
    return invalidArgument("prompt ", index + 1, " has no tokens");
  for (int32_t id : prompt)
    if (id < 0 || static_cast<uint32_t>(id) >= session.vocab())
      return outOfRange("prompt ", index + 1, " has token id ", id,
                        ", but the model's ids are 0 to ", session.vocab() - 1);
  if (prompt.size() > positions)
    return outOfRange("prompt ", index + 1, " has ", prompt.size(),
                      " tokens, but the model has ", positions,
                      " positions (n_positions); shorten the prompt");
  uint64_t room = positions - prompt.size();
  if (!options.maxNewTokens && room == 0)
    return outOfRange("prompt ", index + 1, " fills all ", positions,
                      " positions (n_positions) of the model, so no token can "
                      "follow; shorten the prompt");
  uint64_t wanted = options.maxNewTokens.value_or(
      std::min<uint64_t>(room, GenerateOptions::defaultNewTokens));
  if (wanted > room)
    return outOfRange("prompt ", index + 1, " has ", prompt.size(),
                      " tokens and --max-new-tokens is ", wanted, ", together ",
                      prompt.size() + wanted, ", but the model has ", positions,
                      " positions (n_positions)");
  return static_cast<uint32_t>(wanted);
}

Result<std::vector<GenerateResult>>
Generator::generate(const std::vector<std::vector<int32_t>> &prompts,
                    const GenerateOptions &options,
                    const GenerateCallbacks &callbacks) {
  if (!options.stop.empty() && !tokenizer)
    return invalidArgument("stop strings need the model's tokenizer "
                           "(vocab.json and merges.txt)");
  std::vector<GenerateResult> results(prompts.size());
  std::vector<Row> rows;
  rows.reserve(prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    GPT2_ASSIGN_OR_RETURN(uint32_t limit, newTokens(i, prompts[i], options));
    results[i].promptIds = prompts[i];
    // So that the token loop need not grow them (GPT-2's tokens average 4
    // bytes).
    results[i].outputIds.reserve(limit);
    if (tokenizer)
      results[i].text.reserve(8 * size_t(limit));
    rows.emplace_back(i, results[i], limit, options.stop);
  }
  for (size_t first = 0; first < rows.size(); first += session.slots()) {
    size_t count = std::min<size_t>(session.slots(), rows.size() - first);
    GPT2_RETURN_IF_ERROR(
        runGroup(std::span(rows).subspan(first, count), options, callbacks));
  }
  return results;
}

Status Generator::runGroup(std::span<Row> rows, const GenerateOptions &options,
                           const GenerateCallbacks &callbacks) {
  auto cancelled = [&] { return callbacks.cancelled && callbacks.cancelled(); };
  auto count = static_cast<uint32_t>(rows.size());
  GPT2_RETURN_IF_ERROR(session.begin(count, options.sampling));
  for (uint32_t slot = 0; slot < count && !cancelled(); ++slot) {
    GPT2_RETURN_IF_ERROR(session.prefill(slot, rows[slot].result.promptIds));
    if (options.topLogits)
      GPT2_RETURN_IF_ERROR(readTopLogits(rows[slot], options.topLogits));
    if (rows[slot].limit == 0)
      finish(rows[slot], FinishReason::Length, callbacks);
  }
  std::vector<int32_t> tokens(count);
  auto done = [](const Row &row) { return row.done; };
  // The tokens that prefill drew come first, then a step gives one each.
  for (bool first = true; !std::all_of(rows.begin(), rows.end(), done);
       first = false) {
    if (cancelled()) {
      for (Row &row : rows)
        if (!row.done)
          finish(row, FinishReason::Cancelled, callbacks);
      break;
    }
    if (!first)
      GPT2_RETURN_IF_ERROR(session.decode(count));
    GPT2_RETURN_IF_ERROR(session.readTokens(tokens));
    for (uint32_t slot = 0; slot < count; ++slot)
      if (!rows[slot].done)
        GPT2_RETURN_IF_ERROR(
            accept(rows[slot], tokens[slot], options, callbacks));
  }
  return Status::okStatus();
}

Status Generator::accept(Row &row, int32_t token,
                         const GenerateOptions &options,
                         const GenerateCallbacks &callbacks) {
  GenerateResult &result = row.result;
  size_t position = result.promptIds.size() + result.outputIds.size();
  if (token == invalidToken)
    return dataLoss("the logits for position ", position, " of prompt ",
                    row.index + 1,
                    " are not finite (NaN or infinity); check the weights, or "
                    "compile with a wider --precision");
  if (token < 0 || static_cast<uint32_t>(token) >= session.vocab())
    return internalError("token ", token, " was drawn for position ", position,
                         " of a vocabulary of ", session.vocab());
  result.outputIds.push_back(token);
  if (token == eos && !options.ignoreEos) {
    finish(row, FinishReason::Eos, callbacks);
    return Status::okStatus();
  }
  if (tokenizer) {
    std::string text = row.stream.push(tokenizer->tokenBytes(token));
    result.text += text;
    if (callbacks.onText && !text.empty())
      callbacks.onText(row.index, text);
  }
  if (row.stream.stopped())
    finish(row, FinishReason::Stop, callbacks);
  else if (result.outputIds.size() == row.limit)
    finish(row, FinishReason::Length, callbacks);
  return Status::okStatus();
}

void Generator::finish(Row &row, FinishReason reason,
                       const GenerateCallbacks &callbacks) const {
  row.done = true;
  row.result.finish = reason;
  std::string text = row.stream.finish();
  // A stop string may end in what only the end of the sequence released.
  if (row.stream.stopped())
    row.result.finish = FinishReason::Stop;
  row.result.text += text;
  if (callbacks.onText && !text.empty())
    callbacks.onText(row.index, text);
  if (callbacks.onDone)
    callbacks.onDone(row.index, row.result);
}

Status Generator::readTopLogits(Row &row, uint32_t count) {
  std::vector<float> logits(session.vocab());
  GPT2_RETURN_IF_ERROR(session.readLogits(0, logits));
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  count = std::min<uint32_t>(count, session.vocab());
  auto key = [&](int32_t id) {
    return orderedKey(std::bit_cast<uint32_t>(logits[id]));
  };
  std::partial_sort(order.begin(), order.begin() + count, order.end(),
                    [&](int32_t a, int32_t b) {
                      return key(a) != key(b) ? key(a) > key(b) : a < b;
                    });
  for (uint32_t i = 0; i < count; ++i)
    row.result.topLogits.push_back({order[i], logits[order[i]]});
  return Status::okStatus();
}
