//===- Packing.cpp - Offsets for buffers with known lifetimes
//---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Memory/Packing.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

using namespace mlir::gpt2c;

namespace {

uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

bool overlapInTime(const PackItem &a, const PackItem &b) {
  return a.first <= b.last && b.first <= a.last;
}

uint64_t lifetime(const PackItem &item) {
  return uint64_t(item.last) - item.first + 1;
}

/// Sort key: what is largest goes first; ties go by size, then by program
/// order, so that the result depends on nothing else.
auto orderKey(const PackItem &item, uint32_t index, PackOrder order) {
  uint64_t main = item.size;
  if (order == PackOrder::Area)
    main = item.size * lifetime(item);
  else if (order == PackOrder::Lifetime)
    main = lifetime(item);
  return std::tuple(~main, ~item.size, item.first, index);
}

std::vector<uint32_t> placementOrder(std::span<const PackItem> items,
                                     PackOrder order) {
  std::vector<uint32_t> indices(items.size());
  std::iota(indices.begin(), indices.end(), 0);
  std::sort(indices.begin(), indices.end(), [&](uint32_t a, uint32_t b) {
    return orderKey(items[a], a, order) < orderKey(items[b], b, order);
  });
  return indices;
}

/// Bytes taken by one placed item.
struct Taken {
  uint64_t begin, end;
};

/// The smallest gap of at least `size` below the end of what is taken, or that
/// end. `taken` is sorted by begin.
uint64_t findGap(const std::vector<Taken> &taken, uint64_t size) {
  std::optional<uint64_t> best;
  uint64_t bestGap = 0, end = 0;
  for (const Taken &range : taken) {
    if (range.begin >= end && range.begin - end >= size &&
        (!best || range.begin - end < bestGap)) {
      best = end;
      bestGap = range.begin - end;
    }
    end = std::max(end, range.end);
  }
  return best.value_or(end);
}

} // namespace

const char *mlir::gpt2c::name(PackOrder order) {
  switch (order) {
  case PackOrder::Size:
    return "size";
  case PackOrder::Area:
    return "area";
  case PackOrder::Lifetime:
    return "lifetime";
  }
  return "";
}

uint64_t mlir::gpt2c::packLowerBound(std::span<const PackItem> items,
                                     uint64_t alignment) {
  // What is live grows at `first` and shrinks after `last`.
  std::map<uint64_t, int64_t> change;
  for (const PackItem &item : items) {
    auto bytes = static_cast<int64_t>(alignUp(item.size, alignment));
    change[item.first] += bytes;
    change[uint64_t(item.last) + 1] -= bytes;
  }
  int64_t live = 0, most = 0;
  for (auto [instruction, bytes] : change) {
    live += bytes;
    most = std::max(most, live);
  }
  return static_cast<uint64_t>(most);
}

namespace {

/// Places items in the order of `indices`.
Packing place(std::span<const PackItem> items, uint64_t alignment,
              std::span<const uint32_t> indices) {
  Packing packing;
  packing.offsets.resize(items.size());
  std::vector<Taken> taken;
  for (size_t at = 0; at < indices.size(); ++at) {
    uint32_t index = indices[at];
    taken.clear();
    for (uint32_t other : indices.first(at))
      if (overlapInTime(items[index], items[other]))
        taken.push_back(
            {packing.offsets[other],
             packing.offsets[other] + alignUp(items[other].size, alignment)});
    std::sort(taken.begin(), taken.end(), [](const Taken &a, const Taken &b) {
      return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
    });
    uint64_t size = alignUp(items[index].size, alignment);
    packing.offsets[index] = findGap(taken, size);
    packing.peak = std::max(packing.peak, packing.offsets[index] + size);
  }
  return packing;
}

/// Moves the items that end at the peak to the front, keeping the rest.
void raisePeakItems(std::span<const PackItem> items, uint64_t alignment,
                    const Packing &packing, std::vector<uint32_t> &indices) {
  std::stable_partition(indices.begin(), indices.end(), [&](uint32_t i) {
    return packing.offsets[i] + alignUp(items[i].size, alignment) ==
           packing.peak;
  });
}

} // namespace

Packing mlir::gpt2c::packGreedily(std::span<const PackItem> items,
                                  uint64_t alignment, PackOrder order) {
  Packing packing = place(items, alignment, placementOrder(items, order));
  packing.order = order;
  return packing;
}

Packing mlir::gpt2c::pack(std::span<const PackItem> items, uint64_t alignment) {
  uint64_t bound = packLowerBound(items, alignment);
  std::optional<Packing> best;
  for (PackOrder order : allPackOrders) {
    std::vector<uint32_t> indices = placementOrder(items, order);
    for (int round = 0; round < packRounds; ++round) {
      Packing packing = place(items, alignment, indices);
      packing.order = order;
      raisePeakItems(items, alignment, packing, indices);
      if (!best || packing.peak < best->peak)
        best = std::move(packing);
      if (best->peak == bound)
        return *std::move(best);
    }
  }
  return *std::move(best);
}
