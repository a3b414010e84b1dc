//===- RunDirectory.cpp - The checkpoints of a run ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/RunDirectory.h"
#include "runtime/Support/File.h"
#include "runtime/Support/Json.h"
#include "runtime/Support/UniqueFd.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>

using namespace gpt2rt;

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "checkpoint-";
constexpr const char *weightsFile = "model.safetensors";
constexpr const char *optimizerFile = "optimizer.safetensors";
constexpr const char *trainerFile = "trainer.json";
constexpr const char *suffixes[] = {".exp_avg", ".exp_avg_sq"};

/// Files that go along with the weights of a model.
constexpr const char *copiedFiles[] = {"tokenizer.json",
                                       "vocab.json",
                                       "merges.txt",
                                       "added_tokens.json",
                                       "tokenizer_config.json",
                                       "special_tokens_map.json",
                                       "generation_config.json"};

/// A directory that vanishes unless it is published.
class TemporaryDirectory {
public:
  explicit TemporaryDirectory(std::string path) : name(std::move(path)) {}
  ~TemporaryDirectory() { remove(); }
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;

  const std::string &path() const { return name; }
  Status create() {
    remove(); // what a killed process left
    std::error_code error;
    fs::create_directory(name, error);
    return error ? errnoStatus(error.value(), "cannot create", name) : Status();
  }

  /// Renames to the target; one that is there already is replaced.
  Status publish(const std::string &target) {
    GPT2_RETURN_IF_ERROR(sync(name));
    std::string old = name + ".old";
    std::error_code error;
    if (fs::exists(target, error))
      fs::rename(target, old, error);
    if (!error)
      fs::rename(name, target, error);
    if (error)
      return errnoStatus(error.value(), "cannot rename to", target);
    fs::remove_all(old, error);
    return sync(fs::path(target).parent_path());
  }

private:
  static Status sync(const std::string &directory) {
    UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Some file systems cannot sync a directory (EINVAL).
    if (!fd.valid() || (::fsync(fd.get()) != 0 && errno != EINVAL))
      return errnoStatus(errno, "cannot sync", directory);
    return {};
  }
  void remove() {
    std::error_code ignored;
    fs::remove_all(name, ignored);
  }

  std::string name;
};

/// Streams tensors of the plan, in the file's layout, behind a header.
class TensorWriter {
public:
  explicit TensorWriter(const TrainedModel &model) : model(model) {}

  Status
  write(const std::string &path, std::vector<TensorSpec> specs,
        const std::vector<std::pair<const Parameter *, uint32_t>> &from) {
    GPT2_ASSIGN_OR_RETURN(
        SafetensorsWriter writer,
        SafetensorsWriter::create(path, specs, {{"format", "pt"}}));
    for (auto [parameter, buffer] : from) {
      inPlan.resize(parameter->planSize());
      inFile.resize(parameter->fileSize());
      GPT2_RETURN_IF_ERROR(model.executor->readGlobal(
          buffer, 0, inPlan.data(), inPlan.size() * sizeof(float)));
      toFileLayout(*parameter, inPlan.data(), inFile.data());
      GPT2_RETURN_IF_ERROR(writer.append(std::as_bytes(std::span(inFile))));
    }
    return writer.commit();
  }

  Status writeWeights(const std::string &path) {
    std::vector<TensorSpec> specs;
    std::vector<std::pair<const Parameter *, uint32_t>> from;
    for (const Parameter &p : model.parameters) {
      specs.push_back({p.name, DType::F32, p.shape()});
      from.emplace_back(&p, p.value);
    }
    return write(path, std::move(specs), from);
  }

