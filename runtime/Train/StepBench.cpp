//===- StepBench.cpp - Speed of a training step ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/StepBench.h"
#include "runtime/Device/InstructionTimes.h"
#include "runtime/Train/TrainSession.h"

#include <algorithm>
#include <chrono>
#include <numeric>

using namespace gpt2rt;

namespace {

/// Tokens that no two steps' work differs for, each labelled with its next.
MicroBatch makeBatch(size_t rows, uint32_t vocab) {
  MicroBatch batch;
  for (size_t i = 0; i < rows; ++i) {
    batch.inputs.push_back(static_cast<int32_t>(i * 7919 % vocab));
    batch.targets.push_back(static_cast<int32_t>((i + 1) * 7919 % vocab));
  }
  batch.order.resize(rows);
  std::iota(batch.order.begin(), batch.order.end(), 0);
  std::stable_sort(batch.order.begin(), batch.order.end(),
                   [&](int32_t a, int32_t b) {
                     return batch.inputs[static_cast<size_t>(a)] <
                            batch.inputs[static_cast<size_t>(b)];
                   });
  batch.scored = batch.stepScored = rows;
  return batch;
}

class StepBench {
public:
  StepBench(const Plan &plan, Executor &executor, TrainSession session)
      : plan(plan), executor(executor), session(std::move(session)),
        batch(makeBatch(size_t(this->session.batch()) * this->session.tokens(),
                        plan.root().model()->vocab())) {
    params.learningRate = 1e-4; // gpt2-xl's loss falls with it, too
    params.weightDecay = 0.1;
    params.beta1 = 0.9;
    params.beta2 = 0.95;
    params.eps = 1e-8;
    params.maxNorm = 1;
    params.scored = batch.scored;
  }

  Result<StepBenchResult> run(uint32_t repeats, bool profiled) {
    GPT2_RETURN_IF_ERROR(session.setState(session.initialLossScale(), 0, 0, 0));
    for (uint32_t i = 0; i <= repeats; ++i)
      GPT2_RETURN_IF_ERROR(step(i));
    result.batch = session.batch();
    result.tokens = session.tokens();
    result.accumulateSeconds = median(accumulateTimes);
    result.updateSeconds = median(updateTimes);
    result.stepSeconds = median(stepTimes);
    result.tokensPerSecond = double(batch.scored) / result.stepSeconds;
    if (profiled) {
      GPT2_RETURN_IF_ERROR(profile("accumulate", result.accumulateProfile));
      GPT2_RETURN_IF_ERROR(profile("update", result.updateProfile));
    }
    return std::move(result);
  }

private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  Status step(uint32_t number) {
    session.seed(/*runSeed=*/0, number);
    auto start = Clock::now();
    GPT2_RETURN_IF_ERROR(session.beginStep(params));
    GPT2_RETURN_IF_ERROR(session.accumulate(batch, /*firstSample=*/0));
    double accumulated = since(start);
    GPT2_ASSIGN_OR_RETURN(StepOutcome outcome, session.update());
    double whole = since(start);
    params.appliedStep += !outcome.skipped;
    result.skipped += outcome.skipped;
    result.losses.push_back(outcome.lossSum / double(batch.scored));
    if (number == 0)
      return {};
    accumulateTimes.push_back(accumulated);
    updateTimes.push_back(whole - accumulated);
    stepTimes.push_back(whole);
    return {};
  }

  Status profile(std::string_view program,
                 std::vector<InstructionTime> &times) {
    GPT2_ASSIGN_OR_RETURN(std::vector<InstructionTime> parts,
                          executor.profile(*plan.findProgram(program)));
    times = summedByKind(parts);
    return {};
  }

  const Plan &plan;
  Executor &executor;
  TrainSession session;
  MicroBatch batch;
  StepParams params;
  StepBenchResult result;
  std::vector<double> accumulateTimes, updateTimes, stepTimes; // seconds
};

} // namespace

Result<StepBenchResult> gpt2rt::runStepBench(const Plan &plan,
                                             Executor &executor,
                                             uint32_t repeats, bool profile) {
  GPT2_ASSIGN_OR_RETURN(TrainSession session,
                        TrainSession::create(plan, executor));
  if (repeats == 0)
    return outOfRange("--repeat must be at least 1");
  return StepBench(plan, executor, std::move(session)).run(repeats, profile);
}
