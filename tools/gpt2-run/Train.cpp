//===- Train.cpp - gpt2-run train -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Support/File.h"
#include "runtime/Train/InitialWeights.h"
#include "runtime/Train/StopSignal.h"
#include "runtime/Train/Trainer.h"
#include "tools/gpt2-run/Commands.h"
#include "tools/gpt2-run/Runner.h"
#include "tools/gpt2-run/TrainData.h"
#include "tools/gpt2-run/TrainProgress.h"
#include "tools/gpt2-run/TrainSamples.h"

#include <filesystem>

using namespace gpt2rt;
using namespace gpt2rt::tool;

namespace {

struct Flags {
  RunnerFlags runner;
  RunConfig config;
  std::vector<CLI::Option *> options; // of the config's fields, in their order
  std::string configFile, run;
  bool resume = false, json = false;
  double peakTflops = 0;
};

constexpr const char *configName = "run.json";

Status readConfigFile(const std::string &path, RunConfig &config) {
  GPT2_ASSIGN_OR_RETURN(std::string text, readTextFile(path));
  return readConfig(text, path, config);
}

/// What the run began with, then --config, then flags.
Result<RunConfig> effectiveConfig(const Flags &flags) {
  RunConfig config, given = flags.config;
  if (flags.resume)
    GPT2_RETURN_IF_ERROR(
        readConfigFile(joinPath(flags.run, configName), config));
  if (!flags.configFile.empty())
    GPT2_RETURN_IF_ERROR(readConfigFile(flags.configFile, config));
  std::vector<ConfigField> to = configFields(config),
                           from = configFields(given);
  for (size_t i = 0; i < to.size(); ++i)
    if (flags.options[i]->count())
      std::visit(
          [&](auto *value) {
            *value = *std::get<decltype(value)>(from[i].value);
          },
          to[i].value);
  GPT2_RETURN_IF_ERROR(checkConfig(config));
  return config;
}

/// RUN must not hold another run.
Status checkDirectory(const Flags &flags) {
  std::vector<uint64_t> steps = checkpointSteps(flags.run);
  if (!flags.resume && !steps.empty())
    return failedPrecondition(
        quote(flags.run, 4096), " holds a run already (checkpoint-",
        steps.back(), "); go on with --resume, or choose another --out");
  return Status::okStatus();
}

Status makeDirectory(const Flags &flags) {
  std::error_code error;
  std::filesystem::create_directories(flags.run, error);
  if (error)
    return errnoStatus(error.value(), "cannot create", flags.run);
  return Status::okStatus();
}

/// A run from its flags to its end.
class TrainCommand {
public:
  explicit TrainCommand(const Flags &flags) : flags(flags) {}
  Status run();

private:
  Status findStart();
  Status bindWeights();
  /// What --sample-every asks for, if it does.
  Status openSampler(TrainData &data);
  Status train(TrainData &data);

  const Flags &flags;
  RunConfig config;
  std::optional<FoundCheckpoint> found; // with --resume
  std::string source;                   // of config.json and the tokenizer
  std::optional<Runner> runner;
  std::unique_ptr<Tokenizer> tokenizer;
  std::optional<TextSampler> sampler;
};

Status TrainCommand::findStart() {
  if (flags.resume) {
    GPT2_ASSIGN_OR_RETURN(found, findCheckpoint(flags.run));
    for (const std::string &why : found->refused)
      std::fprintf(stderr, "not resumed from: %s\n", why.c_str());
  }
  GPT2_ASSIGN_OR_RETURN(config, effectiveConfig(flags));
  source = found ? found->path : config.model;
  return Status::okStatus();
}

Status TrainCommand::bindWeights() {
  if (source.empty() || (config.randomWeights && !found)) {
    GPT2_ASSIGN_OR_RETURN(
        InitialWeights weights,
        InitialWeights::make(runner->plan(),
                             static_cast<uint64_t>(config.seed)));
    return runner->executor().bindWeights(weights.checkpoint());
  }
  GPT2_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::open(source));
  return runner->executor().bindWeights(checkpoint);
}

Status TrainCommand::openSampler(TrainData &data) {
  if (config.sampleEvery == 0)
    return Status::okStatus();
  if (!source.empty()) {
    GPT2_ASSIGN_OR_RETURN(tokenizer, loadTokenizer(source));
  }
  GPT2_ASSIGN_OR_RETURN(
      SampleSettings settings,
      sampleSettings(config, runner->plan(), tokenizer.get(),
                     data.validation ? *data.validation : *data.train));
  GPT2_ASSIGN_OR_RETURN(sampler,
                        TextSampler::create(runner->plan(), runner->executor(),
                                            std::move(settings)));
  return Status::okStatus();
}

