//===- ModelConfigFuzzer.cpp - config.json --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/fuzz/FuzzSupport.h"

#include "models/ModelConfig.h"

using namespace gpt2rt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<ModelConfig> config =
      parseModelConfig(fuzz::asText(data, size), "fuzz");
  if (!config.ok()) {
    fuzz::checkMessage(config.status());
    return 0;
  }
  // What the compiler relies on without looking again.
  fuzz::require(config->heads > 0 && config->headSize() > 0 &&
                config->headSize() * config->heads == config->width);
  fuzz::require(config->layers > 0 && config->inner > 0 &&
                config->nPositions > 0 && config->vocabSize > 0);
  fuzz::require(config->paramCount() > 0);
  fuzz::require(config->layerNormEpsilon > 0);
  Result<ModelConfig> again =
      parseModelConfig(printModelConfig(*config), "printed");
  fuzz::require(again.ok() && *again == *config);
  fuzz::require(!config->eosTokenId || *config->eosTokenId < config->vocabSize);
  return 0;
}
