//===- ConfigReader.h - Typed access to a config.json -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Json.h"

#include <initializer_list>
#include <optional>
#include <set>

namespace gpt2rt {

/// Typed access to the document. The first error sticks; getters after it
/// return their defaults, so that callers read as a list of keys.
class ConfigReader {
public:
  ConfigReader(const Json &object, std::string_view what)
      : object(object), what(what) {}

  const Status &status() const { return error; }

  /// A size in [1, limit] under the first key or one of its aliases, which
  /// must agree. 0 without an error where all are absent or null.
  int64_t size(std::initializer_list<const char *> keys, int64_t limit) {
    int64_t found = 0;
    for (const char *key : keys) {
      const Json *value = lookUp(key);
      if (!value)
        continue;
      int64_t number = integer(key, *value);
      if (number < 1 || number > limit)
        fail(key, " is ", number, ", expected 1 to ", limit);
      else if (found && number != found)
        fail(key, " is ", number, " but ", *keys.begin(), " is ", found,
             ": they are one setting, keep one");
      else
        found = number;
    }
    return found;
  }

  int64_t requiredSize(std::initializer_list<const char *> keys,
                       int64_t limit) {
    int64_t value = size(keys, limit);
    if (!value)
      fail(*keys.begin(), " is missing");
    return value;
  }

  bool flag(const char *key, bool absent) {
    const Json *value = lookUp(key);
    if (!value)
      return absent;
    if (!value->is_boolean())
      return wrongType(key, *value, "true or false"), absent;
    return value->get<bool>();
  }

  /// A number with lower <= number < upper.
  double number(const char *key, double absent, double lower, double upper) {
    const Json *value = lookUp(key);
    if (!value)
      return absent;
    if (!value->is_number())
      return wrongType(key, *value, "a number"), absent;
    double result = value->get<double>();
    if (!(result >= lower && result < upper))
      fail(key, " is ", result, ", expected at least ", lower,
           " and less than ", upper);
    return result;
  }

  std::optional<std::string> text(const char *key) {
    const Json *value = lookUp(key);
    if (!value)
      return std::nullopt;
    if (!value->is_string())
      return wrongType(key, *value, "a string"), std::nullopt;
    return value->get<std::string>();
  }

  /// A token id, or unset where it is null or cannot be produced: fine-tunes
  /// with a smaller vocabulary often keep GPT-2's 50256.
  std::optional<int64_t> tokenId(const char *key, int64_t absent,
                                 int64_t vocabSize) {
    const Json *value = lookUp(key);
    if (!value && object.contains(key))
      return std::nullopt;
    int64_t id = value ? integer(key, *value) : absent;
    if (id < 0 || id >= vocabSize)
      return std::nullopt;
    return id;
  }

  template <typename... Args>
  void fail(const Args &...args) {
    if (error.ok())
      error = invalidArgument(what, ": ", args...);
  }

  /// The value, or null where it is absent or JSON null. Counts as read.
  const Json *lookUp(const char *key) {
    read.insert(key);
    auto place = object.find(key);
    return place == object.end() || place->is_null() ? nullptr : &*place;
  }

  bool wasRead(const std::string &key) const { return read.count(key) != 0; }

private:
  int64_t integer(const char *key, const Json &value) {
    if (!value.is_number_integer())
      return wrongType(key, value, "an integer"), 0;
    if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX)
      return INT64_MAX;
    return value.get<int64_t>();
  }
  void wrongType(const char *key, const Json &value, const char *expected) {
    fail(key, " is ", jsonTypeName(value), ", expected ", expected);
  }

  const Json &object;
  std::string_view what;
  std::set<std::string> read;
  Status error;
};

} // namespace gpt2rt
