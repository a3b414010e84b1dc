//===- Tokenizer.h - GPT-2's byte-level BPE ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Text/Bpe.h"
#include "runtime/Text/PreTokenizer.h"
#include "runtime/Text/TokenizerFiles.h"

#include <optional>
#include <span>

namespace gpt2rt {

struct EncodeOptions {
  /// Find added tokens such as <|endoftext|> in the text, as transformers
  /// does. Off, they are text like any other.
  bool parseSpecial = true;
};

/// Immutable once built: threads may share one.
class Tokenizer {
public:
  /// Reads the tokenizer of a model directory.
  static Result<Tokenizer> load(const std::string &directory);

  static Result<Tokenizer> build(const TokenizerFiles &files,
                                 std::string_view what);

  /// Any bytes are accepted: decode(encode(x)) == x. Bytes that are not valid
  /// UTF-8 are words of their own.
  Result<std::vector<int32_t>> encode(std::string_view text,
                                      EncodeOptions options = {}) const;

  /// The tokens' bytes, one after another, which need not be valid UTF-8. Ids
  /// without a token (a model's vocabulary may be padded) give nothing.
  std::string decode(std::span<const int32_t> ids) const;
  std::string_view tokenBytes(int32_t id) const;

  /// The id of an added token, such as "<|endoftext|>".
  std::optional<int32_t> specialToken(std::string_view text) const;

  /// One more than the largest id.
  int32_t vocabSize() const { return static_cast<int32_t>(tokens.size()); }

private:
  Tokenizer(PreTokenizer splitter, Bpe bpe, std::vector<std::string> tokens)
      : splitter(std::move(splitter)), bpe(std::move(bpe)),
        tokens(std::move(tokens)) {}
  struct Added {
    std::string text;
    int32_t id;
  };
  class WordCache;
  void setAddedTokens(const Vocabulary &list);
  const Added *addedTokenAt(std::string_view text) const;
  Status encodePlain(std::string_view text, WordCache &cache,
                     std::vector<int32_t> &out) const;

  PreTokenizer splitter;
  Bpe bpe;
  std::vector<std::string> tokens; // bytes by id
  /// Added tokens by first byte, the longest first.
  std::array<std::vector<Added>, 256> added;
};

} // namespace gpt2rt
