//===- CheckpointIndexFuzzer.cpp - model.safetensors.index.json -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/fuzz/FuzzSupport.h"

#include "runtime/Formats/Checkpoint.h"

using namespace gpt2rt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto shards = parseCheckpointIndex(fuzz::asText(data, size), "fuzz");
  if (!shards.ok()) {
    fuzz::checkMessage(shards.status());
    return 0;
  }
  // No shard reaches outside the index's directory.
  for (auto &[tensorName, shard] : *shards)
    fuzz::require(shard.find('/') == std::string::npos &&
                  shard.find('\0') == std::string::npos && shard != ".." &&
                  !shard.empty());
  return 0;
}
