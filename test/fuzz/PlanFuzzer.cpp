//===- PlanFuzzer.cpp - Plan files from anywhere --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/fuzz/FuzzSupport.h"

#include "runtime/Plan/Operands.h"
#include "runtime/Plan/Plan.h"
#include "runtime/Support/Checked.h"
#include "runtime/Support/DType.h"

using namespace gpt2rt;

/// What executors rely on without looking again.
static void checkBuffers(const Plan &plan) {
  for (const fb::Buffer *buffer : *plan.root().buffers()) {
    const fb::Arena *arena = plan.root().arenas()->Get(buffer->arena());
    fuzz::require(rangeFits(buffer->offset(), buffer->bytes(), arena->bytes()));
    uint64_t bytes = sizeOf(static_cast<DType>(buffer->dtype()));
    for (uint64_t dimension : *buffer->shape())
      bytes *= dimension;
    fuzz::require(bytes == buffer->bytes() && bytes != 0);
  }
}

static void checkPlan(std::span<const std::byte> file) {
  // On the heap, which is aligned, and of the exact size.
  std::vector<std::byte> bytes(file.begin(), file.end());
  Result<Plan> plan = Plan::parse(bytes);
  if (!plan.ok())
    return fuzz::checkMessage(plan.status());
  checkBuffers(*plan);
  std::vector<Operand> operands;
  for (const fb::Program *program : *plan->root().programs())
    for (const fb::Instruction *instruction : *program->instructions()) {
      operandsOf(*instruction, operands);
      for (const Operand &operand : operands)
        fuzz::require(operand.buffer < plan->root().buffers()->size());
    }
  unsigned sum = 0;
  for (uint32_t i = 0; i < plan->root().payloads()->size(); ++i)
    for (std::byte byte : plan->payload(i))
      sum += static_cast<unsigned>(byte);
  fuzz::keep(sum);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  checkPlan(input);

  // Mutations hardly ever meet the checksum: set it.
  if (size >= sizeof(PlanHeader)) {
    std::vector<std::byte> file(input.begin(), input.end());
    uint64_t checksum = planChecksum(file);
    std::memcpy(file.data() + offsetof(PlanHeader, checksum), &checksum, 8);
    checkPlan(file);
  }

  // The input as a FlatBuffer under a frame that is right.
  std::string code(64, '\0');
  code.replace(0, 4, "\177ELF");
  Result<std::string> framed =
      assemblePlanFile(input, std::as_bytes(std::span(code)));
  if (framed.ok())
    checkPlan(std::as_bytes(std::span(*framed)));
  return 0;
}
