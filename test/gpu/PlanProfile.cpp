//===- PlanProfile.cpp - Where a training step's time goes ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// plan_profile PLAN: runs a CUDA training plan with random weights and tokens,
// times each instruction of `accumulate` and `update`, and prints the kernels
// and products that take longest, with how often each runs.
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Executor.h"
#include "test/gpu/GpuKernel.h"

#include <chrono>
#include <cstdio>
#include <map>
#include <numeric>

using namespace gpt2rt;
using gputest::require;

namespace {

template <typename T>
void write(const Plan &plan, Executor &executor, const char *slot,
           const std::vector<T> &values) {
  if (std::optional<uint32_t> buffer = plan.findState(slot))
    require(executor.write(*buffer, 0, values.data(),
                           std::min<uint64_t>(values.size() * sizeof(T),
                                              plan.buffer(*buffer).bytes())));
}

/// Tokens as frequent as words are: rank r in proportion to 1 / r.
void writeInputs(const Plan &plan, Executor &executor, size_t rows,
                 double vocab) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> uniform(0, std::log(vocab));
  std::vector<int32_t> tokens(rows), order(rows);
  for (int32_t &token : tokens)
    token = static_cast<int32_t>(std::exp(uniform(engine))) - 1;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return tokens[a] < tokens[b]; });
  write(plan, executor, "inputs", tokens);
  write(plan, executor, "targets", tokens);
  write(plan, executor, "order", order);
  write(plan, executor, "rng", std::vector<int32_t>{1, 2, 3, 0});
  std::vector<float> parameters(16), state(8);
  parameters = {1e-4f, 1.0f / static_cast<float>(rows),
                0.1f,  0.9f,
                0.95f, 1e-8f,
                1.0f,  0.1f,
                0.22f, 0,
                0.1f,  0.05f,
                0,     0,
                0,     0};
  state[0] = 1;
  write(plan, executor, "step_params", parameters);
  write(plan, executor, "train_state", state);
}

void printProfile(Executor &executor, uint32_t program, const char *name) {
  std::map<std::string, std::pair<int, double>> sums;
  double total = 0;
  for (const InstructionTime &time : require(executor.profile(program))) {
    auto &[count, seconds] = sums[time.what];
    ++count;
    seconds += time.seconds;
    total += time.seconds;
  }
  std::vector<std::pair<std::string, std::pair<int, double>>> sorted(
      sums.begin(), sums.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return a.second.second > b.second.second;
  });
  std::printf("%s: %.2f ms in all\n", name, total * 1e3);
  for (size_t i = 0; i < std::min<size_t>(sorted.size(), 40); ++i)
    std::printf("%9.3f ms  %4d x %9.1f us  %s\n", sorted[i].second.second * 1e3,
                sorted[i].second.first,
                sorted[i].second.second * 1e6 / sorted[i].second.first,
                sorted[i].first.c_str());
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: plan_profile PLAN\n");
    return 2;
  }
  Plan plan = require(Plan::load(argv[1]));
  std::unique_ptr<Executor> executor = require(createCudaExecutor(plan, {}));
  require(executor->bindRandomWeights({}));
  std::optional<uint32_t> inputs = plan.findState("inputs");
  std::optional<uint32_t> accumulate = plan.findProgram("accumulate");
  std::optional<uint32_t> update = plan.findProgram("update");
  if (!inputs || !accumulate || !update)
    require(invalidArgument(argv[1], " is no training plan"));
  writeInputs(plan, *executor, plan.buffer(*inputs).bytes() / 4, 50257);
  auto milliseconds = [&](uint32_t program) {
    auto begin = std::chrono::steady_clock::now();
    require(executor->run(program));
    std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - begin;
    return passed.count();
  };
  for (int i = 0; i < 4; ++i) {
    double forward = milliseconds(*accumulate);
    std::printf("accumulate %.2f ms, update %.3f ms\n", forward,
                milliseconds(*update));
  }
  printProfile(*executor, *accumulate, "accumulate");
  printProfile(*executor, *update, "update");
  return 0;
}
