//===- Packing.h - Offsets for buffers with known lifetimes -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Plain C++: knows sizes and instruction numbers, nothing of MLIR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mlir::gpt2c {

/// A buffer to place: bytes, and the first and last instruction (inclusive)
/// that touch it. Two buffers may share bytes if no instruction touches both
/// and their spans do not overlap.
struct PackItem {
  uint64_t size = 0;
  uint32_t first = 0;
  uint32_t last = 0;
};

/// The order in which the greedy packer places buffers, largest first.
enum class PackOrder { Size, Area, Lifetime };

inline constexpr PackOrder allPackOrders[] = {PackOrder::Size, PackOrder::Area,
                                              PackOrder::Lifetime};
const char *name(PackOrder order);

struct Packing {
  PackOrder order = PackOrder::Size;
  std::vector<uint64_t> offsets; // one for each item
  uint64_t peak = 0;             // end of the highest item, aligned
};

/// No packing is smaller: the most bytes live at one instruction.
uint64_t packLowerBound(std::span<const PackItem> items, uint64_t alignment);

/// Places each item, in the given order, into the smallest gap that fits it
/// between the items it overlaps in time. Offsets are multiples of alignment.
Packing packGreedily(std::span<const PackItem> items, uint64_t alignment,
                     PackOrder order);

/// Rounds of improvement for each order in pack().
inline constexpr int packRounds = 24;

/// The best of all orders. While the lower bound is not reached, the buffers
/// at the peak move to the front of the order and all are placed again, a few
/// times: residuals of a layered model that block each other then alternate.
Packing pack(std::span<const PackItem> items, uint64_t alignment);

} // namespace mlir::gpt2c
