//===- Utf8.h - Checking and streaming UTF-8 --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"

namespace gpt2rt {

/// What stands at the start of a byte string.
struct Utf8Step {
  enum Kind {
    Valid,      // one code point
    Incomplete, // the whole string could be the start of one
    Invalid,    // bytes that no continuation can make valid
  };
  Kind kind;
  /// Bytes of the code point or of the longest invalid part (at least 1).
  size_t length;
};

/// Looks at the first code point of `text`, which must not be empty.
Utf8Step utf8Step(std::string_view text);

/// Bytes of the longest valid prefix; text.size() if all of it is valid.
size_t validUtf8Prefix(std::string_view text);

inline bool validUtf8(std::string_view text) {
  return validUtf8Prefix(text) == text.size();
}

/// An error that names the first invalid byte. `what` is "--prompt" or a file.
Status checkUtf8(std::string_view text, std::string_view what);

/// Turns a stream of bytes into a stream of whole code points: a token may end
/// in the middle of one. Invalid bytes become U+FFFD, one for each longest
/// invalid part, as transformers decodes them.
class Utf8Stream {
public:
  /// The text that `bytes` completes; the rest is held back.
  std::string push(std::string_view bytes);

  /// What was held back, as U+FFFD, and makes the stream new.
  std::string finish();

private:
  std::string pending; // at most 3 bytes between calls
};

} // namespace gpt2rt
