//===- Bench.cpp - gpt2-run bench -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Engine/Bench.h"
#include "runtime/Engine/EvalBench.h"
#include "runtime/Support/Json.h"
#include "runtime/Train/StepBench.h"
#include "tools/gpt2-run/Commands.h"
#include "tools/gpt2-run/Runner.h"

using namespace gpt2rt;
using namespace gpt2rt::tool;

namespace {

struct Flags {
  RunnerFlags runner;
  uint32_t batch = 0, promptTokens = 0, newTokens = 0, repeats = 5;
  bool profile = false, json = false;
};

/// Flags that are not given take what the model has room for.
BenchOptions makeOptions(const Flags &flags, const Plan &plan) {
  uint32_t positions = plan.root().model()->positions();
  BenchOptions options;
  options.batch = flags.batch ? flags.batch : plan.root().batch();
  options.promptTokens =
      flags.promptTokens
          ? flags.promptTokens
          : std::min(options.promptTokens, std::max(1u, positions / 2));
  uint32_t room = positions - std::min(positions, options.promptTokens);
  options.newTokens = flags.newTokens
                          ? flags.newTokens
                          : std::max(1u, std::min(options.newTokens, room));
  options.repeats = flags.repeats;
  options.profile = flags.profile;
  return options;
}

Json profileJson(const std::vector<InstructionTime> &times) {
  Json list = Json::array();
  for (const InstructionTime &time : times)
    list.push_back({{"what", time.what},
                    {"count", time.count},
                    {"seconds", time.seconds}});
  return list;
}

void printProfile(const char *title,
                  const std::vector<InstructionTime> &times) {
  double total = 0;
  for (const InstructionTime &time : times)
    total += time.seconds;
  std::printf("%s: %.1f us\n", title, total * 1e6);
  for (const InstructionTime &time : times)
    std::printf("  %10.1f us  %5.1f%%  %4llu x  %s\n", time.seconds * 1e6,
                total > 0 ? 100 * time.seconds / total : 0,
                static_cast<unsigned long long>(time.count), time.what.c_str());
}

/// What every mode tells.
Json commonJson(const Flags &flags, const Runner &runner) {
  const fb::Plan &plan = runner.plan().root();
  return {{"model", plan.model()->name()->str()},
          {"mode", fb::EnumNameMode(plan.mode())},
          {"target", fb::EnumNameTarget(plan.target())},
          {"precision", fb::EnumNamePrecision(plan.precision())},
          {"device", runner.deviceName()},
          {"repeats", flags.repeats},
          {"load_seconds", runner.loadSeconds()},
          {"memory", runner.memoryJson()}};
}

void printCommon(const Runner &runner, uint32_t batch) {
  const fb::Plan &plan = runner.plan().root();
  std::printf("%s, %s, %s, batch %u\n", plan.model()->name()->c_str(),
              fb::EnumNamePrecision(plan.precision()),
              runner.deviceName().c_str(), batch);
  std::printf("load         %10.3f s\n", runner.loadSeconds());
}

void printGeneration(const BenchOptions &options, const BenchResult &result,
                     const Runner &runner) {
  printCommon(runner, options.batch);
  std::printf("first token  %10.3f s\n", result.firstTokenSeconds);
  std::printf("prefill %4u %10.1f tok/s  (%.3f ms)\n", options.promptTokens,
              result.prefillTokensPerSecond, result.prefillSeconds * 1e3);
  if (options.newTokens > 1)
    std::printf("decode  %4u %10.1f tok/s  (%.1f us a step)\n",
                options.newTokens - 1, result.decodeTokensPerSecond,
                result.decodeStepSeconds * 1e6);
  if (options.profile) {
    printProfile("prefill chunk by instruction", result.prefillProfile);
    printProfile("decode step by instruction", result.decodeProfile);
  }
}

Json generationJson(const Flags &flags, const BenchOptions &options,
                    const BenchResult &result, const Runner &runner) {
  Json json = commonJson(flags, runner);
  json["batch"] = options.batch;
  json["prompt_tokens"] = options.promptTokens;
  json["new_tokens"] = options.newTokens;
  json["first_token_seconds"] = result.firstTokenSeconds;
  json["prefill"] = {{"seconds", result.prefillSeconds},
                     {"tokens_per_second", result.prefillTokensPerSecond}};
  json["decode"] = nullptr;
  if (options.newTokens > 1)
    json["decode"] = {{"step_seconds", result.decodeStepSeconds},
                      {"tokens_per_second", result.decodeTokensPerSecond}};
  if (options.profile)
    json["profile"] = {{"prefill_chunk", profileJson(result.prefillProfile)},
                       {"decode_step", profileJson(result.decodeProfile)}};
  return json;
}

Status benchGeneration(const Flags &flags, const Runner &runner) {
  BenchOptions options = makeOptions(flags, runner.plan());
  GPT2_ASSIGN_OR_RETURN(BenchResult result,
                        runBench(runner.plan(), runner.executor(), options));
  if (flags.json)
    printJson(generationJson(flags, options, result, runner));
  else
    printGeneration(options, result, runner);
  return Status::okStatus();
}

Status benchEvaluation(const Flags &flags, const Runner &runner) {
  GPT2_ASSIGN_OR_RETURN(EvalBenchResult result,
                        runEvalBench(runner.plan(), runner.executor(),
                                     flags.repeats, flags.profile));
  if (flags.json) {
    Json json = commonJson(flags, runner);
    json["batch"] = result.batch;
    json["seq"] = result.tokens;
    json["mean_loss"] = result.meanLoss;
    json["eval"] = {{"seconds", result.seconds},
                    {"tokens_per_second", result.tokensPerSecond}};
    if (flags.profile)
      json["profile"] = {{"eval", profileJson(result.profile)}};
    printJson(json);
    return Status::okStatus();
  }
  printCommon(runner, result.batch);
  std::printf("eval    %4u %10.1f tok/s  (%.3f ms)\n", result.tokens,
              result.tokensPerSecond, result.seconds * 1e3);
  if (flags.profile)
    printProfile("eval by instruction", result.profile);
  return Status::okStatus();
}

Json trainingJson(const Flags &flags, const StepBenchResult &result,
                  const Runner &runner) {
  Json json = commonJson(flags, runner);
  json["batch"] = result.batch;
  json["seq"] = result.tokens;
  json["accumulate"] = {{"seconds", result.accumulateSeconds}};
  json["update"] = {{"seconds", result.updateSeconds}};
  json["step"] = {{"seconds", result.stepSeconds},
                  {"tokens_per_second", result.tokensPerSecond}};
  json["losses"] = result.losses; // null where one is not finite
  json["skipped_steps"] = result.skipped;
  if (flags.profile)
    json["profile"] = {{"accumulate", profileJson(result.accumulateProfile)},
                       {"update", profileJson(result.updateProfile)}};
  return json;
}

Status benchTraining(const Flags &flags, const Runner &runner) {
  GPT2_ASSIGN_OR_RETURN(StepBenchResult result,
                        runStepBench(runner.plan(), runner.executor(),
                                     flags.repeats, flags.profile));
  if (flags.json) {
    printJson(trainingJson(flags, result, runner));
    return Status::okStatus();
  }
  printCommon(runner, result.batch);
  std::printf("step    %4u %10.1f tok/s  (%.3f ms: accumulate %.3f ms, update "
              "%.3f ms)\nloss         %10.4f, %.4f after %u steps\n",
              result.tokens, result.tokensPerSecond, result.stepSeconds * 1e3,
              result.accumulateSeconds * 1e3, result.updateSeconds * 1e3,
              result.losses.front(), result.losses.back(), flags.repeats);
  if (flags.profile) {
    printProfile("accumulate by instruction", result.accumulateProfile);
    printProfile("update by instruction", result.updateProfile);
  }
  return Status::okStatus();
}

/// Flags that belong to plans for generation.
Status checkFlags(const Flags &flags, const fb::Plan &plan) {
  if (plan.mode() != fb::Mode::Generate &&
      (flags.batch || flags.promptTokens || flags.newTokens))
    return invalidArgument(
        "--batch, --prompt-tokens and --new-tokens are for plans of "
        "--mode=generate; this plan runs batch ",
        plan.batch(), ", as it was compiled");
  return Status::okStatus();
}

Status benchMode(const Flags &flags, const Runner &runner) {
  switch (runner.plan().root().mode()) {
  case fb::Mode::Generate:
    return benchGeneration(flags, runner);
  case fb::Mode::Eval:
    return benchEvaluation(flags, runner);
  case fb::Mode::Train:
    return benchTraining(flags, runner);
  }
  return internalError("plan of an unknown mode"); // the validator knows them
}

Status bench(Flags &flags) {
  // Speed does not depend on the weights' values.
  if (flags.runner.model.empty())
    flags.runner.randomWeights = true;
  GPT2_ASSIGN_OR_RETURN(Runner runner, Runner::open(flags.runner));
  GPT2_RETURN_IF_ERROR(checkFlags(flags, runner.plan().root()));
  GPT2_RETURN_IF_ERROR(benchMode(flags, runner));
  runner.printMemory();
  return Status::okStatus();
}

} // namespace

Command tool::addBench(CLI::App &app) {
  auto flags = std::make_shared<Flags>();
  CLI::App *sub = app.add_subcommand(
      "bench",
      "Speed of generation, evaluation or a training step, as the plan "
      "was compiled for: medians over repeats");
  flags->runner.add(*sub);
  auto count = [&](const char *name, uint32_t &value, const char *help) {
    sub->add_option(name, value, help)->check(CLI::Range(1u, 1u << 24));
  };
  count("--batch", flags->batch, "Sequences at a time (the plan's batch)");
  count("--prompt-tokens", flags->promptTokens, "Tokens of a prompt (512)");
  count("--new-tokens", flags->newTokens, "Tokens to generate (128)");
  count("--repeat", flags->repeats, "Runs to take medians of (5)");
  sub->add_flag("--profile", flags->profile, "Time by instruction");
  sub->add_flag("--json", flags->json, "Print one JSON object");
  return [=] { return bench(*flags); };
}
