//===- Arenas.cpp - The CPU target's memory -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CPU/Arenas.h"
#include "runtime/Device/MemoryAdvice.h"

#include <cstdlib>
#include <fstream>
#include <sys/mman.h>

namespace gpt2rt::cpu {

static constexpr uint64_t hugePage = 2 << 20;

// MemAvailable of /proc/meminfo in bytes, or nothing where it cannot be read.
static std::optional<uint64_t> availableMemory() {
  std::ifstream info("/proc/meminfo");
  std::string key, unit;
  uint64_t kib = 0;
  while (info >> key >> kib >> unit)
    if (key == "MemAvailable:")
      return kib << 10;
  return std::nullopt;
}

static std::string mebibytes(uint64_t bytes) {
  return strCat((bytes + (1 << 20) - 1) >> 20, " MiB");
}

Result<Arenas> Arenas::allocate(const Plan &plan) {
  std::optional<uint64_t> available = availableMemory();
  if (available && plan.totalBytes() > *available)
    return resourceExhausted("the plan needs ", mebibytes(plan.totalBytes()),
                             " and this machine "
                             "has ",
                             mebibytes(*available),
                             " available: ", memoryAdvice(plan, *available));
  Arenas arenas;
  for (const fb::Arena *arena : *plan.root().arenas())
    GPT2_RETURN_IF_ERROR(arenas.map(*arena));
  return arenas;
}

Status Arenas::map(const fb::Arena &arena) {
  Block block;
  block.bytes = arena.bytes();
  block.name = fb::EnumNameArenaKind(arena.kind());
  if (block.bytes) {
    // Room to start at a huge page; the ends that stay outside are unmapped.
    uint64_t slack = block.bytes >= hugePage ? hugePage : 0;
    void *raw = mmap(nullptr, block.bytes + slack, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED)
      return resourceExhausted("cannot map ", mebibytes(block.bytes),
                               " for the plan's ", block.name, " arena");
    auto begin = reinterpret_cast<uintptr_t>(raw);
    uintptr_t start = slack ? (begin + hugePage - 1) & ~(hugePage - 1) : begin;
    if (start > begin)
      munmap(raw, start - begin);
    uintptr_t pageEnd = (start + block.bytes + 4095) & ~uintptr_t(4095);
    uintptr_t rawEnd = (begin + block.bytes + slack + 4095) & ~uintptr_t(4095);
    if (rawEnd > pageEnd)
      munmap(reinterpret_cast<void *>(pageEnd), rawEnd - pageEnd);
    block.data = reinterpret_cast<std::byte *>(start);
    madvise(block.data, block.bytes, MADV_HUGEPAGE);
  }
  blocks.push_back(block);
  return Status();
}

Arenas::~Arenas() {
  for (const Block &block : blocks)
    if (block.data)
      munmap(block.data, block.bytes);
}

std::vector<ArenaUse> Arenas::use() const {
  std::vector<ArenaUse> uses;
  for (const Block &block : blocks)
    uses.push_back({block.name, block.bytes, block.bytes});
  return uses;
}

} // namespace gpt2rt::cpu
