//===- ModelConfig.h - What a GPT-2 model is made of ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The hyperparameters of a GPT-2 model as a Hugging Face config.json gives
// them. Every key that changes the model's arithmetic is honoured or refused
// by name; none is dropped in silence.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpt2rt {

/// The MLP's activation. Several of transformers' names mean one function.
enum class Activation : uint8_t {
  GeluTanh,  // gelu_new, gelu_pytorch_tanh, gelu_python_tanh, gelu_accurate
  GeluErf,   // gelu, gelu_python
  GeluFast,  // gelu_fast: the tanh form with a rounded constant
  QuickGelu, // quick_gelu: x * sigmoid(1.702 x)
  Relu,
  Silu, // silu, swish
  Tanh,
};

/// The gpt2 dialect's spelling: gelu_tanh, gelu_erf, gelu_fast, quick_gelu,
/// relu, silu, tanh.
std::string_view activationName(Activation activation);

struct ModelConfig {
  int64_t vocabSize = 0;
  int64_t nPositions = 0;
  int64_t width = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t inner = 0; // width of the MLP's hidden layer
  Activation activation = Activation::GeluTanh;
  double layerNormEpsilon = 1e-5;
  /// Standard deviation of new weights.
  double initializerRange = 0.02;
  /// Divide attention scores by sqrt(headSize).
  bool scaleAttnWeights = true;
  /// Then divide them by (layer index + 1).
  bool scaleAttnByInverseLayerIdx = false;
  /// Scores and softmax in fp32, whatever the precision.
  bool reorderAndUpcastAttn = false;
  bool tieWordEmbeddings = true;
  double residDropout = 0.1;
  double embdDropout = 0.1;
  double attnDropout = 0.1;
  /// Unset where the file says null or names an id outside the vocabulary.
  std::optional<int64_t> bosTokenId;
  std::optional<int64_t> eosTokenId;

  int64_t headSize() const { return width / heads; }
  /// Trainable parameters; a tied output head is counted once.
  int64_t paramCount() const;

  bool operator==(const ModelConfig &) const = default;
};

/// Reads a config.json's text; `what` names it in errors.
Result<ModelConfig> parseModelConfig(std::string_view text,
                                     std::string_view what);

/// The text of a config.json that parseModelConfig reads back as `config`, laid
/// out as transformers writes it.
std::string printModelConfig(const ModelConfig &config);

/// Reads a config.json, or the one in a model directory.
Result<ModelConfig> loadModelConfig(const std::string &pathOrDir);

/// Names that presetConfig knows, smallest model first.
const std::vector<std::string> &presetNames();
Result<ModelConfig> presetConfig(std::string_view presetName);

/// What a user may give as MODEL: an existing path, or else a preset's name.
Result<ModelConfig> resolveModelConfig(const std::string &pathOrPreset);

} // namespace gpt2rt
