//===- TokenizerFiles.cpp - vocab.json, merges.txt and what lies beside ---===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Text/TokenizerFiles.h"
#include "runtime/Support/File.h"
#include "runtime/Text/TokenizerJson.h"

#include <charconv>

using namespace gpt2rt;

/// GPT-2's own files are 1 MB; none in use come near this.
static constexpr size_t maxFileBytes = size_t(1) << 28;

static constexpr const char *endOfText = "<|endoftext|>";

Result<int32_t> gpt2rt::parseTokenId(const Json &value, std::string_view token,
                                     std::string_view what) {
  if (!value.is_number_integer())
    return dataLoss(what, ": the id of token ", quote(token), " is ",
                    jsonTypeName(value), ", expected an integer");
  if (!value.is_number_unsigned() || value.get<uint64_t>() >= maxTokenId)
    return dataLoss(what, ": the id ", value.dump(), " of token ", quote(token),
                    " is not in 0 to ", maxTokenId - 1);
  return static_cast<int32_t>(value.get<uint64_t>());
}

Result<Vocabulary> gpt2rt::parseVocabObject(const Json &object,
                                            std::string_view what) {
  if (!object.is_object())
    return dataLoss(what, " is ", jsonTypeName(object),
                    ", expected an object of tokens and ids");
  Vocabulary vocab;
  vocab.reserve(object.size());
  for (auto &[token, value] : object.items()) {
    GPT2_ASSIGN_OR_RETURN(int32_t id, parseTokenId(value, token, what));
    vocab.emplace(token, id);
  }
  return vocab;
}

bool gpt2rt::splitMerge(std::string_view line,
                        std::pair<std::string, std::string> &merge) {
  size_t space = line.find(' ');
  if (space == 0 || space == std::string_view::npos ||
      space + 1 == line.size() ||
      line.find(' ', space + 1) != std::string_view::npos)
    return false;
  merge = {std::string(line.substr(0, space)),
           std::string(line.substr(space + 1))};
  return true;
}

Result<std::vector<std::pair<std::string, std::string>>>
gpt2rt::parseMerges(std::string_view text, std::string_view what) {
  std::vector<std::pair<std::string, std::string>> merges;
  size_t lineNumber = 0;
  while (!text.empty()) {
    ++lineNumber;
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    // The first line names the format's version; the file may end in blanks.
    if (line.empty() || (lineNumber == 1 && line.starts_with("#version")))
      continue;
    std::pair<std::string, std::string> merge;
    if (!splitMerge(line, merge))
      return dataLoss(what, ":", lineNumber,
                      ": expected two tokens with a "
                      "space between, got ",
                      quote(line));
    merges.push_back(std::move(merge));
  }
  return merges;
}

/// added_tokens.json: {"<pad>": 50257}.
static Status readAddedTokens(const std::string &path, TokenizerFiles &files) {
  if (!fileExists(path))
    return {};
  GPT2_ASSIGN_OR_RETURN(Json document, readJsonFile(path, maxFileBytes));
  GPT2_ASSIGN_OR_RETURN(auto added, parseVocabObject(document, path));
  files.addedTokens.insert(added.begin(), added.end());
  return {};
}

/// tokenizer_config.json: {"added_tokens_decoder": {"50257": {"content":
/// "<pad>", ...}}}.
static Status readTokenizerConfig(const std::string &path,
                                  TokenizerFiles &files) {
  if (!fileExists(path))
    return {};
  GPT2_ASSIGN_OR_RETURN(Json document, readJsonFile(path, maxFileBytes));
  if (!document.is_object())
    return dataLoss(path, " is ", jsonTypeName(document),
                    ", expected an object");
  auto decoder = document.find("added_tokens_decoder");
  if (decoder == document.end() || !decoder->is_object())
    return {};
  for (auto &[number, token] : decoder->items()) {
    int32_t id = -1;
    auto parsed =
        std::from_chars(number.data(), number.data() + number.size(), id);
    if (parsed.ptr != number.data() + number.size() || number.empty() ||
        id < 0 || id >= maxTokenId)
      return dataLoss(path, ": added_tokens_decoder has the key ",
                      quote(number), ", expected a token id");
    GPT2_ASSIGN_OR_RETURN(std::string content,
                          parseAddedTokenContent(token, path));
    files.addedTokens.emplace(std::move(content), id);
  }
  return {};
}

static Result<TokenizerFiles> readVocabAndMerges(const std::string &directory) {
  std::string vocabPath = joinPath(directory, "vocab.json");
  std::string mergesPath = joinPath(directory, "merges.txt");
  TokenizerFiles files;
  GPT2_ASSIGN_OR_RETURN(std::string text,
                        readTextFile(vocabPath, maxFileBytes));
  GPT2_ASSIGN_OR_RETURN(files.vocab, parseVocab(text, vocabPath));
  GPT2_ASSIGN_OR_RETURN(text, readTextFile(mergesPath, maxFileBytes));
  GPT2_ASSIGN_OR_RETURN(files.merges, parseMerges(text, mergesPath));
  if (auto place = files.vocab.find(endOfText); place != files.vocab.end())
    files.addedTokens.insert(*place);
  GPT2_RETURN_IF_ERROR(
      readAddedTokens(joinPath(directory, "added_tokens.json"), files));
  GPT2_RETURN_IF_ERROR(
      readTokenizerConfig(joinPath(directory, "tokenizer_config.json"), files));
  return files;
}

Result<TokenizerFiles>
gpt2rt::readTokenizerFiles(const std::string &directory) {
  if (!isDirectory(directory))
    return notFound("model directory ", quote(directory, 4096),
                    " does not exist");
  std::string tokenizerJson = joinPath(directory, "tokenizer.json");
  if (fileExists(tokenizerJson)) {
    GPT2_ASSIGN_OR_RETURN(std::string text,
                          readTextFile(tokenizerJson, maxFileBytes));
    return parseTokenizerJson(text, tokenizerJson);
  }
  bool hasVocab = fileExists(joinPath(directory, "vocab.json"));
  bool hasMerges = fileExists(joinPath(directory, "merges.txt"));
  if (!hasVocab && !hasMerges)
    return notFound("model directory ", quote(directory, 4096),
                    " has no tokenizer (tokenizer.json, or vocab.json and "
                    "merges.txt)");
  if (!hasVocab || !hasMerges)
    return notFound("model directory ", quote(directory, 4096), " has ",
                    hasVocab ? "vocab.json but no merges.txt"
                             : "merges.txt but no vocab.json",
                    ": a tokenizer needs both");
  return readVocabAndMerges(directory);
}
