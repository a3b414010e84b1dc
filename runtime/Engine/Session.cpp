//===- Session.cpp - The state slots of a running plan --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Engine/Session.h"

#include <algorithm>

using namespace gpt2rt;

Result<Session> Session::create(const Plan &plan, Executor &executor) {
  GPT2_RETURN_IF_ERROR(plan.requireMode(fb::Mode::Generate));
  Session session(plan, executor);
  GPT2_RETURN_IF_ERROR(session.findState());
  std::optional<uint32_t> prefill = plan.findProgram("prefill");
  if (!prefill)
    return internalError("plan without a program 'prefill'");
  session.prefillIndex = *prefill;
  session.chunkTokens = plan.program(*prefill).tokens();
  session.chunkIds.resize(session.chunkTokens);
  for (uint32_t i = 0; i < plan.root().programs()->size(); ++i)
    if (plan.program(i).role() == fb::Role::Decode)
      session.buckets.push_back({plan.program(i).batch(), i});
  std::sort(session.buckets.begin(), session.buckets.end(),
            [](Bucket a, Bucket b) { return a.slots < b.slots; });
  return session;
}

Status Session::findState() {
  struct {
    const char *name;
    uint32_t *index;
  } wanted[] = {{"tokens", &tokens},     {"positions", &positionsSlot},
                {"sampling", &sampling}, {"prompt", &prompt},
                {"start", &start},       {"count", &count},
                {"slot", &slot},         {"logits", &logits}};
  for (auto [name, index] : wanted) {
    std::optional<uint32_t> found = plan->findState(name);
    if (!found) // the validator has proved them present
      return internalError("plan without state slot '", name, "'");
    *index = *found;
  }
  return Status::okStatus();
}

Status Session::begin(uint32_t active, const SamplingParams &params) {
  std::vector<SamplingParams> rows(slots());
  std::fill_n(rows.begin(), active, params);
  GPT2_RETURN_IF_ERROR(executor->write(sampling, 0, rows.data(),
                                       rows.size() * sizeof(SamplingParams)));
  std::vector<int32_t> zeros(slots(), 0);
  for (uint32_t buffer : {tokens, positionsSlot})
    GPT2_RETURN_IF_ERROR(executor->write(buffer, 0, zeros.data(),
                                         zeros.size() * sizeof(int32_t)));
  return Status::okStatus();
}

Status Session::prefill(uint32_t row, std::span<const int32_t> ids) {
  auto writeWord = [&](uint32_t buffer, size_t value) {
    auto word = static_cast<int32_t>(value);
    return executor->write(buffer, 0, &word, sizeof(word));
  };
  GPT2_RETURN_IF_ERROR(writeWord(slot, row));
  for (size_t at = 0; at < ids.size(); at += chunkTokens) {
    size_t size = std::min<size_t>(chunkTokens, ids.size() - at);
    std::fill(std::copy_n(ids.data() + at, size, chunkIds.begin()),
              chunkIds.end(), 0);
    GPT2_RETURN_IF_ERROR(executor->write(prompt, 0, chunkIds.data(),
                                         chunkIds.size() * sizeof(int32_t)));
    GPT2_RETURN_IF_ERROR(writeWord(start, at));
    GPT2_RETURN_IF_ERROR(writeWord(count, size));
    GPT2_RETURN_IF_ERROR(executor->run(prefillIndex));
  }
  return Status::okStatus();
}

uint32_t Session::decodeProgram(uint32_t active) const {
  for (const Bucket &bucket : buckets)
    if (bucket.slots >= active)
      return bucket.program;
  return buckets.back().program;
}

Status Session::decode(uint32_t active) {
  return executor->run(decodeProgram(active));
}

Status Session::readTokens(std::span<int32_t> out) {
  return executor->read(tokens, 0, out.data(), out.size_bytes());
}

Status Session::readLogits(uint32_t row, std::span<float> out) {
  uint64_t stride = plan->root().model()->padded_vocab() * sizeof(float);
  return executor->read(logits, row * stride, out.data(), out.size_bytes());
}
