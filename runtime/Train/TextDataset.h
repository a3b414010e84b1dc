//===- TextDataset.h - Documents to fine-tune on ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A text file has a document a line; a JSON-lines file has an object a line,
// whose "text" is the document. Every document ends with the end-of-text
// token, unless it is cut, and fills one row; the rest of the row is padding
// behind it, which causal attention keeps out, and has no labels. The end
// itself is a label like any other: a model that never sees it does not learn
// to stop (transformers 2630, where padding with it hid it).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Text/Tokenizer.h"
#include "runtime/Train/Dataset.h"

namespace gpt2rt {

struct TextOptions {
  uint32_t sequence = 0;      ///< rows of a sample
  uint32_t vocab = 0;         ///< ids that the model has
  uint32_t maxLength = 0;     ///< tokens kept of a document; 0: as many as fit
  std::optional<int32_t> end; ///< appended to every document
};

/// Whether a path is taken for text (.txt, .jsonl, .json) and not for a shard.
bool isTextPath(std::string_view path);

/// The documents of a file's text; `path` says which format, and is named in
/// errors. Blank lines are no documents.
Result<std::vector<std::string>> parseDocuments(std::string_view text,
                                                const std::string &path);

class TextDataset : public Dataset {
public:
  static Result<TextDataset> load(const std::vector<std::string> &files,
                                  const Tokenizer &tokenizer,
                                  const TextOptions &options);

  /// Takes a share of the documents, chosen by the seed, out of this set: at
  /// least one, and at least one is left.
  Result<TextDataset> split(double share, uint64_t seed);

  /// Documents.
  uint64_t count() const { return starts.size() - 1; }
  std::vector<uint64_t> groupSizes() const override { return {count()}; }
  uint64_t scoredTokens(uint64_t sample) const override;
  Status fill(uint64_t sample, std::span<int32_t> inputs,
              std::span<int32_t> targets) override;
  std::string identity() const override;

  uint64_t totalTokens() const { return tokens.size(); }
  /// Documents that were longer than a row or the limit.
  uint64_t cutCount() const { return cut; }

private:
  std::span<const int32_t> document(uint64_t sample) const;
  Status add(std::vector<int32_t> ids, const TextOptions &options);

  std::vector<int32_t> tokens; // of all documents
  std::vector<uint64_t> starts = {0};
  uint64_t cut = 0;
  int32_t padding = 0;
};

} // namespace gpt2rt
