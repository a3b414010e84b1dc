//===- Tokenizer.cpp - GPT-2's byte-level BPE -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Text/Tokenizer.h"
#include "runtime/Text/ByteAlphabet.h"

#include <algorithm>
#include <unordered_map>

using namespace gpt2rt;

/// Remembers where in the output a word was encoded before. Most words of a
/// text repeat; keys and values live in the input and output themselves, and
/// the cache in one encode() call, so that it needs no lock.
class Tokenizer::WordCache {
public:
  /// Appends the tokens of a word seen before.
  bool replay(std::string_view word, std::vector<int32_t> &out) const {
    auto place = seen.find(word);
    if (place == seen.end())
      return false;
    auto [begin, count] = place->second;
    out.resize(out.size() + count);
    std::copy_n(out.begin() + begin, count, out.end() - count);
    return true;
  }
  void remember(std::string_view word, size_t begin, size_t count) {
    constexpr size_t maxWords = size_t(1) << 18;
    if (seen.size() < maxWords)
      seen.emplace(word, std::pair(begin, count));
  }

private:
  std::unordered_map<std::string_view, std::pair<size_t, size_t>> seen;
};

/// The id of the token for every byte: without all 256 some text has no
/// encoding.
static Result<std::array<int32_t, 256>>
findByteTokens(const Vocabulary &vocab) {
  std::array<int32_t, 256> ids;
  for (int byte = 0; byte < 256; ++byte) {
    std::string spelled = alphabetSpelling(static_cast<uint8_t>(byte));
    auto place = vocab.find(spelled);
    if (place == vocab.end())
      return dataLoss("the vocabulary has no token ", quote(spelled),
                      " for byte ", byte, ": it is not a byte-level BPE");
    ids[byte] = place->second;
  }
  return ids;
}

static Result<MergeTable> buildMerges(const TokenizerFiles &files) {
  MergeTable table(files.merges.size());
  std::string joined;
  for (size_t rank = 0; rank < files.merges.size(); ++rank) {
    const auto &[left, right] = files.merges[rank];
    joined.assign(left).append(right);
    int32_t ids[3];
    size_t known = 0;
    for (std::string_view token :
         {std::string_view(left), std::string_view(right),
          std::string_view(joined)}) {
      auto place = files.vocab.find(token);
      if (place == files.vocab.end())
        return dataLoss("merge ", rank, " (", quote(left), " ", quote(right),
                        ") needs token ", quote(token),
                        ", which the vocabulary does not have");
      ids[known++] = place->second;
    }
    if (!table.insert(ids[0], ids[1], {static_cast<uint32_t>(rank), ids[2]}))
      return dataLoss("merge ", rank, " (", quote(left), " ", quote(right),
                      ") is listed twice");
  }
  return table;
}

/// Every token's bytes by id. Two tokens with one id could not both be
/// decoded; an added token may repeat one of the vocabulary.
static Result<std::vector<std::string>>
tableOfTokens(const TokenizerFiles &files) {
  int32_t largest = 0;
  for (const Vocabulary *list : {&files.vocab, &files.addedTokens})
    for (const auto &[token, id] : *list) {
      if (token.empty())
        return dataLoss("the token of id ", id, " is empty");
      largest = std::max(largest, id);
    }
  std::vector<std::string> tokens(static_cast<size_t>(largest) + 1);
  auto sharedId = [&](std::string_view token, int32_t id) {
    return dataLoss("tokens ", quote(tokens[id]), " and ", quote(token),
                    " have the same id ", id);
  };
  // A token with code points outside the alphabet stands for its own UTF-8.
  for (const auto &[token, id] : files.vocab) {
    if (!tokens[id].empty())
      return sharedId(token, id);
    tokens[id] = bytesFromAlphabet(token).value_or(token);
  }
  for (const auto &[token, id] : files.addedTokens) {
    auto place = files.vocab.find(token);
    bool repeated = place != files.vocab.end() && place->second == id;
    if (!tokens[id].empty() && !repeated)
      return sharedId(token, id);
    tokens[id] = token;
  }
  return tokens;
}

static Result<Bpe> buildBpe(const TokenizerFiles &files) {
  GPT2_ASSIGN_OR_RETURN(auto byteTokens, findByteTokens(files.vocab));
  GPT2_ASSIGN_OR_RETURN(MergeTable merges, buildMerges(files));
  return Bpe(std::move(merges), byteTokens);
}

void Tokenizer::setAddedTokens(const Vocabulary &list) {
  for (const auto &[token, id] : list)
    added[static_cast<unsigned char>(token[0])].push_back({token, id});
  for (std::vector<Added> &bucket : added)
    std::sort(bucket.begin(), bucket.end(), [](const Added &a, const Added &b) {
      return a.text.size() > b.text.size();
    });
}

Result<Tokenizer> Tokenizer::build(const TokenizerFiles &files,
                                   std::string_view what) {
  Result<std::vector<std::string>> tokens = tableOfTokens(files);
  if (!tokens.ok())
    return tokens.status().withContext(what);
  Result<Bpe> bpe = buildBpe(files);
  if (!bpe.ok())
    return bpe.status().withContext(what);
  GPT2_ASSIGN_OR_RETURN(PreTokenizer splitter, PreTokenizer::create());
  Tokenizer result(std::move(splitter), *std::move(bpe), *std::move(tokens));
  result.setAddedTokens(files.addedTokens);
  return result;
}

Result<Tokenizer> Tokenizer::load(const std::string &directory) {
  GPT2_ASSIGN_OR_RETURN(TokenizerFiles files, readTokenizerFiles(directory));
  return build(files, strCat("tokenizer of ", directory));
}

const Tokenizer::Added *Tokenizer::addedTokenAt(std::string_view text) const {
  for (const Added &candidate : added[static_cast<unsigned char>(text[0])])
    if (text.starts_with(candidate.text))
      return &candidate;
  return nullptr;
}

Status Tokenizer::encodePlain(std::string_view text, WordCache &cache,
                              std::vector<int32_t> &out) const {
  // Longer words hardly repeat, and hashing them costs.
  constexpr size_t maxCachedWord = 64;
  PreTokenizer::Words words(splitter, text);
  std::string_view word;
  while (words.next(word)) {
    if (cache.replay(word, out))
      continue;
    size_t begin = out.size();
    bpe.encodeWord(word, out);
    if (word.size() <= maxCachedWord)
      cache.remember(word, begin, out.size() - begin);
  }
  return words.status();
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text,
                                               EncodeOptions options) const {
  std::vector<int32_t> out;
  WordCache cache;
  size_t plain = 0; // start of the text not yet encoded
  for (size_t at = 0; options.parseSpecial && at < text.size();) {
    const Added *token = addedTokenAt(text.substr(at));
    if (!token) {
      ++at;
      continue;
    }
    GPT2_RETURN_IF_ERROR(
        encodePlain(text.substr(plain, at - plain), cache, out));
    out.push_back(token->id);
    at += token->text.size();
    plain = at;
  }
  GPT2_RETURN_IF_ERROR(encodePlain(text.substr(plain), cache, out));
  return out;
}

std::string_view Tokenizer::tokenBytes(int32_t id) const {
  if (id < 0 || id >= vocabSize())
    return {};
  return tokens[id];
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (int32_t id : ids)
    text.append(tokenBytes(id));
  return text;
}

std::optional<int32_t> Tokenizer::specialToken(std::string_view text) const {
  if (!text.empty())
    for (const Added &candidate : added[static_cast<unsigned char>(text[0])])
      if (candidate.text == text)
        return candidate.id;
  return std::nullopt;
}
