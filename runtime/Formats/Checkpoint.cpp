//===- Checkpoint.cpp - The weights of a model ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Formats/Checkpoint.h"
#include "runtime/Support/Json.h"

#include <algorithm>

using namespace gpt2rt;

static constexpr const char *singleFile = "model.safetensors";
static constexpr const char *indexFile = "model.safetensors.index.json";
static constexpr std::string_view prefix = "transformer.";

bool gpt2rt::isCausalMaskName(std::string_view tensorName) {
  return tensorName.ends_with(".attn.bias") ||
         tensorName.ends_with(".attn.masked_bias");
}

static Status checkShardName(const std::string &shard) {
  if (shard.empty() || shard == "." || shard == ".." ||
      shard.find('/') != std::string::npos ||
      shard.find('\\') != std::string::npos ||
      shard.find('\0') != std::string::npos)
    return dataLoss("shard name ", quote(shard),
                    " is not a plain file name: shards lie beside the index");
  if (!shard.ends_with(".safetensors"))
    return dataLoss("shard ", quote(shard), " is not a .safetensors file");
  return {};
}

Result<std::map<std::string, std::string>>
gpt2rt::parseCheckpointIndex(std::string_view text, std::string_view what) {
  GPT2_ASSIGN_OR_RETURN(Json document, parseJson(text, what));
  if (!document.is_object() || !document.contains("weight_map"))
    return dataLoss(what, " has no weight_map");
  const Json &weightMap = document["weight_map"];
  if (!weightMap.is_object())
    return dataLoss(what, ": weight_map is ", jsonTypeName(weightMap),
                    ", expected an object");
  std::map<std::string, std::string> shards;
  for (auto &[tensorName, shard] : weightMap.items()) {
    const auto *shardName = shard.get_ptr<const std::string *>();
    if (!shardName)
      return dataLoss(what, ": the shard of ", quote(tensorName), " is ",
                      jsonTypeName(shard), ", expected a file name");
    if (Status status = checkShardName(*shardName); !status.ok())
      return status.withContext(what);
    shards.emplace(tensorName, *shardName);
  }
  return shards;
}

void Checkpoint::add(std::string_view tensorName, const TensorView &view) {
  if (isCausalMaskName(tensorName))
    return;
  views.emplace(tensorName, view);
  allNames.emplace_back(tensorName);
}

Status Checkpoint::addFile(const std::string &path) {
  GPT2_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(path));
  for (auto &[tensorName, view] : file.tensors())
    add(tensorName, view);
  files.push_back(std::move(file));
  return {};
}

Status Checkpoint::addShards(const std::string &indexPath) {
  constexpr size_t maxIndexBytes = size_t(1) << 26;
  GPT2_ASSIGN_OR_RETURN(std::string text,
                        readTextFile(indexPath, maxIndexBytes));
  GPT2_ASSIGN_OR_RETURN(auto shards, parseCheckpointIndex(text, indexPath));
  std::string directory =
      indexPath.substr(0, indexPath.rfind('/') + 1); // "" without a slash
  std::map<std::string, size_t> opened;
  for (auto &[tensorName, shard] : shards) {
    auto [place, isNew] = opened.emplace(shard, files.size());
    if (isNew) {
      std::string shardPath = directory + shard;
      if (!fileExists(shardPath))
        return notFound("shard ", quote(shardPath, 4096), " listed in ",
                        indexPath, " does not exist: download all shards");
      GPT2_ASSIGN_OR_RETURN(SafetensorsFile file,
                            SafetensorsFile::open(shardPath));
      files.push_back(std::move(file));
    }
    const TensorView *view = files[place->second].find(tensorName);
    if (!view)
      return dataLoss(indexPath, " places tensor ", quote(tensorName), " in ",
                      shard, ", which does not hold it");
    add(tensorName, *view);
  }
  return {};
}

/// The file of a model directory that leads to its weights.
static Result<std::string> findWeights(const std::string &directory) {
  for (const char *candidate : {singleFile, indexFile})
    if (std::string path = joinPath(directory, candidate); fileExists(path))
      return path;
  for (const char *other :
       {"pytorch_model.bin", "tf_model.h5", "pytorch_model.bin.index.json"})
    if (fileExists(joinPath(directory, other)))
      return notFound("model directory ", quote(directory, 4096), " has ",
                      other,
                      " but no model.safetensors: save it again with "
                      "transformers' save_pretrained");
  return notFound("model directory ", quote(directory, 4096),
                  " has no model.safetensors and no ", indexFile);
}

Result<Checkpoint> Checkpoint::open(const std::string &path) {
  std::string file = path;
  if (isDirectory(path)) {
    GPT2_ASSIGN_OR_RETURN(file, findWeights(path));
  }
  Checkpoint checkpoint;
  checkpoint.source = path;
  GPT2_RETURN_IF_ERROR(file.ends_with(".json") ? checkpoint.addShards(file)
                                               : checkpoint.addFile(file));
  std::sort(checkpoint.allNames.begin(), checkpoint.allNames.end());
  return checkpoint;
}

Checkpoint Checkpoint::ofTensors(std::string source, const TensorMap &tensors) {
  Checkpoint checkpoint;
  checkpoint.source = std::move(source);
  for (auto &[tensorName, view] : tensors)
    checkpoint.add(tensorName, view);
  std::sort(checkpoint.allNames.begin(), checkpoint.allNames.end());
  return checkpoint;
}

const TensorView *Checkpoint::find(std::string_view tensorName) const {
  if (auto place = views.find(tensorName); place != views.end())
    return &place->second;
  auto place = tensorName.starts_with(prefix)
                   ? views.find(tensorName.substr(prefix.size()))
                   : views.find(strCat(prefix, tensorName));
  return place == views.end() ? nullptr : &place->second;
}

Result<const TensorView *> Checkpoint::get(std::string_view tensorName) const {
  if (const TensorView *view = find(tensorName))
    return view;
  std::string nearest = nearestName(tensorName, allNames);
  if (nearest.empty())
    nearest = nearestName(strCat(prefix, tensorName), allNames);
  return notFound("checkpoint ", quote(source, 4096), " has no tensor ",
                  quote(tensorName),
                  nearest.empty() ? std::string()
                                  : strCat(" (nearest: ", quote(nearest), ")"));
}
