//===- TextStream.h - Text of a growing token sequence ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Text/Utf8.h"

#include <span>
#include <string>
#include <string_view>

namespace gpt2rt {

/// Turns the bytes of tokens into text that may be shown: whole characters
/// only, and nothing that could turn out to be the beginning of a stop string.
class TextStream {
public:
  /// The stop strings must outlive the stream.
  explicit TextStream(std::span<const std::string> stops) : stops(stops) {}

  /// Appends a token and returns the text that can now be shown.
  std::string push(std::string_view tokenBytes);

  /// What was held back, at the end of the sequence. Ends in the middle of a
  /// character become U+FFFD.
  std::string finish();

  /// Whether a stop string was met; the text ends before it.
  bool stopped() const { return met; }

private:
  std::string release(std::string_view text, bool last);

  std::span<const std::string> stops;
  Utf8Stream utf8;
  std::string held; // could begin a stop string
  bool met = false;
};

} // namespace gpt2rt
