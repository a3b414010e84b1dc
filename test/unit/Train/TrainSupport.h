//===- TrainSupport.h - What the trainer's tests share ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Train/TokenShards.h"
#include "test/unit/Plan/TestPlans.h"
#include "test/unit/Support/TestSupport.h"

namespace gpt2rt::test {

/// A training plan of 2 x 4 rows over 100 tokens, with a transposed weight and
/// a config.json, and programs for `shorter` sequences.
inline Plan smallTrainPlan(uint32_t batch = 2,
                           fb::Precision precision = fb::Precision::FP32,
                           std::vector<uint32_t> shorter = {}) {
  PlanSizes sizes;
  sizes.shorter = std::move(shorter);
  sizes.batch = batch;
  fb::PlanT plan = trainPlan(sizes);
  plan.precision = precision;
  plan.model->parameters = 1000;
  plan.model->config_json =
      R"({"vocab_size": 100, "n_embd": 8, "torch_dtype": "float16"})";
  auto &init = plan.programs[programNamed(plan, "init")]->instructions;
  fb::LoadWeightT &load = *init[2]->op.AsLoadWeight();
  load.transpose = true;
  std::swap(load.rows, load.cols);
  return *parsePlan(plan);
}

/// The bytes of a shard.
inline std::string shardOf(const std::vector<uint16_t> &tokens,
                           int32_t claimed = -1) {
  std::vector<int32_t> header(shardHeaderWords, 0);
  header[0] = shardMagic;
  header[1] = shardVersion;
  header[2] = claimed < 0 ? static_cast<int32_t>(tokens.size()) : claimed;
  std::string bytes(reinterpret_cast<const char *>(header.data()),
                    shardHeaderBytes);
  bytes.append(reinterpret_cast<const char *>(tokens.data()),
               tokens.size() * sizeof(uint16_t));
  return bytes;
}

/// Tokens below 100 that do not repeat soon.
inline std::vector<uint16_t> countingTokens(size_t count, size_t from = 0) {
  std::vector<uint16_t> tokens;
  for (size_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<uint16_t>((from + i) * 37 % 100));
  return tokens;
}

} // namespace gpt2rt::test
