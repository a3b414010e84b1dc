//===- TokenizerTextFuzzer.cpp - Any bytes as text ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/fuzz/FuzzSupport.h"
#include "test/fuzz/FuzzTokenizer.h"

#include "runtime/Text/Utf8.h"

using namespace gpt2rt;

static const Tokenizer &tokenizer() {
  static const Tokenizer instance =
      *Tokenizer::build(fuzz::smallTokenizer(), "fuzz");
  return instance;
}

/// The stream's output is valid and does not depend on how bytes arrive.
static void checkStream(std::string_view text) {
  Utf8Stream whole, bytes;
  std::string expected = whole.push(text);
  fuzz::require(validUtf8(expected));
  expected += whole.finish();
  std::string pieces;
  for (char byte : text)
    pieces += bytes.push({&byte, 1});
  pieces += bytes.finish();
  fuzz::require(pieces == expected && validUtf8(expected));
  fuzz::require(!validUtf8(text) || expected == text);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text = fuzz::asText(data, size);
  for (bool special : {true, false}) {
    Result<std::vector<int32_t>> ids =
        tokenizer().encode(text, {.parseSpecial = special});
    fuzz::require(ids.ok() && ids->size() <= size);
    fuzz::require(tokenizer().decode(*ids) == text);
  }
  checkStream(text);
  return 0;
}
