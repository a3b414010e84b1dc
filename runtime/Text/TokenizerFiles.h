//===- TokenizerFiles.h - Tokenizer files of a model ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What vocab.json, merges.txt, added_tokens.json, tokenizer_config.json and
// tokenizer.json say, before a tokenizer is made of it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"

#include <map>

namespace gpt2rt {

struct TokenizerFiles {
  /// Tokens spelled in the byte alphabet, as the files have them.
  std::map<std::string, int32_t> vocab;
  /// Pairs of tokens in order of rank.
  std::vector<std::pair<std::string, std::string>> merges;
  /// Tokens found in text before any splitting, such as <|endoftext|>, as
  /// plain UTF-8.
  std::map<std::string, int32_t> addedTokens;
};

/// Ids at or above this are refused.
inline constexpr int32_t maxTokenId = 1 << 24;

/// Reads the files of a model directory: tokenizer.json if there is one, else
/// vocab.json and merges.txt.
Result<TokenizerFiles> readTokenizerFiles(const std::string &directory);

// The parsers; `what` names the source in errors.
Result<std::map<std::string, int32_t>> parseVocab(std::string_view text,
                                                  std::string_view what);
Result<std::vector<std::pair<std::string, std::string>>>
parseMerges(std::string_view text, std::string_view what);
Result<TokenizerFiles> parseTokenizerJson(std::string_view text,
                                          std::string_view what);

} // namespace gpt2rt
