//===- HostMirror.cpp - Host access to state buffers ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/HostMirror.h"

#include "runtime/Plan/Operands.h"

#include <algorithm>
#include <cstring>

using namespace gpt2rt;
using namespace gpt2rt::cuda;

// Holds a whole row of logits, so that reading one is a single copy.
static constexpr uint64_t stagingBytes = uint64_t(1) << 20;

Result<HostMirror> HostMirror::create(const Context &context, const Plan &plan,
                                      const DeviceArenas &arenas) {
  std::optional<uint32_t> tokens = plan.findState("tokens");
  uint64_t tokenBytes = tokens ? plan.buffer(*tokens).bytes() : 0;
  GPT2_ASSIGN_OR_RETURN(
      PinnedMemory memory,
      PinnedMemory::allocate(context, stagingBytes + tokenBytes));
  HostMirror mirror(context, plan, std::move(memory));
  if (tokens) {
    mirror.tokens = tokens;
    mirror.tokensCopy = {arenas.address(plan.buffer(*tokens)),
                         mirror.memory.data() + stagingBytes, tokenBytes};
  }
  return mirror;
}

bool HostMirror::isTokens(uint32_t buffer) const {
  return tokens && (buffer == *tokens || plan.buffer(buffer).view_of() ==
                                             static_cast<int32_t>(*tokens));
}

const HostCopy *HostMirror::copyFor(const fb::Program &program) const {
  std::vector<Operand> operands;
  for (const fb::Instruction *instruction : *program.instructions()) {
    operandsOf(*instruction, operands);
    for (const Operand &operand : operands)
      if (operand.writes() && isTokens(operand.buffer))
        return &tokensCopy;
  }
  return nullptr;
}

void HostMirror::afterRun(bool copied) {
  used = 0;
  tokensValid = copied;
}

Status HostMirror::write(uint32_t buffer, CUdeviceptr to, const void *data,
                         uint64_t bytes) {
  const auto *from = static_cast<const std::byte *>(data);
  if (isTokens(buffer))
    tokensValid = false;
  while (bytes > 0) {
    if (used == stagingBytes) {
      GPT2_RETURN_IF_ERROR(context.synchronize());
      used = 0;
    }
    uint64_t part = std::min(bytes, stagingBytes - used);
    std::memcpy(memory.data() + used, from, part);
    GPT2_CU(context.driver(), cuMemcpyHtoDAsync, to, memory.data() + used, part,
            context.stream());
    used += part;
    from += part;
    to += part;
    bytes -= part;
  }
  return Status();
}

Status HostMirror::read(uint32_t buffer, uint64_t offset, CUdeviceptr from,
                        void *data, uint64_t bytes) {
  if (tokensValid && isTokens(buffer)) {
    std::memcpy(data, tokensCopy.to + offset, bytes);
    return Status();
  }
  // Writes in flight read the staging memory that this one overwrites.
  if (used > 0)
    GPT2_RETURN_IF_ERROR(context.synchronize());
  used = 0;
  auto *to = static_cast<std::byte *>(data);
  while (bytes > 0) {
    uint64_t part = std::min(bytes, stagingBytes);
    GPT2_CU(context.driver(), cuMemcpyDtoHAsync, memory.data(), from, part,
            context.stream());
    GPT2_RETURN_IF_ERROR(context.synchronize());
    std::memcpy(to, memory.data(), part);
    to += part;
    from += part;
    bytes -= part;
  }
  return Status();
}
