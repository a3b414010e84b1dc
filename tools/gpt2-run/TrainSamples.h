//===- TrainSamples.h - The texts that train's flags ask for ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Train/Dataset.h"
#include "runtime/Train/RunConfig.h"
#include "runtime/Train/TextSampler.h"

namespace gpt2rt::tool {

/// What --sample-prompt and its like say. Without a prompt, texts begin with
/// the end-of-text token; where a model has none, with the beginning of `data`.
/// `tokenizer` may be null: then there are ids only.
Result<SampleSettings> sampleSettings(const RunConfig &config, const Plan &plan,
                                      const Tokenizer *tokenizer,
                                      Dataset &data);

} // namespace gpt2rt::tool
