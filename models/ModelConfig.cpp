//===- ModelConfig.cpp - Presets and lookup of model descriptions ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "models/ModelConfig.h"
#include "runtime/Support/File.h"

using namespace gpt2rt;

namespace {
struct Preset {
  std::string_view name;
  std::string_view json;
};
/// models/presets/*.json, embedded so that no file is looked up at run time.
constexpr Preset presets[] = {
#include "models/Presets.inc"
};
} // namespace

std::string_view gpt2rt::activationName(Activation activation) {
  switch (activation) {
  case Activation::GeluTanh:
    return "gelu_tanh";
  case Activation::GeluErf:
    return "gelu_erf";
  case Activation::GeluFast:
    return "gelu_fast";
  case Activation::QuickGelu:
    return "quick_gelu";
  case Activation::Relu:
    return "relu";
  case Activation::Silu:
    return "silu";
  case Activation::Tanh:
    return "tanh";
  }
  return "invalid";
}

int64_t ModelConfig::paramCount() const {
  int64_t layerNorm = 2 * width;
  int64_t attention = width * 3 * width + 3 * width + width * width + width;
  int64_t mlp = width * inner + inner + inner * width + width;
  int64_t embeddings = (vocabSize + nPositions) * width;
  int64_t head = tieWordEmbeddings ? 0 : vocabSize * width;
  return embeddings + layers * (2 * layerNorm + attention + mlp) + layerNorm +
         head;
}

Result<ModelConfig> gpt2rt::loadModelConfig(const std::string &pathOrDir) {
  std::string path = pathOrDir;
  if (isDirectory(pathOrDir)) {
    path = joinPath(pathOrDir, "config.json");
    if (!fileExists(path))
      return notFound("model directory ", quote(pathOrDir, 4096),
                      " has no config.json");
  }
  constexpr size_t maxConfigBytes = size_t(1) << 24;
  GPT2_ASSIGN_OR_RETURN(std::string text, readTextFile(path, maxConfigBytes));
  return parseModelConfig(text, path);
}

const std::vector<std::string> &gpt2rt::presetNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Preset &preset : presets)
      list.emplace_back(preset.name);
    return list;
  }();
  return names;
}

/// "; did you mean 'gpt2-xl'?" or nothing.
static std::string presetSuggestion(std::string_view word) {
  std::string nearest = nearestName(word, presetNames());
  return nearest.empty() ? "" : strCat("; did you mean ", quote(nearest), "?");
}

static std::string presetList() {
  std::string list;
  for (const std::string &presetName : presetNames())
    list += (list.empty() ? "" : ", ") + presetName;
  return list;
}

Result<ModelConfig> gpt2rt::presetConfig(std::string_view presetName) {
  for (const Preset &preset : presets)
    if (preset.name == presetName)
      return parseModelConfig(preset.json, strCat("preset ", presetName));
  return notFound("unknown preset ", quote(presetName),
                  " (known: ", presetList(), ")", presetSuggestion(presetName));
}

Result<ModelConfig>
gpt2rt::resolveModelConfig(const std::string &pathOrPreset) {
  if (fileExists(pathOrPreset))
    return loadModelConfig(pathOrPreset);
  for (const Preset &preset : presets)
    if (preset.name == pathOrPreset)
      return presetConfig(pathOrPreset);
  return notFound("model ", quote(pathOrPreset, 4096),
                  " is not a file, a directory or a preset (", presetList(),
                  ")", presetSuggestion(pathOrPreset));
}
