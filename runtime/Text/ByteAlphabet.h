//===- ByteAlphabet.h - GPT-2's printable bytes -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// GPT-2's vocabulary files spell each byte as one printable code point: the
// printable Latin-1 characters stand for themselves and the other 68 bytes,
// in order, for U+0100 and up (so a space is U+0120).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpt2rt {

/// The bytes that `spelled` stands for, or nothing where it has a code point
/// outside the alphabet or is not UTF-8.
std::optional<std::string> bytesFromAlphabet(std::string_view spelled);

/// The code point, as UTF-8, that stands for a byte.
std::string alphabetSpelling(uint8_t byte);

} // namespace gpt2rt
