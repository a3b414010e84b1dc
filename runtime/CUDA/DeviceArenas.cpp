//===- DeviceArenas.cpp - The plan's arenas on a GPU ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/DeviceArenas.h"
#include "runtime/Device/GpuReserve.h"
#include "runtime/Device/MemoryAdvice.h"

using namespace gpt2rt;
using namespace gpt2rt::cuda;

static std::string mebibytes(uint64_t bytes) {
  return strCat((bytes + (1 << 20) - 1) >> 20, " MiB");
}

Status cuda::checkFits(const Plan &plan, uint64_t freeBytes) {
  uint64_t arenas = plan.totalBytes();
  if (arenas <= freeBytes && codeReserveBytes <= freeBytes - arenas)
    return Status();
  std::string kinds;
  for (const fb::Arena *arena : *plan.root().arenas())
    if (arena->bytes())
      kinds += strCat(kinds.empty() ? "" : ", ",
                      fb::EnumNameArenaKind(arena->kind()), " ",
                      mebibytes(arena->bytes()));
  return resourceExhausted(
      "the plan needs ", mebibytes(arenas), " (", kinds, ") and ",
      mebibytes(codeReserveBytes), " for code and graphs, but the GPU has ",
      mebibytes(freeBytes), " free: ",
      memoryAdvice(plan, freeBytes - std::min(freeBytes, codeReserveBytes)),
      ", or free the GPU");
}

Result<DeviceArenas> DeviceArenas::allocate(const Context &context,
                                            const Plan &plan) {
  GPT2_ASSIGN_OR_RETURN(uint64_t free, context.freeBytes());
  GPT2_RETURN_IF_ERROR(checkFits(plan, free));
  DeviceArenas arenas;
  for (const fb::Arena *arena : *plan.root().arenas()) {
    std::string name = fb::EnumNameArenaKind(arena->kind());
    GPT2_ASSIGN_OR_RETURN(DeviceMemory block,
                          DeviceMemory::allocate(context, arena->bytes()));
    bool zeroed = arena->kind() == fb::ArenaKind::State ||
                  arena->kind() == fb::ArenaKind::Cache;
    if (zeroed && arena->bytes())
      GPT2_CU(context.driver(), cuMemsetD8Async, block.address(), 0,
              arena->bytes(), context.stream());
    arenas.uses.push_back({name, arena->bytes(), block.bytes()});
    arenas.blocks.push_back(std::move(block));
  }
  return arenas;
}

uint64_t DeviceArenas::allocatedBytes() const {
  uint64_t sum = 0;
  for (const ArenaUse &use : uses)
    sum += use.allocated;
  return sum;
}
