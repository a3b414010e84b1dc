//===- StrCat.h - Message building ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Concatenates strings, numbers and lists of numbers, with no format string
// to get wrong and no locale.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <charconv>
#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpt2rt {
namespace detail {

inline void appendPiece(std::string &out, std::string_view piece) {
  out.append(piece);
}
inline void appendPiece(std::string &out, char piece) { out.push_back(piece); }
/// A template, so that a string literal never decays into it.
template <std::same_as<bool> T>
void appendPiece(std::string &out, T piece) {
  out.append(piece ? "true" : "false");
}

/// Integers in decimal; floats in the shortest form that reads back equal.
template <typename T>
requires(std::is_arithmetic_v<T> && !std::same_as<T, bool> &&
         !std::same_as<T, char>) void appendPiece(std::string &out, T piece) {
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), piece);
  out.append(buffer, error == std::errc() ? end - buffer : 0);
}

/// Shapes and other lists: [2, 24, 257].
template <typename T>
void appendPiece(std::string &out, std::span<const T> list) {
  out.push_back('[');
  for (size_t i = 0; i < list.size(); ++i) {
    if (i)
      out.append(", ");
    appendPiece(out, list[i]);
  }
  out.push_back(']');
}
template <typename T>
void appendPiece(std::string &out, const std::vector<T> &list) {
  appendPiece(out, std::span<const T>(list));
}

} // namespace detail

template <typename... Args>
std::string strCat(const Args &...args) {
  std::string out;
  (detail::appendPiece(out, args), ...);
  return out;
}

/// Text from a file or flag, made safe to print on one line of a terminal:
/// control characters are escaped and long text is cut.
std::string quote(std::string_view text, size_t maxLength = 80);

/// The candidate within a small edit distance of `word`, or "" if none is
/// close: for "did you mean" in errors about names.
std::string nearestName(std::string_view word,
                        std::span<const std::string> candidates);

} // namespace gpt2rt