  Status writeMoments(const std::string &path) {
    std::vector<TensorSpec> specs;
    std::vector<std::pair<const Parameter *, uint32_t>> from;
    for (const Parameter &p : model.parameters)
      for (int i = 0; i < 2; ++i) {
        specs.push_back({p.name + suffixes[i], DType::F32, p.shape()});
        from.emplace_back(&p, i == 0 ? p.moment1 : p.moment2);
      }
    return write(path, std::move(specs), from);
  }

private:
  const TrainedModel &model;
  std::vector<float> inPlan, inFile;
};

/// The model's own config.json, as far as it has one. The tensors are F32 and
/// named as GPT2LMHeadModel names them.
Result<std::string> configJson(const Plan &plan, const std::string &source) {
  std::string path = joinPath(source, "config.json");
  std::string text;
  if (!source.empty() && fileExists(path)) {
    GPT2_ASSIGN_OR_RETURN(text, readTextFile(path));
  } else if (const auto *planned = plan.root().model()->config_json()) {
    text = planned->str();
    path = "the plan's config.json";
  } else {
    return failedPrecondition("the plan holds no config.json to write; compile "
                              "it again, or give --model DIR");
  }
  GPT2_ASSIGN_OR_RETURN(Json config, parseJson(text, path));
  if (!config.is_object())
    return dataLoss(path, " is ", jsonTypeName(config), ", expected an object");
  config.erase("torch_dtype");
  config["dtype"] = "float32";
  config["architectures"] = Json::array({"GPT2LMHeadModel"});
  config["model_type"] = "gpt2";
  return config.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status writeContents(const std::string &directory, const TrainedModel &model,
                     const TrainerState &state) {
  TensorWriter tensors(model);
  auto in = [&](const char *name) { return joinPath(directory, name); };
  GPT2_RETURN_IF_ERROR(tensors.writeWeights(in(weightsFile)));
  GPT2_RETURN_IF_ERROR(tensors.writeMoments(in(optimizerFile)));
  for (const ModelFile &file : model.files)
    GPT2_RETURN_IF_ERROR(writeFile(in(file.name.c_str()), file.text));
  return writeFile(in(trainerFile), trainerStateText(state));
}

std::string checkpointPath(const std::string &run, uint64_t step) {
  return joinPath(run, strCat(prefix, step));
}

} // namespace

Result<std::vector<ModelFile>>
gpt2rt::readModelFiles(const Plan &plan, const std::string &source) {
  GPT2_ASSIGN_OR_RETURN(std::string config, configJson(plan, source));
  std::vector<ModelFile> files = {{"config.json", std::move(config)}};
  for (const char *name : copiedFiles) {
    std::string path = joinPath(source, name);
    if (source.empty() || !fileExists(path))
      continue;
    GPT2_ASSIGN_OR_RETURN(std::string text, readTextFile(path));
    files.push_back({name, std::move(text)});
  }
  return files;
}

Result<std::string> gpt2rt::saveCheckpoint(const std::string &run,
                                           const TrainedModel &model,
                                           const TrainerState &state) {
  TemporaryDirectory directory(
      joinPath(run, strCat(".", prefix, state.step, ".tmp")));
  GPT2_RETURN_IF_ERROR(directory.create());
  GPT2_RETURN_IF_ERROR(writeContents(directory.path(), model, state));
  std::string target = checkpointPath(run, state.step);
  GPT2_RETURN_IF_ERROR(directory.publish(target));
  return target;
}

