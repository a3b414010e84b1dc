//===- ByteAlphabet.cpp - GPT-2's printable bytes -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Text/ByteAlphabet.h"
#include "runtime/Text/Utf8.h"

#include <array>

using namespace gpt2rt;

static constexpr bool isPrintable(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
}

/// Code points in use are below U+0144.
static constexpr unsigned alphabetEnd = 0x144;

namespace {
struct Tables {
  std::array<uint16_t, 256> codePoint{};
  std::array<int16_t, alphabetEnd> byte{};
};
} // namespace

static constexpr Tables makeTables() {
  Tables tables;
  for (int16_t &entry : tables.byte)
    entry = -1;
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned codePoint = isPrintable(byte) ? byte : next++;
    tables.codePoint[byte] = static_cast<uint16_t>(codePoint);
    tables.byte[codePoint] = static_cast<int16_t>(byte);
  }
  return tables;
}

static constexpr Tables tables = makeTables();

std::optional<std::string> gpt2rt::bytesFromAlphabet(std::string_view spelled) {
  std::string bytes;
  while (!spelled.empty()) {
    Utf8Step step = utf8Step(spelled);
    // The alphabet's code points take one byte or two.
    if (step.kind != Utf8Step::Valid || step.length > 2)
      return std::nullopt;
    unsigned codePoint = static_cast<unsigned char>(spelled[0]);
    if (step.length == 2)
      codePoint = (codePoint & 0x1f) << 6 | (spelled[1] & 0x3f);
    if (codePoint >= alphabetEnd || tables.byte[codePoint] < 0)
      return std::nullopt;
    bytes.push_back(static_cast<char>(tables.byte[codePoint]));
    spelled.remove_prefix(step.length);
  }
  return bytes;
}

std::string gpt2rt::alphabetSpelling(uint8_t byte) {
  unsigned codePoint = tables.codePoint[byte];
  if (codePoint < 0x80)
    return std::string(1, static_cast<char>(codePoint));
  return {static_cast<char>(0xc0 | codePoint >> 6),
          static_cast<char>(0x80 | (codePoint & 0x3f))};
}
