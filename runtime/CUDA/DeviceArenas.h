//===- DeviceArenas.h - The plan's arenas on a GPU --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/Context.h"
#include "runtime/Device/Executor.h"

namespace gpt2rt::cuda {

/// Device memory beside the arenas that must be free: modules, graphs, the
/// library's kernels. An allowance; what a loaded plan really takes beside its
/// arenas is measured and reported as MemoryReport::reserve.
inline constexpr uint64_t reserveBytes = uint64_t(256) << 20;

/// Refuses with ResourceExhausted where arenas and reserve exceed what is
/// free, saying what to change.
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
