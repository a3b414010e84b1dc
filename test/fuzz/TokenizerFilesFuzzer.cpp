//===- TokenizerFilesFuzzer.cpp - vocab, merges, tokenizer.json -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/fuzz/FuzzSupport.h"
#include "test/fuzz/FuzzTokenizer.h"

using namespace gpt2rt;

/// Builds the tokenizer and uses it, if the files allow it.
static void tryBuild(const TokenizerFiles &files) {
  Result<Tokenizer> tokenizer = Tokenizer::build(files, "fuzz");
  if (!tokenizer.ok())
    return fuzz::checkMessage(tokenizer.status());
  std::string_view text = "aab ab--\xff <|endoftext|>";
  Result<std::vector<int32_t>> ids =
      tokenizer->encode(text, {.parseSpecial = false});
  fuzz::require(ids.ok());
  // A vocabulary that gives merged tokens other bytes than their parts' cannot
  // exist: the bytes follow from the spelling.
  fuzz::require(tokenizer->decode(*ids) == text || !files.addedTokens.empty());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text = fuzz::asText(data, size);
  if (auto vocab = parseVocab(text, "fuzz"); vocab.ok()) {
    TokenizerFiles files = fuzz::smallTokenizer();
    files.vocab.merge(*vocab);
    tryBuild(files);
  } else {
    fuzz::checkMessage(vocab.status());
  }
  if (auto merges = parseMerges(text, "fuzz"); merges.ok()) {
    TokenizerFiles files = fuzz::smallTokenizer();
    files.merges = *std::move(merges);
    tryBuild(files);
  } else {
    fuzz::checkMessage(merges.status());
  }
  if (auto files = parseTokenizerJson(text, "fuzz"); files.ok()) {
    // Complete the alphabet, which the fuzzer would hardly ever do.
    files->vocab.merge(fuzz::smallTokenizer().vocab);
    tryBuild(*files);
  } else {
    fuzz::checkMessage(files.status());
  }
  return 0;
}
