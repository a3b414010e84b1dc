//===- Json.h - Reading JSON files ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// nlohmann::json as we use it on files from users: no exceptions, duplicate
// keys refused, depth limited, and errors that give a line and column.
// Include this from .cpp files only: the library is slow to compile.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"

#include <nlohmann/json.hpp>

namespace gpt2rt {

using Json = nlohmann::json;

/// Parses a whole document. `what` names the source in errors.
Result<Json> parseJson(std::string_view text, std::string_view what);

/// Reads and parses a JSON file of at most `maxBytes`.
Result<Json> readJsonFile(const std::string &path, size_t maxBytes = size_t(1)
                                                                     << 28);

/// "a string", "an object", ... for messages about wrong types.
const char *jsonTypeName(const Json &value);

/// "LINE:COLUMN" of a byte position, for parse errors.
std::string textPosition(std::string_view text, size_t position);

} // namespace gpt2rt
