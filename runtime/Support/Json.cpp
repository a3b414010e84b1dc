//===- Json.cpp - Reading JSON files --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Support/Json.h"
#include "runtime/Support/File.h"

#include <algorithm>

using namespace gpt2rt;

namespace {

/// Builds the document from parser events. The library's own builder keeps
/// the last of two equal keys and says nothing.
class DocumentBuilder : public nlohmann::json_sax<Json> {
public:
  bool null() override { return add(Json(nullptr)); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override {
    return add(Json(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return add(Json(value));
  }
  bool number_float(number_float_t value, const string_t &) override {
    return add(Json(value));
  }
  bool string(string_t &value) override { return add(Json(std::move(value))); }
  bool binary(binary_t &) override { return fail("binary data"); }

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t &value) override {
    auto [place, inserted] = stack.back()->emplace(value, nullptr);
    if (!inserted)
      return fail(strCat("duplicate key ", quote(value)));
    slot = &*place;
    return true;
  }

  bool parse_error(std::size_t position, const std::string &lastToken,
                   const nlohmann::detail::exception &) override {
    errorAt = position;
    return fail(lastToken.empty() ? "unexpected end"
                                  : strCat("unexpected ", quote(lastToken)));
  }

  Json document;
  std::string error;
  std::optional<size_t> errorAt;

private:
  /// Where a value goes: the slot a key opened, the end of an array, or the
  /// document itself.
  Json *place(Json &&value) {
    if (stack.empty()) {
      document = std::move(value);
      return &document;
    }
    if (stack.back()->is_object()) {
      *slot = std::move(value);
      return slot;
    }
    stack.back()->push_back(std::move(value));
    return &stack.back()->back();
  }
  bool add(Json &&value) {
    place(std::move(value));
    return true;
  }
  bool open(Json &&value) {
    constexpr size_t maxDepth = 64;
    if (stack.size() == maxDepth)
      return fail(strCat("nesting deeper than ", maxDepth));
    stack.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    stack.pop_back();
    return true;
  }
  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }

  // Containers being filled. A parent gains no element while a child is open,
  // so the pointers stay valid.
  std::vector<Json *> stack;
  Json *slot = nullptr;
};

} // namespace

std::string gpt2rt::textPosition(std::string_view text, size_t position) {
  std::string_view before = text.substr(0, std::min(position, text.size()));
  size_t line = 1 + std::count(before.begin(), before.end(), '\n');
  size_t lastBreak = before.rfind('\n');
  size_t column =
      before.size() - (lastBreak == std::string_view::npos ? 0 : lastBreak + 1);
  return strCat(line, ':', std::max<size_t>(column, 1));
}

Result<Json> gpt2rt::parseJson(std::string_view text, std::string_view what) {
  DocumentBuilder builder;
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    std::string where =
        builder.errorAt ? strCat(" at ", textPosition(text, *builder.errorAt))
                        : std::string();
    return dataLoss(what, " is not valid JSON", where, ": ", builder.error);
  }
  return std::move(builder.document);
}

Result<Json> gpt2rt::readJsonFile(const std::string &path, size_t maxBytes) {
  GPT2_ASSIGN_OR_RETURN(std::string text, readTextFile(path, maxBytes));
  return parseJson(text, path);
}

const char *gpt2rt::jsonTypeName(const Json &value) {
  switch (value.type()) {
  case Json::value_t::null:
    return "null";
  case Json::value_t::object:
    return "an object";
  case Json::value_t::array:
    return "a list";
  case Json::value_t::string:
    return "a string";
  case Json::value_t::boolean:
    return "a boolean";
  case Json::value_t::number_integer:
  case Json::value_t::number_unsigned:
    return "an integer";
  case Json::value_t::number_float:
    return "a number";
  default:
    return "unknown";
  }
}
