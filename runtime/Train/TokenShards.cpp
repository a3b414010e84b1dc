//===- TokenShards.cpp - Files of tokens in llm.c's format ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/TokenShards.h"
#include "runtime/Support/File.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>

using namespace gpt2rt;

Result<uint64_t> gpt2rt::parseShardHeader(std::span<const std::byte> header,
                                          uint64_t fileBytes) {
  if (fileBytes == 0)
    return dataLoss("the shard is empty");
  int32_t words[3] = {};
  std::memcpy(words, header.data(), std::min(sizeof(words), header.size()));
  if (words[0] != shardMagic)
    return dataLoss("not a token shard: it does not begin with the magic ",
                    shardMagic,
                    " of llm.c's format; make shards with gpt2-run tokenize "
                    "(nanoGPT's files without a header have to be made again)");
  if (fileBytes < shardHeaderBytes || header.size() < sizeof(words))
    return dataLoss("the shard is truncated: ", fileBytes,
                    " bytes, its header alone has ", shardHeaderBytes);
  if (words[1] != shardVersion)
    return dataLoss("token shard of version ", words[1],
                    ", but only version 1 (16-bit ids) is known");
  if (words[2] <= 0)
    return dataLoss("the shard's header says that it holds ", words[2],
                    " tokens");
  auto tokens = static_cast<uint64_t>(words[2]);
  uint64_t expected = shardHeaderBytes + tokens * sizeof(uint16_t);
  if (fileBytes < expected)
    return dataLoss("the shard is truncated: ", fileBytes,
                    " bytes, but its header says ", tokens,
                    " tokens, which is ", expected, " bytes");
  if (fileBytes > expected)
    return dataLoss("the shard has ", fileBytes - expected, " bytes after the ",
                    tokens, " tokens that its header says");
  return tokens;
}

Result<std::vector<std::string>>
gpt2rt::expandPatterns(const std::vector<std::string> &patterns,
                       std::string_view flag) {
  std::vector<std::string> files;
  for (const std::string &pattern : patterns) {
    if (fileExists(pattern)) { // also a name with a bracket in it
      files.push_back(pattern);
      continue;
    }
    glob_t found = {};
    int status = ::glob(pattern.c_str(), 0, nullptr, &found);
    for (size_t i = 0; status == 0 && i < found.gl_pathc; ++i)
      files.emplace_back(found.gl_pathv[i]);
    ::globfree(&found);
    if (status != 0)
      return notFound(flag, " ", quote(pattern, 4096), " matches no file");
  }
  return files;
}

/// Reads exactly `bytes` at `offset`, or fails.
static Status readAt(int fd, void *out, size_t bytes, uint64_t offset,
                     const std::string &path) {
  auto *to = static_cast<std::byte *>(out);
  while (bytes > 0) {
    ssize_t got = ::pread(fd, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return errnoStatus(errno, "cannot read", path);
    if (got == 0)
      return dataLoss(quote(path, 4096), ": the shard ends at byte ", offset,
                      ": it was cut since the run began");
    to += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return {};
}

/// Opens a shard and reads its header's token count.
static Result<uint64_t> openFile(const std::string &path, UniqueFd &fd) {
  fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0)
    return errnoStatus(errno, "cannot open", path);
  if (!S_ISREG(info.st_mode))
    return invalidArgument("cannot read ", quote(path, 4096),
                           ": it is not a regular file");
  auto bytes = static_cast<uint64_t>(info.st_size);
  std::array<std::byte, shardHeaderBytes> header;
  size_t size = std::min<uint64_t>(bytes, header.size());
  GPT2_RETURN_IF_ERROR(readAt(fd.get(), header.data(), size, 0, path));
  Result<uint64_t> tokens =
      parseShardHeader(std::span(header).first(size), bytes);
  return tokens.ok() ? tokens : tokens.status().withContext(quote(path, 4096));
}

Result<TokenShards> TokenShards::open(std::vector<std::string> files,
                                      uint32_t sequence, uint32_t vocab) {
  TokenShards data(sequence, vocab);
  uint64_t samples = 0;
  for (std::string &path : files) {
    GPT2_ASSIGN_OR_RETURN(uint64_t tokens, openFile(path, data.fd));
    if (tokens <= sequence)
      return dataLoss(quote(path, 4096), ": the shard has ", tokens,
                      " tokens, but a window of the plan needs ",
                      uint64_t(sequence) + 1,
                      "; put more text into it, or compile with a smaller "
                      "--seq");
    data.shards.push_back({std::move(path), tokens, samples});
    samples += (tokens - 1) / sequence;
  }
  data.fd.reset();
  if (samples == 0)
    return invalidArgument("no token shards are given");
  return data;
}

std::vector<uint64_t> TokenShards::groupSizes() const {
  std::vector<uint64_t> sizes;
  for (const Shard &shard : shards)
    sizes.push_back((shard.tokens - 1) / sequence);
  return sizes;
}

uint64_t TokenShards::totalTokens() const {
  uint64_t sum = 0;
  for (const Shard &shard : shards)
    sum += shard.tokens;
  return sum;
}

std::string TokenShards::identity() const {
  std::string text = strCat("shards, windows of ", sequence);
  for (const Shard &shard : shards)
    text += strCat("; ", shard.path.substr(shard.path.rfind('/') + 1), " ",
                   shard.tokens);
  return text;
}

Status TokenShards::openShard(size_t index) {
  if (opened == index)
    return {};
  opened = SIZE_MAX;
  const Shard &shard = shards[index];
  GPT2_ASSIGN_OR_RETURN(uint64_t tokens, openFile(shard.path, fd));
  if (tokens != shard.tokens)
    return dataLoss(quote(shard.path, 4096), ": the shard had ", shard.tokens,
                    " tokens when the run began and has ", tokens, " now");
  opened = index;
  return {};
}

Status TokenShards::readWindow(uint64_t firstToken) {
  Status status = readAt(
      fd.get(), window.data(), window.size() * sizeof(uint16_t),
      shardHeaderBytes + firstToken * sizeof(uint16_t), shards[opened].path);
  return status.ok() ? checkIds(firstToken) : status;
}

Status TokenShards::checkIds(uint64_t firstToken) const {
  for (size_t i = 0; i < window.size(); ++i)
    if (window[i] >= vocab)
      return outOfRange(quote(shards[opened].path, 4096), ": token ",
                        firstToken + i, " has id ", window[i],
                        ", but the model's ids are 0 to ", vocab - 1,
                        "; make the shard with this model's tokenizer");
  return {};
}

Status TokenShards::fill(uint64_t sample, std::span<int32_t> inputs,
                         std::span<int32_t> targets) {
  auto after = std::upper_bound(
      shards.begin(), shards.end(), sample,
      [](uint64_t wanted, const Shard &s) { return wanted < s.firstSample; });
  auto index = static_cast<size_t>(after - shards.begin()) - 1;
  GPT2_RETURN_IF_ERROR(openShard(index));
  GPT2_RETURN_IF_ERROR(
      readWindow((sample - shards[index].firstSample) * sequence));
  std::copy_n(window.begin(), sequence, inputs.begin());
  std::copy_n(window.begin() + 1, sequence, targets.begin());
  return {};
}
