//===- Runner.cpp - A plan with weights, ready to run ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "tools/gpt2-run/Runner.h"
#include "models/ModelConfig.h"
#include "runtime/CUDA/Gpus.h"
#include "runtime/Support/Json.h"
#include "tools/gpt2-run/Machine.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace gpt2rt;
using namespace gpt2rt::tool;

void RunnerFlags::addMachine(CLI::App &app) {
  app.add_option("PLAN", plan, "Plan file made by gpt2c")->required();
  app.add_option("--threads", threads,
                 "CPU threads (0: OMP_NUM_THREADS, or all)")
      ->check(CLI::Range(0, 4096));
  app.add_option("--device", device, "CUDA device")->check(CLI::Range(0, 1023));
}

void RunnerFlags::add(CLI::App &app) {
  addMachine(app);
  app.add_option("--model", model,
                 "Model directory: weights, config.json and tokenizer");
  app.add_flag("--random-weights", randomWeights,
               "Run with random weights instead of the model's");
  app.add_option("--weight-seed", weightSeed, "Seed of --random-weights");
}

Status tool::checkModel(const Plan &plan, const std::string &model) {
  if (!isDirectory(model) || !fileExists(joinPath(model, "config.json")))
    return Status::okStatus();
  GPT2_ASSIGN_OR_RETURN(ModelConfig config, loadModelConfig(model));
  const fb::Model &planned = *plan.root().model();
  struct {
    const char *name;
    uint64_t planned;
    int64_t found;
  } fields[] = {{"n_layer", planned.layers(), config.layers},
                {"n_embd", planned.width(), config.width},
                {"n_head", planned.heads(), config.heads},
                {"n_inner", planned.inner(), config.inner},
                {"vocab_size", planned.vocab(), config.vocabSize}};
  // The plan may have fewer positions (--seq); the table's shape is checked
  // with the weights.
  for (auto [name, want, found] : fields)
    if (want != static_cast<uint64_t>(found))
      return failedPrecondition("the plan was compiled for a model with ", name,
                                " ", want, ", but ",
                                joinPath(model, "config.json"), " says ", found,
                                "; compile the plan from this model");
  return Status::okStatus();
}

static Result<std::unique_ptr<Executor>>
createExecutor(const Plan &plan, ExecutorOptions options) {
  if (plan.root().target() == fb::Target::CPU)
    return createCpuExecutor(plan, options);
  return createCudaExecutor(plan, options);
}

Status Runner::loadPlan(const RunnerFlags &flags) {
  GPT2_ASSIGN_OR_RETURN(Plan plan, Plan::load(flags.plan));
  loaded = std::make_unique<Plan>(std::move(plan));
  return Status::okStatus();
}

Status Runner::createTarget(const RunnerFlags &flags) {
  ExecutorOptions options;
  options.threads = flags.threads;
  options.device = flags.device;
  if (const char *text = std::getenv("OMP_NUM_THREADS"); text && !flags.threads)
    options.threads = std::max(0, std::atoi(text));
  device = flags.device;
  GPT2_ASSIGN_OR_RETURN(target, createExecutor(*loaded, options));
  for (const std::string &warning : target->warnings())
    std::fprintf(stderr, "gpt2-run: warning: %s\n", warning.c_str());
  return Status::okStatus();
}

Result<Runner> Runner::load(const RunnerFlags &flags, fb::Mode mode) {
  Runner runner;
  GPT2_RETURN_IF_ERROR(runner.loadPlan(flags));
  GPT2_RETURN_IF_ERROR(runner.plan().requireMode(mode));
  GPT2_RETURN_IF_ERROR(runner.createTarget(flags));
  return runner;
}

Result<Runner> Runner::open(const RunnerFlags &flags) {
  if (flags.model.empty() && !flags.randomWeights)
    return invalidArgument("no weights: give --model DIR or --random-weights");
  auto start = std::chrono::steady_clock::now();
  Runner runner;
  GPT2_RETURN_IF_ERROR(runner.loadPlan(flags));
  std::optional<Checkpoint> checkpoint;
  if (!flags.model.empty())
    GPT2_RETURN_IF_ERROR(checkModel(runner.plan(), flags.model));
  if (!flags.randomWeights) {
    GPT2_ASSIGN_OR_RETURN(checkpoint, Checkpoint::open(flags.model));
  }
  GPT2_RETURN_IF_ERROR(runner.createTarget(flags));
  GPT2_RETURN_IF_ERROR(
      checkpoint ? runner.target->bindWeights(*checkpoint)
                 : runner.target->bindRandomWeights({flags.weightSeed}));
  runner.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return runner;
}

