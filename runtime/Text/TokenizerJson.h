//===- TokenizerJson.h - JSON parts of tokenizer files ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the readers of tokenizer files; includes the JSON library.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Json.h"
#include "runtime/Text/TokenizerFiles.h"
namespace gpt2rt {

Result<int32_t> parseTokenId(const Json &value, std::string_view token,
                             std::string_view what);

Result<Vocabulary> parseVocabObject(const Json &object, std::string_view what);

/// The text of an added token, refusing options that change how it is found.
Result<std::string> parseAddedTokenContent(const Json &token,
                                           std::string_view what);

/// Splits "left right" at its one space.
bool splitMerge(std::string_view line,
                std::pair<std::string, std::string> &merge);

} // namespace gpt2rt
