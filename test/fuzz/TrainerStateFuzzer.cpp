//===- TrainerStateFuzzer.cpp - trainer.json and run.json from anywhere ---===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/fuzz/FuzzSupport.h"

#include "runtime/Train/RunConfig.h"
#include "runtime/Train/TrainerState.h"

using namespace gpt2rt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text = fuzz::asText(data, size);
  Result<TrainerState> state = parseTrainerState(text, "fuzz");
  if (state.ok()) {
    // What was read is written and read again as the same.
    Result<TrainerState> again =
        parseTrainerState(trainerStateText(*state), "again");
    fuzz::require(again.ok() && *again == *state);
    fuzz::require(state->lossScale > 0 && state->applied <= state->step);
  } else {
    fuzz::checkMessage(state.status());
  }
  RunConfig config;
  if (Status status = readConfig(text, "fuzz", config); !status.ok())
    fuzz::checkMessage(status);
  else if (Status checked = checkConfig(config); !checked.ok())
    fuzz::checkMessage(checked);
  return 0;
}
