//===- FakeTrainExecutor.h - An executor that learns a toy ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Executor.h"

#include <functional>
#include <map>
#include <set>

namespace gpt2rt::test {

/// Stands for a device in tests of the trainer: the protocol of a training plan
/// over a model of one number a token (wte's first column), which should come
/// to be a hundredth of the token that follows. Whatever the host gets wrong
/// (a weight, a seed, a row, a step) changes every bit that comes after.
class FakeTrainExecutor : public Executor {
public:
  explicit FakeTrainExecutor(const Plan &plan);

  /// Updates, from 0, whose gradients are not finite, or very large.
  std::set<uint64_t> poisoned, huge;
  /// Whether logits of samples are not finite.
  bool unsampled = false;
  /// Every 1/labels that accumulate has seen.
  std::vector<float> weights;
  /// Tokens of every micro-batch trained on, one list each.
  std::vector<std::vector<int32_t>> batches;
  /// Tokens a sequence of every micro-batch trained or validated on.
  std::vector<uint32_t> lengths;
  /// Learning rates of all updates.
  std::vector<float> rates;
  /// Called before each update with its number.
  std::function<void(uint64_t)> beforeUpdate;

  float *floats(const std::string &name);
  int32_t *words(const std::string &name);
  /// All bytes of weights and moments.
  std::vector<std::byte> trained();

  Status bindWeights(const Checkpoint &checkpoint) override;
  Status bindRandomWeights(const RandomWeights &) override { return {}; }
  Status run(uint32_t program) override;
  Status write(uint32_t buffer, uint64_t offset, const void *data,
               uint64_t bytes) override;
  Status read(uint32_t buffer, uint64_t offset, void *data,
              uint64_t bytes) override;
  MemoryReport memory() const override { return {}; }
  Result<std::vector<InstructionTime>> profile(uint32_t) override {
    return std::vector<InstructionTime>();
  }

private:
  uint32_t indexOf(const std::string &name) const;
  void checkOrder(uint32_t rows);
  void forward(const fb::Program &program);
  void update();
  /// The token that the last valid one has come to predict.
  void sample();
  void applyAdam(float factor);

  const Plan &plan;
  std::map<uint32_t, std::vector<std::byte>> memoryOf; // by global buffer
  uint64_t updates = 0;
};

} // namespace gpt2rt::test
