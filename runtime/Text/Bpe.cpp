//===- Bpe.cpp - Byte-pair merges -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Text/Bpe.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>

using namespace gpt2rt;

static uint64_t pairKey(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 |
         static_cast<uint32_t>(right);
}

MergeTable::MergeTable(size_t count) {
  // At most half full, so that probes stay short.
  slots.resize(std::bit_ceil(std::max<size_t>(2 * count, 16)));
  shift = 64 - std::countr_zero(slots.size());
}

/// Multiplicative hashing: the top bits of the product mix both ids.
size_t MergeTable::slotOf(uint64_t key) const {
  return (key * 0x9e3779b97f4a7c15) >> shift;
}

bool MergeTable::insert(int32_t left, int32_t right, Merge merge) {
  uint64_t key = pairKey(left, right);
  size_t mask = slots.size() - 1;
  size_t slot = slotOf(key);
  while (slots[slot].key != emptyKey) {
    if (slots[slot].key == key)
      return false;
    slot = (slot + 1) & mask;
  }
  slots[slot] = {key, merge};
  return true;
}

const Merge *MergeTable::find(int32_t left, int32_t right) const {
  uint64_t key = pairKey(left, right);
  size_t mask = slots.size() - 1;
  for (size_t slot = slotOf(key);; slot = (slot + 1) & mask) {
    if (slots[slot].key == key)
      return &slots[slot].merge;
    if (slots[slot].key == emptyKey)
      return nullptr;
  }
}

/// Up to this length, scanning for the lowest rank beats keeping a heap.
static constexpr size_t shortWord = 64;

static constexpr uint32_t noRank = ~uint32_t(0);

void Bpe::encodeWord(std::string_view word, std::vector<int32_t> &out) const {
  if (word.size() <= shortWord)
    encodeShort(word, out);
  else
    encodeLong(word, out);
}

void Bpe::encodeShort(std::string_view word, std::vector<int32_t> &out) const {
  int32_t tokens[shortWord];
  Merge pairs[shortWord]; // pairs[i]: what tokens i and i + 1 become
  size_t count = word.size();
  for (size_t i = 0; i < count; ++i)
    tokens[i] = byteTokens[static_cast<unsigned char>(word[i])];
  auto updatePair = [&](size_t i) {
    const Merge *merge = merges.find(tokens[i], tokens[i + 1]);
    pairs[i] = merge ? *merge : Merge{noRank, 0};
  };
  for (size_t i = 0; i + 1 < count; ++i)
    updatePair(i);
  while (count > 1) {
    auto byRank = [](const Merge &a, const Merge &b) {
      return a.rank < b.rank;
    };
    size_t best = std::min_element(pairs, pairs + count - 1, byRank) - pairs;
    if (pairs[best].rank == noRank)
      break;
    tokens[best] = pairs[best].result;
    std::copy(tokens + best + 2, tokens + count, tokens + best + 1);
    if (best + 2 < count)
      std::copy(pairs + best + 2, pairs + count - 1, pairs + best + 1);
    --count;
    if (best > 0)
      updatePair(best - 1);
    if (best + 1 < count)
      updatePair(best);
  }
  out.insert(out.end(), tokens, tokens + count);
}

namespace {

/// A possible merge of the token at `position` with the one after it. It is
/// stale, and skipped, once either token has changed.
struct Candidate {
  uint32_t rank;
  size_t position;
  int32_t left, right;
  int32_t result;

  bool operator>(const Candidate &other) const {
    return std::tie(rank, position) > std::tie(other.rank, other.position);
  }
};

} // namespace

void Bpe::encodeLong(std::string_view word, std::vector<int32_t> &out) const {
  // A linked list over the word's bytes; a merge keeps the left node.
  size_t count = word.size();
  constexpr int32_t dead = -1;
  std::vector<int32_t> tokens(count);
  std::vector<size_t> next(count), previous(count);
  for (size_t i = 0; i < count; ++i) {
    tokens[i] = byteTokens[static_cast<unsigned char>(word[i])];
    next[i] = i + 1;
    previous[i] = i - 1; // of the first node: never read
  }
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  auto consider = [&](size_t left) {
    size_t right = next[left];
    if (right == count)
      return;
    if (const Merge *merge = merges.find(tokens[left], tokens[right]))
      queue.push(
          {merge->rank, left, tokens[left], tokens[right], merge->result});
  };
  for (size_t i = 0; i + 1 < count; ++i)
    consider(i);
  while (!queue.empty()) {
    Candidate best = queue.top();
    queue.pop();
    size_t left = best.position;
    size_t right = next[left];
    if (tokens[left] != best.left || right == count ||
        tokens[right] != best.right)
      continue;
    tokens[left] = best.result;
    tokens[right] = dead;
    next[left] = next[right];
    if (next[left] != count)
      previous[next[left]] = left;
    if (left > 0)
      consider(previous[left]);
    consider(left);
  }
  for (size_t i = 0; i != count; i = next[i])
    out.push_back(tokens[i]);
}
