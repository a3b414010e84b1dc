//===- StrCat.cpp - Message building --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Support/StrCat.h"

#include <algorithm>

using namespace gpt2rt;

std::string gpt2rt::quote(std::string_view text, size_t maxLength) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out = "'";
  size_t used = 0;
  for (; used < text.size() && out.size() < maxLength + 1; ++used) {
    auto byte = static_cast<unsigned char>(text[used]);
    if (byte >= 0x20 && byte != 0x7f) {
      out.push_back(text[used]);
      continue;
    }
    out.append({'\\', 'x', hex[byte >> 4], hex[byte & 15]});
  }
  // Do not end in the middle of a UTF-8 sequence.
  if (used < text.size()) {
    while (out.size() > 1 && (text[used] & 0xc0) == 0x80) {
      --used;
      out.pop_back();
    }
    out.append("...");
  }
  out.push_back('\'');
  return out;
}

/// Levenshtein distance; names are short, so the quadratic table is fine.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string gpt2rt::nearestName(std::string_view word,
                                std::span<const std::string> candidates) {
  constexpr size_t maxWord = 64;
  if (word.empty() || word.size() > maxWord)
    return "";
  size_t best = std::max<size_t>(2, word.size() / 3) + 1;
  std::string name;
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(word, candidate);
    if (distance < best) {
      best = distance;
      name = candidate;
    }
  }
  return name;
}
