//===- Tune.cpp - gpt2-run tune -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Engine/StateFill.h"
#include "runtime/Support/Json.h"
#include "tools/gpt2-run/Commands.h"
#include "tools/gpt2-run/Runner.h"

#include <algorithm>

using namespace gpt2rt;
using namespace gpt2rt::tool;

namespace {

struct Flags {
  RunnerFlags runner;
  std::string output;
  TuneOptions options;
  bool json = false;
};

Json tuningJson(const MatmulTuning &tuning) {
  Json list = Json::array();
  for (const TunedMatmul &tuned : tuning.matmuls)
    list.push_back({{"what", tuned.what},
                    {"count", tuned.places.size()},
                    {"candidates", tuned.candidates},
                    {"before_seconds", tuned.before},
                    {"after_seconds", tuned.after}});
  return {{"device", tuning.device},
          {"cublaslt", tuning.library},
          {"matmuls", std::move(list)}};
}

void printTuning(MatmulTuning tuning) {
  auto seconds = [](const TunedMatmul &tuned, double each) {
    return each * double(tuned.places.size());
  };
  std::stable_sort(tuning.matmuls.begin(), tuning.matmuls.end(),
                   [&](const TunedMatmul &a, const TunedMatmul &b) {
                     return seconds(a, a.before) > seconds(b, b.before);
                   });
  std::printf("%s, cuBLASLt %llu\n  count  tried     before      after\n",
              tuning.device.c_str(),
              static_cast<unsigned long long>(tuning.library));
  double before = 0, after = 0;
  for (const TunedMatmul &tuned : tuning.matmuls) {
    std::printf("%7zu %6u %7.1f us %7.1f us  %s\n", tuned.places.size(),
                tuned.candidates, tuned.before * 1e6, tuned.after * 1e6,
                tuned.what.c_str());
    before += seconds(tuned, tuned.before);
    after += seconds(tuned, tuned.after);
  }
  std::printf("all products: %.3f ms with the library's choice, %.3f ms "
              "tuned\n",
              before * 1e3, after * 1e3);
}

Status tune(Flags &flags) {
  if (flags.runner.model.empty())
    flags.runner.randomWeights = true;
  GPT2_ASSIGN_OR_RETURN(Runner runner, Runner::open(flags.runner));
  GPT2_RETURN_IF_ERROR(fillState(runner.plan(), runner.executor()));
  GPT2_ASSIGN_OR_RETURN(MatmulTuning tuning,
                        runner.executor().tune(flags.options));
  if (tuning.matmuls.empty())
    return failedPrecondition(quote(flags.runner.plan, 4096),
                              " has no products that cuBLASLt computes: there "
                              "is nothing to tune");
  GPT2_ASSIGN_OR_RETURN(std::string bytes, withTuning(runner.plan(), tuning));
  GPT2_RETURN_IF_ERROR(writeFile(flags.output, bytes));
  if (flags.json)
    printJson(tuningJson(tuning));
  else
    printTuning(std::move(tuning));
  return Status::okStatus();
}

} // namespace

Command tool::addTune(CLI::App &app) {
  auto flags = std::make_shared<Flags>();
  CLI::App *sub = app.add_subcommand(
      "tune",
      "Measures cuBLASLt's algorithms for a plan's products on this GPU "
      "and writes a plan that uses the fastest");
  flags->runner.add(*sub);
  sub->add_option("-o,--output", flags->output, "The tuned plan")->required();
  sub->add_option("--candidates", flags->options.candidates,
                  "Algorithms to measure for each product (32)")
      ->check(CLI::Range(1, 1000));
  sub->add_flag("--json", flags->json, "Print one JSON object");
  return [=] { return tune(*flags); };
}
