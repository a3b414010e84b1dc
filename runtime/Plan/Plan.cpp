//===- Plan.cpp - Loading a plan ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Plan/Plan.h"
#include "runtime/Plan/Validator.h"

using namespace gpt2rt;

/// The FlatBuffers verifier: every offset, vector and string inside the buffer.
static Result<const fb::Plan *>
verifyFlatbuffer(std::span<const std::byte> bytes) {
  auto *data = reinterpret_cast<const uint8_t *>(bytes.data());
  // The identifier is read after the root offset.
  if (bytes.size() < 8 || !fb::PlanBufferHasIdentifier(data))
    return dataLoss("the plan's FlatBuffer does not carry the identifier ",
                    fb::PlanIdentifier());
  flatbuffers::Verifier verifier(data, bytes.size());
  if (!fb::VerifyPlanBuffer(verifier))
    return dataLoss("the plan's FlatBuffer is malformed; compile it again");
  return fb::GetPlan(data);
}

Result<Plan> Plan::parse(std::span<const std::byte> file) {
  if (reinterpret_cast<uintptr_t>(file.data()) % alignof(uint64_t) != 0)
    return internalError("plan bytes must be aligned to 8");
  Plan result;
  GPT2_ASSIGN_OR_RETURN(result.frame, readPlanHeader(file));
  const PlanHeader &frame = result.frame;
  result.payloads = file.subspan(frame.payloadOffset, frame.payloadSize);
  GPT2_ASSIGN_OR_RETURN(result.plan,
                        verifyFlatbuffer(file.subspan(frame.flatbufferOffset,
                                                      frame.flatbufferSize)));
  GPT2_RETURN_IF_ERROR(validatePlan(*result.plan, result.payloads));
  return result;
}

Result<Plan> Plan::load(const std::string &path) {
  GPT2_ASSIGN_OR_RETURN(MappedFile mapping, MappedFile::open(path));
  Result<Plan> result = parse(mapping.bytes());
  if (!result.ok())
    return result.status().withContext(quote(path, 4096));
  result->mapping = std::move(mapping);
  return result;
}

std::span<const std::byte> Plan::payload(uint32_t index) const {
  const fb::Payload *range = plan->payloads()->Get(index);
  return payloads.subspan(range->offset(), range->size());
}

std::optional<uint32_t> Plan::findProgram(std::string_view name) const {
  for (uint32_t i = 0; i < plan->programs()->size(); ++i)
    if (program(i).name()->string_view() == name)
      return i;
  return std::nullopt;
}

std::optional<uint32_t> Plan::findState(std::string_view name) const {
  for (uint32_t i = 0; i < plan->buffers()->size(); ++i) {
    const fb::Buffer &slot = buffer(i);
    if (slot.program() < 0 && slot.view_of() < 0 &&
        slot.name()->string_view() == name &&
        plan->arenas()->Get(slot.arena())->kind() == fb::ArenaKind::State)
      return i;
  }
  return std::nullopt;
}

Status Plan::requireMode(fb::Mode mode) const {
  static constexpr struct {
    const char *purpose, *flag;
  } modes[] = {{"generation", "generate"},
               {"evaluation", "eval"},
               {"training", "train"}};
  if (plan->mode() == mode)
    return Status::okStatus();
  return failedPrecondition(
      "the plan was compiled for ", modes[size_t(plan->mode())].purpose,
      "; compile it with --mode=", modes[size_t(mode)].flag);
}

uint64_t Plan::arenaBytes(fb::ArenaKind kind) const {
  uint64_t bytes = 0;
  for (const fb::Arena *arena : *plan->arenas())
    if (arena->kind() == kind)
      bytes += arena->bytes();
  return bytes;
}

uint64_t Plan::totalBytes() const {
  uint64_t bytes = 0;
  for (const fb::Arena *arena : *plan->arenas())
    bytes += arena->bytes();
  return bytes;
}
