//===- PreTokenizer.cpp - Splitting text into words -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Text/PreTokenizer.h"
#include "runtime/Text/Utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

using namespace gpt2rt;

// Unicode's White_Space, spelled out: PCRE2's \s also takes U+180E, which
// other tokenizers do not.
#define SPACE                                                                  \
  "\\x09-\\x0d\\x20\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}"        \
  "\\x{2029}\\x{202f}\\x{205f}\\x{3000}"

static constexpr char pattern[] = "'s|'t|'re|'ve|'m|'ll|'d"
                                  "| ?\\p{L}+"
                                  "| ?\\p{N}+"
                                  "| ?[^" SPACE "\\p{L}\\p{N}]+"
                                  "|[" SPACE "]+(?![^" SPACE "])"
                                  "|[" SPACE "]+";
#undef SPACE

void PreTokenizer::FreeCode::operator()(pcre2_real_code_8 *code) const {
  pcre2_code_free(code);
}
void PreTokenizer::Words::FreeMatch::operator()(
    pcre2_real_match_data_8 *match) const {
  pcre2_match_data_free(match);
}

static std::string pcre2Message(int error) {
  PCRE2_UCHAR buffer[128];
  pcre2_get_error_message(error, buffer, sizeof(buffer));
  return reinterpret_cast<const char *>(buffer);
}

Result<PreTokenizer> PreTokenizer::create() {
  int error = 0;
  PCRE2_SIZE position = 0;
  PreTokenizer result;
  result.code.reset(pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(pattern), PCRE2_ZERO_TERMINATED,
      PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &position, nullptr));
  if (!result.code)
    return internalError("the tokenizer's pattern does not compile: ",
                         pcre2Message(error));
  // Where the system forbids generated code, the interpreter serves.
  result.jit = pcre2_jit_compile(result.code.get(), PCRE2_JIT_COMPLETE) == 0;
  return result;
}

PreTokenizer::Words::Words(const PreTokenizer &owner, std::string_view text)
    : owner(owner), text(text), match(pcre2_match_data_create(1, nullptr)) {
  if (!match)
    error = resourceExhausted("no memory for the tokenizer");
}

bool PreTokenizer::Words::next(std::string_view &word) {
  if (!error.ok())
    return false;
  if (at == valid.size()) {
    if (text.empty())
      return false;
    at = 0;
    valid = text.substr(0, validUtf8Prefix(text));
    text.remove_prefix(std::max<size_t>(valid.size(), 1));
    if (valid.empty()) {
      word = {text.data() - 1, 1}; // the byte just removed
      return true;
    }
  }
  // The text is known to be valid: checking it again at every word would make
  // the loop quadratic.
  auto run = owner.jit ? pcre2_jit_match : pcre2_match;
  int found = run(owner.code.get(), reinterpret_cast<PCRE2_SPTR>(valid.data()),
                  valid.size(), at, PCRE2_NO_UTF_CHECK, match.get(), nullptr);
  size_t end = found > 0 ? pcre2_get_ovector_pointer(match.get())[1] : at;
  if (end == at) {
    error =
        internalError("the tokenizer's pattern failed: ", pcre2Message(found));
    return false;
  }
  word = valid.substr(at, end - at);
  at = end;
  return true;
}
