//===- Checkpoint.h - The weights of a model --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// One safetensors file, or the shards that an index file lists, seen as one
// set of named tensors.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Formats/Safetensors.h"

#include <optional>

namespace gpt2rt {

class Checkpoint {
public:
  /// Opens a model directory (model.safetensors, or the shards of
  /// model.safetensors.index.json), an index file or a safetensors file.
  static Result<Checkpoint> open(const std::string &path);

  /// Tensors in memory that the caller keeps; `source` names them in errors.
  static Checkpoint ofTensors(std::string source, const TensorMap &tensors);

  /// The tensor of that name, else of that name with "transformer." added or
  /// taken away: exports of GPT2Model lack the prefix. Null if there is none.
  const TensorView *find(std::string_view tensorName) const;

  /// find(), or an error that names the checkpoint and the nearest name.
  Result<const TensorView *> get(std::string_view tensorName) const;

  /// Sorted. Without the causal masks that old exports keep as
  /// "h.N.attn.bias" and "h.N.attn.masked_bias", which are no weights.
  const std::vector<std::string> &names() const { return allNames; }

  const std::string &path() const { return source; }

private:
  Status addFile(const std::string &path);
  Status addShards(const std::string &indexPath);
  void add(std::string_view tensorName, const TensorView &view);

  std::string source;
  std::vector<SafetensorsFile> files;
  TensorMap views;
  std::vector<std::string> allNames;
};

/// Whether a name is a saved causal mask. "h.0.attn.bias" is one;
/// "h.0.attn.c_attn.bias" is a weight.
bool isCausalMaskName(std::string_view tensorName);

/// An index file's weight_map: tensor name to shard file name. Shard names
/// with a path in them are refused: an index must not reach outside its
/// directory.
Result<std::map<std::string, std::string>>
parseCheckpointIndex(std::string_view text, std::string_view what);

} // namespace gpt2rt
