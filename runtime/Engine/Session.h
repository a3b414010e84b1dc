//===- Session.h - The state slots of a running plan ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What generation and benchmarks share: prefill of one slot, decode steps over
// a bucket of slots, and the copies between them. A slot is a row of the KV
// caches; tokens and positions stay on the device between steps.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Executor.h"
#include "runtime/Device/SamplingParams.h"

#include <span>

namespace gpt2rt {

/// A plan for generation on an executor; both must outlive it.
class Session {
public:
  /// Fails for plans of another mode.
  static Result<Session> create(const Plan &plan, Executor &executor);

  uint32_t slots() const { return plan->root().batch(); }
  uint32_t chunk() const { return chunkTokens; }
  uint32_t positions() const { return plan->root().model()->positions(); }
  uint32_t vocab() const { return plan->root().model()->vocab(); }

  /// Makes slots [0, count) ready for new sequences and parks the others, so
  /// that a bucket wider than `count` does little work for them.
  Status begin(uint32_t count, const SamplingParams &sampling);

  /// Runs a prompt through the model chunk by chunk. Afterwards the slot's
  /// first new token is drawn.
  Status prefill(uint32_t slot, std::span<const int32_t> prompt);

  /// One token for slots [0, count) by the smallest program that has as many.
  Status decode(uint32_t count);

  /// The newest token of slots [0, tokens.size()).
  Status readTokens(std::span<int32_t> tokens);

  /// A row of the logits that the last program left: row 0 after prefill, row
  /// `slot` after decode; without the padded columns.
  Status readLogits(uint32_t row, std::span<float> logits);

  uint32_t prefillProgram() const { return prefillIndex; }
  /// The decode program that serves `count` slots.
  uint32_t decodeProgram(uint32_t count) const;

private:
  Session(const Plan &plan, Executor &executor)
      : plan(&plan), executor(&executor) {}

  Status findState();

  struct Bucket {
    uint32_t slots;
    uint32_t program;
  };

  const Plan *plan;
  Executor *executor;
  uint32_t prefillIndex = 0;
  uint32_t chunkTokens = 0;
  std::vector<Bucket> buckets; // by slots
  // Buffer indices of the state slots.
  uint32_t tokens = 0, positionsSlot = 0, sampling = 0, prompt = 0, start = 0,
           count = 0, slot = 0, logits = 0;
  // Staging, so that steps allocate nothing.
  std::vector<int32_t> chunkIds;
};

} // namespace gpt2rt
