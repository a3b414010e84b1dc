//===- TestPlans.h - Small valid plans to test with -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Plan/Plan.h"

#include <string>

namespace gpt2rt::test {

/// The sizes of the plans below.
struct PlanSizes {
  uint32_t batch = 2;
  uint32_t chunk = 4;
  uint32_t positions = 16;
  uint32_t vocab = 100;
  uint32_t paddedVocab = 128;
  int32_t eos = 50;
  std::vector<uint32_t> shorter; ///< than chunk: training programs, too
};

/// A plan for generation with one instruction of every kind: programs init,
/// prefill and decode_bN for N = 1, 2, 4, ... up to the batch.
fb::PlanT generatePlan(const PlanSizes &sizes = {});

/// A plan for evaluation over windows of `chunk` tokens, `batch` at a time.
fb::PlanT evalPlan(const PlanSizes &sizes = {});

/// A plan for training: an attention layer's forward and backward pass, whose
/// gradients reach one matrix and the tables.
fb::PlanT trainPlan(const PlanSizes &sizes = {});

/// The same of format 1.1, without the program `sample`.
fb::PlanT olderTrainPlan(const PlanSizes &sizes = {});

/// Index of a buffer or program by name; fails the test where there is none.
uint32_t bufferNamed(const fb::PlanT &plan, const std::string &name);
uint32_t programNamed(const fb::PlanT &plan, const std::string &name);

/// The bytes of a plan file, aligned as Plan::parse() wants them.
std::string packPlan(const fb::PlanT &plan);

/// packPlan() and Plan::parse(); keeps the bytes alive for ever.
Result<Plan> parsePlan(const fb::PlanT &plan);

} // namespace gpt2rt::test
