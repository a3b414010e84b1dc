//===- TrainData.h - The data sets that train's flags name ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Plan/Plan.h"
#include "runtime/Train/Dataset.h"
#include "runtime/Train/RunConfig.h"

#include <memory>

namespace gpt2rt::tool {

struct TrainData {
  std::unique_ptr<Dataset> train, validation; // validation may be null
  std::string summary;                        // for the user: a line or two
};

/// Opens what --data, --val and --split ask for. `tokenizerSource` is the
/// directory whose tokenizer texts are encoded with.
Result<TrainData> openTrainData(const RunConfig &config, const Plan &plan,
                                const std::string &tokenizerSource);

} // namespace gpt2rt::tool
