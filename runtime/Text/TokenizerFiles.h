//===- TokenizerFiles.h - Tokenizer files of a model ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What vocab.json, merges.txt, added_tokens.json, tokenizer_config.json and
// tokenizer.json say, before a tokenizer is made of it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"
#include "runtime/Support/StringMap.h"

#include <vector>

namespace gpt2rt {

using Vocabulary = StringMap<int32_t>;

struct TokenizerFiles {
  /// Tokens spelled in the byte alphabet, as the files have them.
  Vocabulary vocab;
  /// Pairs of tokens in order of rank.
  std::vector<std::pair<std::string, std::string>> merges;
  /// Tokens found in text before any splitting, such as <|endoftext|>, as
  /// plain UTF-8.
  Vocabulary addedTokens;
};

/// Ids at or above this are refused: far above any GPT-2's, and a table of so
/// many tokens is still small.
inline constexpr int32_t maxTokenId = 1 << 20;

/// Reads the files of a model directory: tokenizer.json if there is one, else
/// vocab.json and merges.txt.
Result<TokenizerFiles> readTokenizerFiles(const std::string &directory);

// The parsers; `what` names the source in errors.
Result<Vocabulary> parseVocab(std::string_view text, std::string_view what);
Result<std::vector<std::pair<std::string, std::string>>>
parseMerges(std::string_view text, std::string_view what);
Result<TokenizerFiles> parseTokenizerJson(std::string_view text,
                                          std::string_view what);

} // namespace gpt2rt
