//===- TokenShards.h - Files of tokens in llm.c's format --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A shard is 256 int32 of header (magic 20240520, version 1, token count) and
// the tokens as uint16. It is cut into windows of T + 1 tokens that begin T
// tokens apart: T inputs and, one later, their T labels.
//
// Shards are read with pread, not mapped: a file that is cut or lost while the
// run goes on is then an error with a name, not a signal.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/UniqueFd.h"
#include "runtime/Train/Dataset.h"

namespace gpt2rt {

inline constexpr int32_t shardMagic = 20240520, shardVersion = 1;
inline constexpr size_t shardHeaderWords = 256;
inline constexpr uint64_t shardHeaderBytes = shardHeaderWords * 4;

/// The token count of a shard from its first bytes (all of the header, or the
/// whole file where that is shorter) and the file's size.
Result<uint64_t> parseShardHeader(std::span<const std::byte> header,
                                  uint64_t fileBytes);

/// The files that a list of paths and shell patterns names, sorted within each
/// pattern. An error for a pattern that matches nothing; `flag` is named.
Result<std::vector<std::string>>
expandPatterns(const std::vector<std::string> &patterns, std::string_view flag);

class TokenShards : public Dataset {
public:
  /// Checks the header and size of every shard. `sequence` is T, `vocab` the
  /// number of ids that the model has.
  static Result<TokenShards> open(std::vector<std::string> files,
                                  uint32_t sequence, uint32_t vocab);

  std::vector<uint64_t> groupSizes() const override;
  uint64_t scoredTokens(uint64_t) const override { return sequence; }
  Status fill(uint64_t sample, std::span<int32_t> inputs,
              std::span<int32_t> targets) override;
  std::string identity() const override;

  uint64_t totalTokens() const;

private:
  struct Shard {
    std::string path;
    uint64_t tokens;
    uint64_t firstSample;
  };

  TokenShards(uint32_t sequence, uint32_t vocab)
      : sequence(sequence), vocab(vocab), window(sequence + size_t(1)) {}
  Status openShard(size_t index);
  Status readWindow(uint64_t firstToken);
  Status checkIds(uint64_t firstToken) const;

  uint32_t sequence, vocab;
  std::vector<Shard> shards;
  std::vector<uint16_t> window; // T + 1 tokens
  size_t opened = SIZE_MAX;     // the shard that `fd` reads
  UniqueFd fd;
};

} // namespace gpt2rt