std::vector<uint64_t> gpt2rt::checkpointSteps(const std::string &run) {
  std::vector<uint64_t> steps;
  std::error_code error;
  for (fs::directory_iterator at(run, error), end; !error && at != end;
       at.increment(error)) {
    std::string name = at->path().filename();
    if (!name.starts_with(prefix) || !isDirectory(at->path()))
      continue;
    uint64_t step = 0;
    const char *last = name.data() + name.size();
    auto [stop, bad] = std::from_chars(name.data() + prefix.size(), last, step);
    if (bad == std::errc() && stop == last)
      steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

Status gpt2rt::pruneCheckpoints(const std::string &run, uint64_t keep) {
  std::vector<uint64_t> steps = checkpointSteps(run);
  std::error_code error;
  for (size_t i = 0; keep && i + keep < steps.size(); ++i) {
    // Renamed first: a directory under its own name is always whole.
    std::string old = checkpointPath(run, steps[i]);
    std::string hidden = joinPath(run, strCat(".", prefix, steps[i], ".old"));
    fs::rename(old, hidden, error);
    if (error)
      return errnoStatus(error.value(), "cannot remove", old);
  }
  std::vector<fs::path> hidden;
  for (fs::directory_iterator at(run, error), end; !error && at != end;
       at.increment(error))
    if (at->path().filename().string().starts_with(strCat(".", prefix)))
      hidden.push_back(at->path());
  for (const fs::path &path : hidden)
    fs::remove_all(path, error);
  return error ? errnoStatus(error.value(), "cannot remove old checkpoints in",
                             run)
               : Status();
}

/// Reads trainer.json and the headers of both tensor files, which say whether
/// their bytes are all there.
static Result<TrainerState> inspectCheckpoint(const std::string &path) {
  for (const char *name : {weightsFile, optimizerFile, trainerFile})
    if (!fileExists(joinPath(path, name)))
      return notFound(
          quote(path, 4096), " has no ", name,
          name == weightsFile
              ? ""
              : ", so a run cannot go on from it (--model takes it as the "
                "start of a new one)");
  for (const char *name : {weightsFile, optimizerFile})
    GPT2_RETURN_IF_ERROR(SafetensorsFile::open(joinPath(path, name)).status());
  std::string trainer = joinPath(path, trainerFile);
  GPT2_ASSIGN_OR_RETURN(std::string text, readTextFile(trainer));
  return parseTrainerState(text, trainer);
}

Result<FoundCheckpoint> gpt2rt::findCheckpoint(const std::string &run) {
  std::vector<uint64_t> steps = checkpointSteps(run);
  if (steps.empty())
    return notFound(quote(run, 4096),
                    " has no checkpoint to resume from; start the run without "
                    "--resume");
  FoundCheckpoint found;
  Status newest;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    found.path = checkpointPath(run, *step);
    Result<TrainerState> state = inspectCheckpoint(found.path);
    if (state.ok()) {
      found.state = *std::move(state);
      return found;
    }
    if (newest.ok())
      newest = state.status();
    found.refused.push_back(state.status().message());
  }
  return newest;
}

static Status restoreMoment(const SafetensorsFile &file,
                            const std::string &name, const Parameter &p,
                            uint32_t buffer, Executor &executor) {
  const TensorView *tensor = file.find(name);
  if (!tensor)
    return notFound(file.path(), " has no tensor ", quote(name),
                    ": it is of another model");
  if (tensor->dtype != DType::F32 || tensor->shape != p.shape())
    return failedPrecondition("tensor ", quote(name), " in ", file.path(),
                              " is ", gpt2rt::name(tensor->dtype), " of shape ",
                              tensor->shape, ", but the plan wants F32 of ",
                              p.shape());
  std::vector<float> inFile(p.fileSize()), inPlan(p.planSize());
  std::memcpy(inFile.data(), tensor->data, tensor->bytes);
  toPlanLayout(p, inFile.data(), inPlan.data());
  return executor.writeGlobal(buffer, 0, inPlan.data(),
                              inPlan.size() * sizeof(float));
}

Status gpt2rt::restoreMoments(const std::string &checkpoint,
                              const TrainedModel &model) {
  GPT2_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(joinPath(
                                                  checkpoint, optimizerFile)));
  for (const Parameter &p : model.parameters)
    for (int i = 0; i < 2; ++i)
      GPT2_RETURN_IF_ERROR(restoreMoment(file, p.name + suffixes[i], p,
                                         i == 0 ? p.moment1 : p.moment2,
                                         *model.executor));
  return {};
}