Status TrainCommand::train(TrainData &data) {
  MemoryReport memory = runner->executor().memory();
  uint64_t bytes = 0;
  for (const ArenaUse &arena : memory.arenas)
    bytes += arena.allocated;
  double peak = flags.peakTflops > 0 ? flags.peakTflops * 1e12
                                     : runner->executor().peakFlops();
  TrainProgress progress(flags.json, bytes, peak);
  StopSignal stop;
  TrainerSetup setup;
  setup.plan = &runner->plan();
  setup.executor = &runner->executor();
  setup.config = config;
  setup.run = flags.run;
  GPT2_ASSIGN_OR_RETURN(setup.files, readModelFiles(runner->plan(), source));
  setup.train = data.train.get();
  setup.validation = data.validation.get();
  setup.sampler = sampler ? &*sampler : nullptr;
  setup.hooks.onStep = [&](const StepReport &report) { progress.step(report); };
  setup.hooks.onMessage = [&](const std::string &line) {
    progress.message(line);
  };
  setup.hooks.onValidation = [&](uint64_t done, uint64_t all) {
    progress.validation(done, all);
  };
  setup.hooks.onSample = [&](const SampleReport &report) {
    progress.sample(report);
  };
  setup.hooks.stop = stop.flag();
  GPT2_ASSIGN_OR_RETURN(Trainer trainer, Trainer::create(std::move(setup)));
  if (found) {
    GPT2_RETURN_IF_ERROR(trainer.resume(*found));
    progress.message(strCat("resumed from ", found->path));
  }
  GPT2_RETURN_IF_ERROR(makeDirectory(flags));
  GPT2_RETURN_IF_ERROR(
      writeFile(joinPath(flags.run, configName), configText(config)));
  Status status = trainer.run();
  progress.finish();
  return status;
}

Status TrainCommand::run() {
  GPT2_RETURN_IF_ERROR(findStart());
  GPT2_RETURN_IF_ERROR(checkDirectory(flags));
  GPT2_ASSIGN_OR_RETURN(runner, Runner::load(flags.runner, fb::Mode::Train));
  if (!source.empty())
    GPT2_RETURN_IF_ERROR(checkModel(runner->plan(), source));
  GPT2_ASSIGN_OR_RETURN(TrainData data,
                        openTrainData(config, runner->plan(), source));
  GPT2_RETURN_IF_ERROR(openSampler(data));
  GPT2_RETURN_IF_ERROR(bindWeights());
  std::fprintf(stderr, "%s\n", data.summary.c_str());
  runner->printMemory();
  return train(data);
}

} // namespace

Command tool::addTrain(CLI::App &app) {
  auto flags = std::make_shared<Flags>();
  CLI::App *sub = app.add_subcommand(
      "train", "Trains or fine-tunes a model, with checkpoints to resume from");
  flags->runner.addMachine(*sub);
  sub->add_option("--out", flags->run,
                  "Directory of the run: checkpoints, metrics, run.json")
      ->required();
  sub->add_flag("--resume", flags->resume,
                "Go on from the newest checkpoint of --out, with its settings "
                "where no flag says otherwise");
  sub->add_option("--config", flags->configFile,
                  "Settings from a JSON file (run.json of a run is one)");
  for (const ConfigField &field : configFields(flags->config))
    flags->options.push_back(std::visit(
        [&](auto *value) {
          if constexpr (std::is_same_v<decltype(value), bool *>)
            return sub->add_flag(field.flag(), *value, field.help);
          else
            return sub->add_option(field.flag(), *value, field.help);
        },
        field.value));
  sub->get_option("--val-steps")
      ->transform(
          CLI::Transformer(std::map<std::string, std::string>{{"all", "0"}}));
  sub->add_option("--peak-tflops", flags->peakTflops,
                  "Show speed as a share of this (on a GPU: of what its clock "
                  "and cores allow in the plan's precision)")
      ->check(CLI::Range(0.0, 1e9));
  sub->add_flag("--json", flags->json,
                "Print a JSON object a step, and one a text");
  return [=] { return TrainCommand(*flags).run(); };
}
