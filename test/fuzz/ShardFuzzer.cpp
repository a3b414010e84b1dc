//===- ShardFuzzer.cpp - Token shards and documents from anywhere ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/fuzz/FuzzSupport.h"

#include "runtime/Train/TextDataset.h"
#include "runtime/Train/TokenShards.h"

using namespace gpt2rt;

/// What a successful parse promises: the tokens lie inside the file.
static void checkHeader(std::span<const std::byte> file, uint64_t fileBytes) {
  std::span<const std::byte> header =
      file.first(std::min<size_t>(file.size(), shardHeaderBytes));
  Result<uint64_t> tokens = parseShardHeader(header, fileBytes);
  if (!tokens.ok())
    return fuzz::checkMessage(tokens.status());
  fuzz::require(*tokens > 0 && header.size() >= 12 &&
                shardHeaderBytes + *tokens * sizeof(uint16_t) == fileBytes);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto bytes = std::as_bytes(std::span(data, size));
  checkHeader(bytes, size);

  // Give the input a good magic and version, which random bytes hardly have;
  // what follows is the count, then a size of the file.
  std::vector<int32_t> words(shardHeaderWords, 0);
  words[0] = shardMagic;
  words[1] = shardVersion;
  if (size)
    std::memcpy(words.data() + 2, data, std::min<size_t>(size, 12));
  uint64_t fileBytes;
  std::memcpy(&fileBytes, words.data() + 3, sizeof(fileBytes));
  checkHeader(std::as_bytes(std::span(words)),
              std::max<uint64_t>(fileBytes, shardHeaderBytes));

  for (const char *path : {"fuzz.txt", "fuzz.jsonl"}) {
    Result<std::vector<std::string>> documents =
        parseDocuments(fuzz::asText(data, size), path);
    if (!documents.ok())
      fuzz::checkMessage(documents.status());
  }
  return 0;
}
