//===- Arenas.h - The CPU target's memory -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Executor.h"

namespace gpt2rt::cpu {

/// The plan's arenas, mapped at exactly their planned sizes (rounded up to
/// pages by the kernel only). Large arenas ask for 2 MB pages: decode streams
/// the weights once a token, and page walks would cost a third of it.
class Arenas {
public:
  /// Refuses before mapping anything if the machine lacks the memory.
  static Result<Arenas> allocate(const Plan &plan);
  ~Arenas();
  Arenas(Arenas &&other) noexcept : blocks(std::move(other.blocks)) {
    other.blocks.clear();
  }
  Arenas &operator=(Arenas &&) = delete;

  /// Address of a buffer's first byte.
  std::byte *address(const fb::Buffer &buffer) const {
    return blocks[buffer.arena()].data + buffer.offset();
  }

  std::vector<ArenaUse> use() const;

private:
  struct Block {
    std::byte *data = nullptr;
    uint64_t bytes = 0;
    std::string name;
  };
  Arenas() = default;
  Status map(const fb::Arena &arena);

  std::vector<Block> blocks;
};

} // namespace gpt2rt::cpu
