//===- Tokenize.cpp - gpt2-run tokenize -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes token shards as llm.c reads them (runtime/Train/TokenShards.h). Every
// document begins with the end-of-text token, which is how GPT-2 was taught
// where one starts: a document is a whole file, or a line of a .jsonl file.
//
//===----------------------------------------------------------------------===//

#include "runtime/Support/File.h"
#include "runtime/Train/TextDataset.h"
#include "runtime/Train/TokenShards.h"
#include "tools/gpt2-run/Commands.h"
#include "tools/gpt2-run/Runner.h"

#include <limits>

using namespace gpt2rt;
using namespace gpt2rt::tool;

namespace {

struct Flags {
  std::string model, output;
  std::vector<std::string> files;
  double split = 0;
};

/// A shard that appears under its name with commit().
Result<AtomicFile> writeShard(const std::string &path,
                              std::span<const uint16_t> tokens) {
  if (tokens.size() > size_t(std::numeric_limits<int32_t>::max()))
    return outOfRange("a shard holds at most 2147483647 tokens, but ",
                      quote(path, 4096), " would have ", tokens.size(),
                      "; tokenize fewer files at a time");
  std::vector<int32_t> header(shardHeaderWords, 0);
  header[0] = shardMagic;
  header[1] = shardVersion;
  header[2] = static_cast<int32_t>(tokens.size());
  GPT2_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  GPT2_RETURN_IF_ERROR(file.append(std::as_bytes(std::span(header))));
  GPT2_RETURN_IF_ERROR(file.append(std::as_bytes(tokens)));
  return file;
}

Status commitShard(AtomicFile &file) {
  uint64_t tokens = (file.size() - shardHeaderBytes) / sizeof(uint16_t);
  GPT2_RETURN_IF_ERROR(file.commit());
  std::printf("%s: %llu tokens\n", file.path().c_str(),
              static_cast<unsigned long long>(tokens));
  return Status::okStatus();
}

/// shard.bin -> shard_train.bin
std::string withSuffix(const std::string &path, const char *suffix) {
  size_t slash = path.find_last_of('/');
  size_t dot = path.find_last_of('.');
  if (dot == path.npos || (slash != path.npos && dot < slash))
    dot = path.size();
  return strCat(path.substr(0, dot), suffix, path.substr(dot));
}

Status appendDocument(const Tokenizer &tokenizer, std::string_view text,
                      std::vector<uint16_t> &tokens) {
  GPT2_ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer.encode(text));
  if (auto eot = tokenizer.specialToken("<|endoftext|>");
      eot && (ids.empty() || ids.front() != *eot))
    tokens.push_back(static_cast<uint16_t>(*eot));
  tokens.insert(tokens.end(), ids.begin(), ids.end());
  return Status::okStatus();
}

Status appendFile(const Tokenizer &tokenizer, const std::string &path,
                  std::vector<uint16_t> &tokens) {
  GPT2_ASSIGN_OR_RETURN(std::string text, readInput(path));
  if (!path.ends_with(".jsonl"))
    return appendDocument(tokenizer, text, tokens);
  GPT2_ASSIGN_OR_RETURN(std::vector<std::string> documents,
                        parseDocuments(text, path));
  for (const std::string &document : documents)
    GPT2_RETURN_IF_ERROR(appendDocument(tokenizer, document, tokens));
  return Status::okStatus();
}

Status tokenize(const Flags &flags) {
  if (!(flags.split >= 0) || !(flags.split < 1))
    return invalidArgument("--split is ", flags.split,
                           ", but it must be in [0, 1): the share of tokens "
                           "for validation");
  GPT2_ASSIGN_OR_RETURN(Tokenizer tokenizer, Tokenizer::load(flags.model));
  constexpr int32_t maxVocab = 1 << 16;
  if (tokenizer.vocabSize() > maxVocab)
    return failedPrecondition("the tokenizer has ", tokenizer.vocabSize(),
                              " tokens, but shards hold 16-bit ids");
  std::vector<uint16_t> tokens;
  for (const std::string &path : flags.files)
    GPT2_RETURN_IF_ERROR(appendFile(tokenizer, path, tokens));
  std::span<const uint16_t> all = tokens;
  if (flags.split == 0) {
    GPT2_ASSIGN_OR_RETURN(AtomicFile shard, writeShard(flags.output, all));
    return commitShard(shard);
  }
  auto held = static_cast<size_t>(double(all.size()) * flags.split);
  if (held == 0)
    return invalidArgument("--split ", flags.split, " of ", all.size(),
                           " tokens leaves none for validation");
  // Both are written before either appears.
  GPT2_ASSIGN_OR_RETURN(AtomicFile train,
                        writeShard(withSuffix(flags.output, "_train"),
                                   all.first(all.size() - held)));
  GPT2_ASSIGN_OR_RETURN(
      AtomicFile validation,
      writeShard(withSuffix(flags.output, "_val"), all.last(held)));
  GPT2_RETURN_IF_ERROR(commitShard(train));
  return commitShard(validation);
}

} // namespace

Command tool::addTokenize(CLI::App &app) {
  auto flags = std::make_shared<Flags>();
  CLI::App *sub =
      app.add_subcommand("tokenize", "Writes token shards in llm.c's format");
  sub->add_option("--model", flags->model, "Directory of the tokenizer")
      ->required();
  sub->add_option("FILE", flags->files,
                  "Texts (- is standard input), a document each; or .jsonl "
                  "files with objects that have a \"text\"")
      ->required();
  sub->add_option("-o,--output", flags->output, "Shard to write")->required();
  sub->add_option("--split", flags->split,
                  "Write this share (0.1) of the tokens, from the end, to "
                  "OUTPUT_val and the rest to OUTPUT_train");
  return [=] { return tokenize(*flags); };
}
