//===- FakeExecutor.cpp - An executor that computes by a rule -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/unit/Engine/FakeExecutor.h"
#include "runtime/Support/Checked.h"

#include <algorithm>
#include <cstring>

using namespace gpt2rt;
using namespace gpt2rt::test;

FakeExecutor::FakeExecutor(const Plan &plan) : plan(plan) {
  for (uint32_t i = 0; i < plan.root().buffers()->size(); ++i)
    if (plan.buffer(i).program() == -1)
      memoryOf[i].resize(plan.buffer(i).bytes());
  cache.assign(plan.root().batch(),
               std::vector<int32_t>(plan.root().model()->positions()));
}

int32_t FakeExecutor::rule(const std::vector<int32_t> &sequence,
                           uint32_t vocab) {
  uint32_t state = 12345;
  for (int32_t token : sequence)
    state = state * 31 + static_cast<uint32_t>(token) + 7;
  return static_cast<int32_t>((state >> 4) % vocab);
}

float FakeExecutor::loss(const std::vector<int32_t> &sequence, int32_t target) {
  return static_cast<float>(rule(sequence, 1000) + target) / 64;
}

int32_t *FakeExecutor::words(const char *name) {
  return reinterpret_cast<int32_t *>(memoryOf[*plan.findState(name)].data());
}

int32_t FakeExecutor::next(size_t row, int32_t position) {
  auto found = forced.find(position + 1);
  if (found != forced.end())
    return found->second;
  std::vector<int32_t> sequence(cache[row].begin(),
                                cache[row].begin() + position + 1);
  return rule(sequence, plan.root().model()->vocab());
}

void FakeExecutor::prefill(uint32_t chunk) {
  auto row = static_cast<size_t>(*words("slot"));
  int32_t start = *words("start"), count = *words("count");
  if (row >= cache.size() || count < 1 || uint32_t(count) > chunk)
    std::abort(); // the engine must never ask for this
  std::copy_n(words("prompt"), count, cache[row].begin() + start);
  words("tokens")[row] = next(row, start + count - 1);
  words("positions")[row] = start + count;
  // One-hot logits with a slope, for the tests of the largest ones.
  auto *logits = reinterpret_cast<float *>(words("logits"));
  for (uint32_t i = 0; i < plan.root().model()->padded_vocab(); ++i)
    logits[i] = -float(i);
  logits[words("tokens")[row]] = 5;
}

void FakeExecutor::decode(uint32_t batch) {
  int32_t *tokens = words("tokens"), *positions = words("positions");
  auto last = static_cast<int32_t>(plan.root().model()->positions()) - 1;
  for (uint32_t row = 0; row < batch; ++row) {
    cache[row][positions[row]] = tokens[row];
    tokens[row] = next(row, positions[row]);
    positions[row] = std::min(positions[row] + 1, last);
  }
}

void FakeExecutor::eval(uint32_t batch, uint32_t tokens) {
  auto *losses = reinterpret_cast<float *>(words("losses"));
  for (uint32_t row = 0; row < batch; ++row) {
    std::vector<int32_t> sequence;
    for (uint32_t t = 0; t < tokens; ++t) {
      uint32_t at = row * tokens + t;
      sequence.push_back(words("eval_tokens")[at]);
      int32_t target = words("targets")[at];
      losses[at] = target < 0 ? 0 : loss(sequence, target);
      auto *logits = reinterpret_cast<float *>(words("logits")) +
                     uint64_t(at) * plan.root().model()->padded_vocab();
      logits[0] = static_cast<float>(rule(sequence, 1000));
    }
  }
}

Status FakeExecutor::run(uint32_t index) {
  const fb::Program &program = plan.program(index);
  log.push_back(program.name()->str());
  if (program.role() == fb::Role::Prefill)
    prefill(program.tokens());
  else if (program.role() == fb::Role::Decode)
    decode(program.batch());
  else
    eval(program.batch(), program.tokens());
  return Status::okStatus();
}

Status FakeExecutor::write(uint32_t buffer, uint64_t offset, const void *data,
                           uint64_t bytes) {
  std::vector<std::byte> &memory = memoryOf.at(buffer);
  if (!rangeFits(offset, bytes, memory.size()))
    return internalError("write outside buffer ", plan.bufferName(buffer));
  std::memcpy(memory.data() + offset, data, bytes);
  return Status::okStatus();
}

Status FakeExecutor::read(uint32_t buffer, uint64_t offset, void *data,
                          uint64_t bytes) {
  std::vector<std::byte> &memory = memoryOf.at(buffer);
  if (!rangeFits(offset, bytes, memory.size()))
    return internalError("read outside buffer ", plan.bufferName(buffer));
  std::memcpy(data, memory.data() + offset, bytes);
  return Status::okStatus();
}

Result<std::vector<InstructionTime>> FakeExecutor::profile(uint32_t) {
  return std::vector<InstructionTime>{
      {"matmul", 2}, {"launch", 1}, {"matmul", 3}};
}
