//===- Utf8.cpp - Checking and streaming UTF-8 ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Text/Utf8.h"

#include <cstring>

using namespace gpt2rt;

static constexpr std::string_view replacement = "\xEF\xBF\xBD"; // U+FFFD

namespace {
/// A lead byte's sequence length, and the range of its second byte: that is
/// where overlong forms, surrogates and values above U+10FFFF show.
struct Lead {
  size_t length;
  unsigned char low = 0x80;
  unsigned char high = 0xbf;
};
} // namespace

static Lead leadByte(unsigned char byte) {
  if (byte < 0x80)
    return {1};
  if (byte < 0xc2)
    return {0};
  if (byte < 0xe0)
    return {2};
  if (byte == 0xe0)
    return {3, 0xa0, 0xbf};
  if (byte == 0xed)
    return {3, 0x80, 0x9f};
  if (byte < 0xf0)
    return {3};
  if (byte == 0xf0)
    return {4, 0x90, 0xbf};
  if (byte < 0xf4)
    return {4};
  if (byte == 0xf4)
    return {4, 0x80, 0x8f};
  return {0};
}

Utf8Step gpt2rt::utf8Step(std::string_view text) {
  Lead lead = leadByte(static_cast<unsigned char>(text[0]));
  if (lead.length == 0)
    return {Utf8Step::Invalid, 1};
  for (size_t i = 1; i < lead.length; ++i) {
    if (i == text.size())
      return {Utf8Step::Incomplete, i};
    auto byte = static_cast<unsigned char>(text[i]);
    unsigned char low = i == 1 ? lead.low : 0x80;
    unsigned char high = i == 1 ? lead.high : 0xbf;
    if (byte < low || byte > high)
      return {Utf8Step::Invalid, i};
  }
  return {Utf8Step::Valid, lead.length};
}

size_t gpt2rt::validUtf8Prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    // Most text is ASCII: eight bytes at a time.
    uint64_t word;
    while (text.size() - at >= sizeof(word)) {
      std::memcpy(&word, text.data() + at, sizeof(word));
      if (word & 0x8080808080808080)
        break;
      at += sizeof(word);
    }
    if (at == text.size())
      break;
    Utf8Step step = utf8Step(text.substr(at));
    if (step.kind != Utf8Step::Valid)
      return at;
    at += step.length;
  }
  return at;
}

Status gpt2rt::checkUtf8(std::string_view text, std::string_view what) {
  size_t valid = validUtf8Prefix(text);
  if (valid == text.size())
    return {};
  static constexpr char hex[] = "0123456789abcdef";
  auto byte = static_cast<unsigned char>(text[valid]);
  return invalidArgument(what, " is not valid UTF-8: byte 0x", hex[byte >> 4],
                         hex[byte & 15], " at position ", valid,
                         "; convert it to UTF-8 first");
}

std::string Utf8Stream::push(std::string_view bytes) {
  pending.append(bytes);
  std::string out;
  std::string_view rest = pending;
  while (!rest.empty()) {
    if (size_t valid = validUtf8Prefix(rest)) {
      out.append(rest.substr(0, valid));
      rest.remove_prefix(valid);
      continue;
    }
    Utf8Step step = utf8Step(rest);
    if (step.kind == Utf8Step::Incomplete)
      break;
    out.append(replacement);
    rest.remove_prefix(step.length);
  }
  pending.erase(0, pending.size() - rest.size());
  return out;
}

std::string Utf8Stream::finish() {
  bool held = !pending.empty();
  pending.clear();
  return held ? std::string(replacement) : std::string();
}
