//===- PreTokenizer.h - Splitting text into words ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"

#include <memory>

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;

namespace gpt2rt {

/// GPT-2's pattern: contractions, then runs of letters, of digits or of other
/// characters, each with at most one space before it, then white space. Merges
/// never cross the words it makes.
class PreTokenizer {
public:
  static Result<PreTokenizer> create();

  /// Walks over the words of one text. Words are consecutive and cover it all;
  /// each byte that is not part of valid UTF-8 is a word of its own.
  class Words {
  public:
    Words(const PreTokenizer &owner, std::string_view text);

    /// The next word, or false at the end or on an error.
    bool next(std::string_view &word);
    const Status &status() const { return error; }

  private:
    struct FreeMatch {
      void operator()(pcre2_real_match_data_8 *match) const;
    };
    const PreTokenizer &owner;
    std::string_view text;  // not yet looked at for validity
    std::string_view valid; // valid UTF-8 before it
    size_t at = 0;          // start of the next word in `valid`
    std::unique_ptr<pcre2_real_match_data_8, FreeMatch> match;
    Status error;
  };

private:
  struct FreeCode {
    void operator()(pcre2_real_code_8 *code) const;
  };
  std::unique_ptr<pcre2_real_code_8, FreeCode> code;
  bool jit = false;
};

} // namespace gpt2rt
