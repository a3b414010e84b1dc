//===- Bpe.h - Byte-pair merges ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gpt2rt {

/// What a pair of adjacent tokens becomes; a lower rank merges first.
struct Merge {
  uint32_t rank;
  int32_t result;
};

/// From pairs of token ids to merges: open addressing in one flat array, the
/// tokenizer's hottest look-up.
class MergeTable {
public:
  explicit MergeTable(size_t count);

  /// False if the pair is there already.
  bool insert(int32_t left, int32_t right, Merge merge);
  const Merge *find(int32_t left, int32_t right) const;

private:
  struct Slot {
    uint64_t key = emptyKey;
    Merge merge = {};
  };
  /// Ids are not negative, so no pair has this key.
  static constexpr uint64_t emptyKey = ~uint64_t(0);

  size_t slotOf(uint64_t key) const;

  std::vector<Slot> slots;
  unsigned shift;
};

/// The merge loop: the pair of lowest rank first, the leftmost among equals.
class Bpe {
public:
  Bpe(MergeTable merges, const std::array<int32_t, 256> &byteTokens)
      : merges(std::move(merges)), byteTokens(byteTokens) {}

  /// Appends the tokens of one word. Words of any length take O(n log n).
  void encodeWord(std::string_view word, std::vector<int32_t> &out) const;

private:
  void encodeShort(std::string_view word, std::vector<int32_t> &out) const;
  void encodeLong(std::string_view word, std::vector<int32_t> &out) const;

  MergeTable merges;
  std::array<int32_t, 256> byteTokens;
};

} // namespace gpt2rt
