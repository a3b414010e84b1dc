//===- FakeExecutor.h - An executor that computes by a rule -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Executor.h"

#include <map>

namespace gpt2rt::test {

/// Stands for a device in tests of the engine. Its "model" is a rule over the
/// whole sequence so far (see rule()), its "cache" the tokens themselves, so a
/// token that is lost, doubled or put in a wrong row changes what follows.
class FakeExecutor : public Executor {
public:
  explicit FakeExecutor(const Plan &plan);

  /// The token that follows a sequence.
  static int32_t rule(const std::vector<int32_t> &sequence, uint32_t vocab);
  /// The loss that evaluation reports for a token after a sequence.
  static float loss(const std::vector<int32_t> &sequence, int32_t target);

  /// Draw this token at this position of every row, whatever the rule says.
  std::map<int32_t, int32_t> forced; // position -> token
  /// Names of the programs that have run.
  std::vector<std::string> log;

  Status bindWeights(const Checkpoint &) override { return {}; }
  Status bindRandomWeights(const RandomWeights &) override { return {}; }
  Status run(uint32_t program) override;
  Status write(uint32_t buffer, uint64_t offset, const void *data,
               uint64_t bytes) override;
  Status read(uint32_t buffer, uint64_t offset, void *data,
              uint64_t bytes) override;
  MemoryReport memory() const override { return {}; }
  Result<std::vector<InstructionTime>> profile(uint32_t program) override;

private:
  int32_t *words(const char *name);
  void prefill(uint32_t chunk);
  void decode(uint32_t batch);
  void eval(uint32_t batch, uint32_t tokens);
  int32_t next(size_t row, int32_t position);

  const Plan &plan;
  std::map<uint32_t, std::vector<std::byte>> memoryOf; // by state buffer
  std::vector<std::vector<int32_t>> cache;             // by row
};

} // namespace gpt2rt::test
