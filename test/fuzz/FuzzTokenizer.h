//===- FuzzTokenizer.h - A small tokenizer for fuzzing ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Text/ByteAlphabet.h"
#include "runtime/Text/Tokenizer.h"

namespace gpt2rt::fuzz {

/// Byte tokens, a few merges and two added tokens of which one starts the
/// other.
inline TokenizerFiles smallTokenizer() {
  TokenizerFiles files;
  int32_t next = 0;
  for (int byte = 0; byte < 256; ++byte)
    files.vocab[alphabetSpelling(static_cast<uint8_t>(byte))] = next++;
  for (auto [left, right] : {std::pair("a", "a"),
                             {"aa", "aa"},
                             {"a", "b"},
                             {"ab", "aa"},
                             {"-", "-"},
                             {"aaaa", "aa"}}) {
    files.vocab[std::string(left) + right] = next++;
    files.merges.push_back({left, right});
  }
  files.addedTokens["<|endoftext|>"] = next++;
  files.addedTokens["<|"] = next;
  return files;
}

} // namespace gpt2rt::fuzz