std::string Runner::deviceName() const {
  if (plan().root().target() == fb::Target::CPU)
    return readCpu().name;
  Result<GpuReport> report = findGpus();
  auto index = static_cast<size_t>(device);
  return report.ok() && index < report->gpus.size() ? report->gpus[index].name
                                                    : "unknown GPU";
}

std::string tool::formatBytes(uint64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof(text), unit ? "%.1f %s" : "%.0f %s", value,
                units[unit]);
  return text;
}

static ArenaUse sumOf(const MemoryReport &report) {
  ArenaUse sum;
  for (const ArenaUse &arena : report.arenas) {
    sum.predicted += arena.predicted;
    sum.allocated += arena.allocated;
  }
  return sum;
}

void Runner::printMemory() const {
  MemoryReport report = target->memory();
  ArenaUse sum = sumOf(report);
  std::string parts;
  for (const ArenaUse &arena : report.arenas)
    if (arena.allocated)
      parts += strCat(parts.empty() ? "" : ", ", arena.name, " ",
                      formatBytes(arena.allocated));
  std::fprintf(stderr,
               "memory: predicted %s (%llu bytes), allocated %s (%llu bytes): "
               "%s; reserve %s\n",
               formatBytes(sum.predicted).c_str(),
               static_cast<unsigned long long>(sum.predicted),
               formatBytes(sum.allocated).c_str(),
               static_cast<unsigned long long>(sum.allocated), parts.c_str(),
               formatBytes(report.reserve).c_str());
  if (report.context)
    std::fprintf(stderr, "memory: the driver's context takes %s more\n",
                 formatBytes(*report.context).c_str());
}

Json Runner::memoryJson() const {
  MemoryReport report = target->memory();
  ArenaUse sum = sumOf(report);
  Json arenas = Json::array();
  for (const ArenaUse &arena : report.arenas)
    arenas.push_back({{"name", arena.name},
                      {"predicted_bytes", arena.predicted},
                      {"allocated_bytes", arena.allocated}});
  Json json = {{"predicted_bytes", sum.predicted},
               {"allocated_bytes", sum.allocated},
               {"reserve_bytes", report.reserve},
               {"context_bytes", nullptr},
               {"arenas", std::move(arenas)}};
  if (report.context)
    json["context_bytes"] = *report.context;
  return json;
}

Result<std::unique_ptr<Tokenizer>>
tool::loadTokenizer(const std::string &model) {
  if (!fileExists(joinPath(model, "tokenizer.json")) &&
      !fileExists(joinPath(model, "vocab.json")))
    return std::unique_ptr<Tokenizer>();
  GPT2_ASSIGN_OR_RETURN(Tokenizer tokenizer, Tokenizer::load(model));
  return std::make_unique<Tokenizer>(std::move(tokenizer));
}

Result<std::vector<int32_t>> tool::parseIds(std::string_view text,
                                            std::string_view flag) {
  std::vector<int32_t> ids;
  for (size_t at = 0; at <= text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    std::string_view part = text.substr(at, comma - at);
    while (part.starts_with(' '))
      part.remove_prefix(1);
    while (part.ends_with(' '))
      part.remove_suffix(1);
    int32_t id = -1;
    auto [end, error] =
        std::from_chars(part.data(), part.data() + part.size(), id);
    if (error != std::errc() || end != part.data() + part.size() || id < 0)
      return invalidArgument(flag, " has ", quote(part),
                             " where a token id should be; write it as 1,2,3");
    ids.push_back(id);
    at = comma + 1;
  }
  return ids;
}

Result<std::string> tool::readInput(const std::string &path) {
  return readTextFile(path == "-" ? "/dev/stdin" : path);
}

void tool::printJson(const Json &value) {
  std::string line = value.dump(-1, ' ', /*ensure_ascii=*/false,
                                Json::error_handler_t::replace);
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}
