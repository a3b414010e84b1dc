//===- VocabParser.cpp - vocab.json ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From parser events straight into the hash map: every run of gpt2-run reads
// 50257 tokens, and building a document first takes twice as long.
//
//===----------------------------------------------------------------------===//

#include "runtime/Support/Json.h"
#include "runtime/Text/TokenizerFiles.h"

using namespace gpt2rt;

namespace {

class VocabParser : public nlohmann::json_sax<Json> {
public:
  Vocabulary vocab;
  std::string error;

  explicit VocabParser(std::string_view text) : text(text) {}

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(number_integer_t value) override {
    return inside ? badId(strCat(value)) : unexpected("an integer");
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (!inside)
      return unexpected("an integer");
    if (value >= maxTokenId)
      return badId(strCat(value));
    auto id = static_cast<int32_t>(value);
    return vocab.emplace(token, id).second ||
           fail(strCat("duplicate key ", quote(token)));
  }
  bool number_float(number_float_t, const string_t &) override {
    return unexpected("a number");
  }
  bool string(string_t &) override { return unexpected("a string"); }
  bool binary(binary_t &) override { return unexpected("binary data"); }
  bool start_object(std::size_t) override {
    return !std::exchange(inside, true) || unexpected("an object");
  }
  bool key(string_t &value) override {
    token = std::move(value);
    return true;
  }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return unexpected("a list"); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string &lastToken,
                   const nlohmann::detail::exception &) override {
    return fail(strCat("it is not valid JSON at ", textPosition(text, position),
                       ": unexpected ",
                       lastToken.empty() ? "end" : quote(lastToken)));
  }

private:
  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }
  bool badId(std::string_view id) {
    return fail(strCat("the id ", id, " of token ", quote(token),
                       " is not in 0 to ", maxTokenId - 1));
  }
  bool unexpected(std::string_view what) {
    return fail(inside ? strCat("the id of token ", quote(token), " is ", what,
                                ", expected an integer")
                       : strCat("it is ", what,
                                ", expected an object of tokens and ids"));
  }

  std::string_view text;
  std::string token;
  bool inside = false;
};

} // namespace

Result<Vocabulary> gpt2rt::parseVocab(std::string_view text,
                                      std::string_view what) {
  VocabParser parser(text);
  if (!Json::sax_parse(text.begin(), text.end(), &parser))
    return dataLoss(what, ": ", parser.error);
  return std::move(parser.vocab);
}
