//===- TextStream.cpp - Text of a growing token sequence ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Engine/TextStream.h"

#include <algorithm>

using namespace gpt2rt;

/// Length of the longest end of `text` that is a proper beginning of `stop`.
static size_t heldLength(std::string_view text, std::string_view stop) {
  size_t length = std::min(text.size(), stop.size() - 1);
  while (length && !stop.starts_with(text.substr(text.size() - length)))
    --length;
  return length;
}

std::string TextStream::release(std::string_view text, bool last) {
  if (met)
    return "";
  if (stops.empty())
    return std::string(text);
  held += text;
  size_t end = std::string::npos;
  for (const std::string &stop : stops)
    end = std::min(end, held.find(stop));
  if (end != std::string::npos) {
    met = true;
    return held.substr(0, end);
  }
  size_t keep = 0;
  for (const std::string &stop : stops)
    keep = last ? 0 : std::max(keep, heldLength(held, stop));
  std::string shown = held.substr(0, held.size() - keep);
  held.erase(0, shown.size());
  return shown;
}

std::string TextStream::push(std::string_view tokenBytes) {
  return release(utf8.push(tokenBytes), /*last=*/false);
}

std::string TextStream::finish() {
  return release(utf8.finish(), /*last=*/true);
}
