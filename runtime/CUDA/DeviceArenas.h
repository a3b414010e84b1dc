//===- DeviceArenas.h - The plan's arenas on a GPU --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/Context.h"
#include "runtime/Device/Executor.h"

namespace gpt2rt::cuda {

/// Refuses with ResourceExhausted where arenas and codeReserveBytes exceed what
/// is free, saying what to change. What a loaded plan really takes beside its
/// arenas is measured and reported as MemoryReport::reserve.
Status checkFits(const Plan &plan, uint64_t freeBytes);

/// One allocation per arena, of exactly the planned size.
class DeviceArenas {
public:
  /// Checks that everything fits before allocating anything. State and cache
  /// arenas are zeroed: kernels rely on counters that start at zero, and on
  /// caches that hold no NaN where nothing was written yet.
  static Result<DeviceArenas> allocate(const Context &context,
                                       const Plan &plan);

  CUdeviceptr address(const fb::Buffer &buffer) const {
    return blocks[buffer.arena()].address() + buffer.offset();
  }

  const std::vector<ArenaUse> &use() const { return uses; }
  uint64_t allocatedBytes() const;

private:
  DeviceArenas() = default;

  std::vector<DeviceMemory> blocks;
  std::vector<ArenaUse> uses;
};

} // namespace gpt2rt::cuda
