//===- FakeTrainExecutor.cpp - An executor that learns a toy --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/unit/Train/FakeTrainExecutor.h"
#include "runtime/Device/WeightLayout.h"
#include "runtime/Support/Checked.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace gpt2rt;
using namespace gpt2rt::test;

FakeTrainExecutor::FakeTrainExecutor(const Plan &plan) : plan(plan) {
  for (uint32_t i = 0; i < plan.root().buffers()->size(); ++i)
    if (plan.buffer(i).program() == -1)
      memoryOf[i].resize(plan.buffer(i).bytes());
}

uint32_t FakeTrainExecutor::indexOf(const std::string &name) const {
  for (auto &[index, bytes] : memoryOf)
    if (plan.bufferName(index) == name)
      return index;
  std::abort();
}

float *FakeTrainExecutor::floats(const std::string &name) {
  return reinterpret_cast<float *>(memoryOf[indexOf(name)].data());
}

int32_t *FakeTrainExecutor::words(const std::string &name) {
  return reinterpret_cast<int32_t *>(memoryOf[indexOf(name)].data());
}

std::vector<std::byte> FakeTrainExecutor::trained() {
  std::vector<std::byte> all;
  for (auto &[index, bytes] : memoryOf) {
    auto kind = plan.root().arenas()->Get(plan.buffer(index).arena())->kind();
    if (kind == fb::ArenaKind::Weights || kind == fb::ArenaKind::Optimizer)
      all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

Status FakeTrainExecutor::bindWeights(const Checkpoint &checkpoint) {
  GPT2_ASSIGN_OR_RETURN(std::vector<WeightLayout> layouts,
                        resolveWeights(plan, checkpoint));
  for (const WeightLayout &layout : layouts)
    layout.convert(0, layout.rows(), memoryOf[layout.buffer()].data());
  return {};
}

void FakeTrainExecutor::checkOrder(uint32_t rows) {
  const int32_t *order = words("order"), *inputs = words("inputs");
  for (uint32_t i = 1; i < rows; ++i) {
    int32_t a = order[i - 1], b = order[i];
    EXPECT_TRUE(inputs[a] < inputs[b] || (inputs[a] == inputs[b] && a < b))
        << "place " << i;
  }
}

void FakeTrainExecutor::forward(const fb::Program &program) {
  bool backward = program.role() == fb::Role::Accumulate;
  lengths.push_back(program.tokens());
  uint32_t rows = program.batch() * program.tokens();
  const int32_t *inputs = words("inputs"), *targets = words("targets");
  const int32_t *rng = words("rng");
  float *table = floats("wte"), *gradient = floats("wte.grad");
  float weight = floats("step_params")[1] * floats("train_state")[0];
  for (uint32_t row = 0; row < rows; ++row) {
    if (targets[row] < 0)
      continue;
    // Stands for dropout: another mask, another gradient.
    uint32_t sample = static_cast<uint32_t>(rng[3]) + row / program.tokens();
    uint32_t noise =
        (static_cast<uint32_t>(rng[0]) * 31 + static_cast<uint32_t>(rng[2])) *
            31 +
        sample * 7 + row % program.tokens();
    float &value = table[inputs[row] * 8];
    float difference = value - 0.01f * static_cast<float>(targets[row]);
    floats("loss_sum")[0] += difference * difference;
    if (backward)
      gradient[inputs[row] * 8] +=
          2 * difference * weight * (1 + 0.01f * static_cast<float>(noise % 7));
  }
  if (!backward)
    return;
  checkOrder(rows);
  weights.push_back(floats("step_params")[1]);
  batches.emplace_back(inputs, inputs + rows);
}

void FakeTrainExecutor::applyAdam(float factor) {
  const float *p = floats("step_params");
  float *w = floats("wte"), *m = floats("wte.m"), *v = floats("wte.v");
  const float *g = floats("wte.grad");
  uint64_t count = plan.buffer(indexOf("wte")).bytes() / sizeof(float);
  for (uint64_t i = 0; i < count; ++i) {
    float gradient = g[i] * factor;
    w[i] *= 1 - p[0] * p[2];
    m[i] = p[3] * m[i] + p[10] * gradient;
    v[i] = p[4] * v[i] + p[11] * gradient * gradient;
    w[i] -= p[0] / p[7] * m[i] / (std::sqrt(v[i]) / p[8] + p[5]);
  }
}

void FakeTrainExecutor::update() {
  if (beforeUpdate)
    beforeUpdate(updates);
  const float *p = floats("step_params");
  float *state = floats("train_state"), *g = floats("wte.grad");
  uint64_t count = plan.buffer(indexOf("wte")).bytes() / sizeof(float);
  if (poisoned.count(updates))
    g[0] = NAN;
  if (huge.count(updates))
    g[0] = 1e6f * state[0];
  float sum = 0;
  for (uint64_t i = 0; i < count; ++i)
    sum += g[i] / state[0] * (g[i] / state[0]);
  float norm = std::sqrt(sum);
  bool finite = std::isfinite(norm);
  bool skip = !finite || (p[9] > 0 && norm > p[9]);
  float clip = p[6] > 0 ? std::min(1.0f, p[6] / (norm + 1e-6f)) : 1;
  if (!skip)
    applyAdam(clip / state[0]);
  std::fill_n(g, count, 0.0f);
  if (plan.root().precision() == fb::Precision::FP16 && !finite)
    state[0] *= 0.5f;
  state[1] = finite ? state[1] + 1 : 0;
  state[2] = skip;
  state[3] = norm;
  state[6] += !skip;
  state[7] += skip;
  rates.push_back(p[0]);
  ++updates;
}

void FakeTrainExecutor::sample() {
  int32_t last = words("inputs")[words("count")[0] - 1];
  float next = 100 * floats("wte")[last * 8];
  if (unsampled)
    next = NAN;
  words("tokens")[0] =
      std::isfinite(next)
          ? std::clamp(static_cast<int32_t>(std::lround(next)), 0, 99)
          : -1;
}

Status FakeTrainExecutor::run(uint32_t index) {
  const fb::Program &program = plan.program(index);
  if (program.role() == fb::Role::Update)
    update();
  else if (program.role() == fb::Role::Sample)
    sample();
  else
    forward(program);
  return {};
}

Status FakeTrainExecutor::write(uint32_t buffer, uint64_t offset,
                                const void *data, uint64_t bytes) {
  std::vector<std::byte> &memory = memoryOf.at(buffer);
  if (!rangeFits(offset, bytes, memory.size()))
    return internalError("write outside buffer ", plan.bufferName(buffer));
  std::memcpy(memory.data() + offset, data, bytes);
  return {};
}

Status FakeTrainExecutor::read(uint32_t buffer, uint64_t offset, void *data,
                               uint64_t bytes) {
  std::vector<std::byte> &memory = memoryOf.at(buffer);
  if (!rangeFits(offset, bytes, memory.size()))
    return internalError("read outside buffer ", plan.bufferName(buffer));
  std::memcpy(data, memory.data() + offset, bytes);
  return {};
}
