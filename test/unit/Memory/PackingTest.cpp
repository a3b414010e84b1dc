//===- PackingTest.cpp - Offsets for buffers with known lifetimes
//-----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Memory/Packing.h"

#include <gmock/gmock.h>

#include <random>

using namespace mlir::gpt2c;
using testing::ElementsAre;

namespace {

constexpr uint64_t align = 64;

uint64_t alignUp(uint64_t value) { return (value + align - 1) / align * align; }

/// Whether no two items share a byte at one time and all offsets are aligned.
testing::AssertionResult isValid(const std::vector<PackItem> &items,
                                 const Packing &packing) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (packing.offsets[i] % align)
      return testing::AssertionFailure() << "item " << i << " is not aligned";
    uint64_t endI = packing.offsets[i] + items[i].size;
    if (endI > packing.peak)
      return testing::AssertionFailure() << "item " << i << " is past the peak";
    for (size_t j = 0; j < i; ++j) {
      bool together =
          items[i].first <= items[j].last && items[j].first <= items[i].last;
      uint64_t endJ = packing.offsets[j] + items[j].size;
      if (together && packing.offsets[i] < endJ && packing.offsets[j] < endI)
        return testing::AssertionFailure() << i << " and " << j << " overlap";
    }
  }
  return testing::AssertionSuccess();
}

TEST(PackingTest, NothingTakesNothing) {
  Packing packing = pack({}, align);
  EXPECT_EQ(packing.peak, 0u);
  EXPECT_TRUE(packing.offsets.empty());
  EXPECT_EQ(packLowerBound({}, align), 0u);
}

TEST(PackingTest, BuffersThatMeetAtOneInstructionDoNotShare) {
  // 0 ends where 1 begins: an instruction reads 0 and writes 1.
  std::vector<PackItem> items = {{64, 0, 1}, {64, 1, 2}, {64, 2, 3}};
  Packing packing = pack(items, align);
  EXPECT_THAT(packing.offsets, ElementsAre(0, 64, 0));
  EXPECT_EQ(packing.peak, 128u);
}

TEST(PackingTest, SizesAreRoundedUpToTheAlignment) {
  std::vector<PackItem> items = {{1, 0, 0}, {65, 0, 0}};
  Packing packing = pack(items, align);
  EXPECT_THAT(packing.offsets, ElementsAre(128, 0));
  EXPECT_EQ(packing.peak, 192u);
  EXPECT_EQ(packLowerBound(items, align), 192u);
}

TEST(PackingTest, TakesTheSmallestGapThatFits) {
  // Placed by size: a (256) at 0, c (192) at 256, e (128) beside a at 448...
  // f must not open a gap's rest: the hole of 64 at 320 suits it exactly.
  std::vector<PackItem> items = {
      {256, 0, 9}, // a: 0
      {192, 1, 1}, // c: 256
      {128, 3, 9}, // e: 256
      {64, 1, 9},  // f: above c, 448
  };
  Packing packing = packGreedily(items, align, PackOrder::Size);
  EXPECT_THAT(packing.offsets, ElementsAre(0, 256, 256, 448));
  EXPECT_EQ(packing.peak, 512u);
}

TEST(PackingTest, AnotherOrderThanSizeCanWin) {
  // By size, c (256) takes 0..256 and pushes a, which lives as long as
  // everything, on top of it; b then cannot use the bytes below c either.
  std::vector<PackItem> items = {
      {192, 0, 2}, // a
      {256, 1, 1}, // c
      {320, 2, 2}, // b
  };
  Packing bySize = packGreedily(items, align, PackOrder::Size);
  Packing byLifetime = packGreedily(items, align, PackOrder::Lifetime);
  EXPECT_THAT(byLifetime.offsets, ElementsAre(0, 192, 192));
  EXPECT_EQ(byLifetime.peak, 512u);
  EXPECT_TRUE(isValid(items, bySize));
  EXPECT_EQ(pack(items, align).peak, 512u);
  EXPECT_EQ(packLowerBound(items, align), 512u);
}

TEST(PackingTest, LowerBoundIsTheMostLiveAtOnce) {
  std::vector<PackItem> items = {{64, 0, 3}, {128, 1, 2}, {256, 3, 4}};
  // Instruction 1: 64 + 128; 3: 64 + 256.
  EXPECT_EQ(packLowerBound(items, align), 320u);
}

TEST(PackingTest, RandomProgramsAreValidAndReproducible) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<PackItem> items(1 + random() % 60);
    for (PackItem &item : items) {
      item.size = 1 + random() % 4096;
      item.first = random() % 100;
      item.last = item.first + random() % 20;
    }
    for (PackOrder order : allPackOrders)
      EXPECT_TRUE(isValid(items, packGreedily(items, align, order)))
          << name(order);
    Packing best = pack(items, align);
    EXPECT_GE(best.peak, packLowerBound(items, align));
    EXPECT_EQ(best.offsets, pack(items, align).offsets);
    for (PackOrder order : allPackOrders)
      EXPECT_LE(best.peak, packGreedily(items, align, order).peak);
  }
}

TEST(PackingTest, OneWayChainsReachTheLowerBound) {
  // A transformer block's shape: a residual that lives through, and a chain of
  // values of different widths.
  std::vector<PackItem> items;
  for (uint32_t layer = 0; layer < 12; ++layer) {
    uint32_t at = layer * 6;
    items.push_back({768 * 4, at, at + 6});
    items.push_back({768 * 2, at + 1, at + 2});
    items.push_back({3 * 768 * 2, at + 2, at + 3});
    items.push_back({4 * 768 * 2, at + 4, at + 5});
  }
  EXPECT_EQ(pack(items, align).peak, packLowerBound(items, align));
  EXPECT_EQ(pack(items, align).peak % align, 0u);
  EXPECT_LT(alignUp(1), pack(items, align).peak);
}

} // namespace
