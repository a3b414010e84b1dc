//===- TextDataset.cpp - Documents to fine-tune on ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/TextDataset.h"
#include "runtime/Support/File.h"
#include "runtime/Support/Json.h"
#include "runtime/Train/SampleOrder.h"

#include <algorithm>
#include <cmath>

using namespace gpt2rt;

static bool isJsonLines(std::string_view path) {
  return path.ends_with(".jsonl") || path.ends_with(".json");
}

bool gpt2rt::isTextPath(std::string_view path) {
  return path.ends_with(".txt") || isJsonLines(path);
}

static Result<std::string> documentOf(std::string_view line,
                                      const std::string &where) {
  GPT2_ASSIGN_OR_RETURN(Json object, parseJson(line, where));
  if (!object.is_object() || !object.contains("text"))
    return dataLoss(where, " is not an object with a \"text\"");
  const auto *text = object["text"].get_ptr<const std::string *>();
  if (!text)
    return dataLoss(where, ": \"text\" is ", jsonTypeName(object["text"]),
                    ", expected a string");
  return *text;
}

Result<std::vector<std::string>>
gpt2rt::parseDocuments(std::string_view text, const std::string &path) {
  std::vector<std::string> documents;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == line.npos)
      continue;
    if (!isJsonLines(path)) {
      documents.emplace_back(line);
      continue;
    }
    GPT2_ASSIGN_OR_RETURN(
        std::string document,
        documentOf(line, strCat(quote(path, 4096), " line ", number)));
    documents.push_back(std::move(document));
  }
  return documents;
}

Status TextDataset::add(std::vector<int32_t> ids, const TextOptions &options) {
  if (options.end)
    ids.push_back(*options.end);
  if (ids.size() > options.maxLength) {
    ids.resize(options.maxLength);
    ++cut;
  }
  for (int32_t id : ids)
    if (id < 0 || static_cast<uint32_t>(id) >= options.vocab)
      return outOfRange("the tokenizer gives id ", id,
                        ", but the model's ids are 0 to ", options.vocab - 1,
                        "; use the tokenizer that the model was made with");
  if (ids.size() < 2) // nothing to predict
    return {};
  tokens.insert(tokens.end(), ids.begin(), ids.end());
  starts.push_back(tokens.size());
  return {};
}

Result<TextDataset> TextDataset::load(const std::vector<std::string> &files,
                                      const Tokenizer &tokenizer,
                                      const TextOptions &given) {
  TextOptions options = given;
  if (options.maxLength == 0)
    options.maxLength = options.sequence + 1;
  if (options.maxLength < 2 || options.maxLength > options.sequence + 1)
    return outOfRange("--max-length is ", options.maxLength,
                      ", but it must be in [2, ", options.sequence + 1,
                      "], what a row of the plan holds");
  TextDataset data;
  data.padding = options.end.value_or(0);
  for (const std::string &path : files) {
    constexpr size_t maxBytes = size_t(1) << 34;
    GPT2_ASSIGN_OR_RETURN(std::string text, readTextFile(path, maxBytes));
    GPT2_ASSIGN_OR_RETURN(std::vector<std::string> documents,
                          parseDocuments(text, path));
    for (const std::string &document : documents) {
      GPT2_ASSIGN_OR_RETURN(std::vector<int32_t> ids,
                            tokenizer.encode(document));
      GPT2_RETURN_IF_ERROR(data.add(std::move(ids), options));
    }
  }
  if (data.count() == 0)
    return dataLoss(quote(files.empty() ? "" : files[0], 4096),
                    " has no document of two tokens or more (a document a "
                    "line is expected)");
  return data;
}

Result<TextDataset> TextDataset::split(double share, uint64_t seed) {
  uint64_t all = count();
  auto held = static_cast<uint64_t>(std::llround(double(all) * share));
  held = std::max<uint64_t>(held, 1);
  if (held >= all)
    return invalidArgument("--split ", share, " of ", all,
                           " documents leaves none to train on");
  // The documents that the permutation sends to its first places.
  Permutation place(all, mixBits(seed ^ 0x5b1173));
  TextDataset kept, taken;
  kept.padding = taken.padding = padding;
  kept.cut = cut;
  for (uint64_t i = 0; i < all; ++i) {
    TextDataset &to = place(i) < held ? taken : kept;
    auto from = document(i);
    to.tokens.insert(to.tokens.end(), from.begin(), from.end());
    to.starts.push_back(to.tokens.size());
  }
  *this = std::move(kept);
  return taken;
}

std::span<const int32_t> TextDataset::document(uint64_t sample) const {
  return std::span(tokens).subspan(starts[sample],
                                   starts[sample + 1] - starts[sample]);
}

uint64_t TextDataset::scoredTokens(uint64_t sample) const {
  return starts[sample + 1] - starts[sample] - 1;
}

Status TextDataset::fill(uint64_t sample, std::span<int32_t> inputs,
                         std::span<int32_t> targets) {
  std::span<const int32_t> ids = document(sample);
  size_t scored = ids.size() - 1;
  std::fill(std::copy_n(ids.begin(), scored, inputs.begin()), inputs.end(),
            padding);
  std::fill(std::copy_n(ids.begin() + 1, scored, targets.begin()),
            targets.end(), ignoredTarget);
  return {};
}

std::string TextDataset::identity() const {
  uint64_t hash = starts.size();
  for (int32_t token : tokens)
    hash = mixBits(hash ^ static_cast<uint32_t>(token));
  for (uint64_t start : starts)
    hash = mixBits(hash ^ start);
  return strCat("text, ", count(), " documents, ", tokens.size(),
                " tokens, hash ", hash);
}
