//===- Tuning.cpp - Measured algorithms in a plan -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/Plan/Tuning.h"

using namespace gpt2rt;

Result<std::string> gpt2rt::withTuning(const Plan &plan,
                                       const MatmulTuning &tuning) {
  fb::PlanT objects;
  plan.root().UnPackTo(&objects);
  for (auto &program : objects.programs)
    for (auto &instruction : program->instructions)
      if (fb::MatmulT *matmul = instruction->op.AsMatmul())
        matmul->algorithm = -1;
  auto table = std::make_unique<fb::TuningT>();
  table->device = tuning.device;
  table->library = tuning.library;
  for (const TunedMatmul &tuned : tuning.matmuls) {
    auto index = static_cast<int32_t>(table->algorithms.size());
    auto algorithm = std::make_unique<fb::MatmulAlgorithmT>();
    algorithm->words.assign(tuned.algorithm.begin(), tuned.algorithm.end());
    table->algorithms.push_back(std::move(algorithm));
    for (auto [program, instruction] : tuned.places)
      objects.programs[program]
          ->instructions[instruction]
          ->op.AsMatmul()
          ->algorithm = index;
  }
  objects.tuning = std::move(table);
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishPlanBuffer(builder, fb::Plan::Pack(builder, &objects));
  return assemblePlanFile(
      std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())),
      plan.payloadSection(), plan.header().requiredFeatures);
}
