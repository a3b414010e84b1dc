//===- TrainSession.cpp - The state slots of a training plan --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/TrainSession.h"

#include <algorithm>
#include <cmath>

using namespace gpt2rt;

namespace {
// Words of train_state.
enum TrainStateWord {
  lossScaleWord = 0,
  finiteStepsWord = 1,
  skippedWord = 2,
  gradNormWord = 3,
  appliedWord = 6,
  skippedCountWord = 7,
  trainStateWords = 8,
};
constexpr size_t stepParamsWords = 16;
} // namespace

Result<TrainSession> TrainSession::create(const Plan &plan,
                                          Executor &executor) {
  GPT2_RETURN_IF_ERROR(plan.requireMode(fb::Mode::Train));
  TrainSession session(plan, executor);
  GPT2_RETURN_IF_ERROR(session.findPrograms());
  GPT2_RETURN_IF_ERROR(session.findState());
  return session;
}

/// The validator has proved that every accumulate program has its validate.
Result<TrainSession::Programs>
TrainSession::programsFor(uint32_t accumulate) const {
  constexpr std::string_view stem = "accumulate";
  const fb::Program &program = plan->program(accumulate);
  std::string name =
      strCat("validate", program.name()->string_view().substr(stem.size()));
  std::optional<uint32_t> validate = plan->findProgram(name);
  if (!validate)
    return internalError("plan without a program '", name, "'");
  return Programs{program.tokens(), accumulate, *validate};
}

Status TrainSession::findPrograms() {
  for (uint32_t i = 0; i < plan->root().programs()->size(); ++i) {
    const fb::Program &program = plan->program(i);
    if (program.role() == fb::Role::Update)
      updateProgram = i;
    if (program.role() != fb::Role::Accumulate)
      continue;
    sequences = program.batch();
    GPT2_ASSIGN_OR_RETURN(Programs found, programsFor(i));
    programs.push_back(found);
  }
  if (programs.empty())
    return internalError("plan without a program 'accumulate'");
  std::sort(programs.begin(), programs.end(),
            [](auto &a, auto &b) { return a.tokens < b.tokens; });
  return {};
}

std::vector<uint32_t> TrainSession::lengths() const {
  std::vector<uint32_t> lengths;
  for (const Programs &of : programs)
    lengths.push_back(of.tokens);
  return lengths;
}

Result<TrainSession::Programs>
TrainSession::programsFor(const MicroBatch &batch) const {
  for (const Programs &of : programs)
    if (batch.inputs.size() == size_t(sequences) * of.tokens)
      return of;
  return internalError("no program runs a micro-batch of ", batch.inputs.size(),
                       " rows");
}

/// The validator has proved slots present and as long as the mode promises.
Status TrainSession::findState() {
  struct {
    const char *name;
    uint32_t *index;
  } wanted[] = {{"inputs", &inputs},
                {"targets", &targets},
                {"order", &order},
                {"loss_sum", &lossSumSlot},
                {"step_params", &stepParams},
                {"rng", &rng},
                {"train_state", &trainState}};
  for (auto [name, index] : wanted) {
    std::optional<uint32_t> found = plan->findState(name);
    if (!found)
      return internalError("plan without state slot '", name, "'");
    *index = *found;
  }
  return {};
}

double TrainSession::initialLossScale() const {
  return plan->root().precision() == fb::Precision::FP16 ? 65536 : 1;
}

Status TrainSession::setState(double lossScale, double finiteSteps,
                              uint64_t applied, uint64_t skipped) {
  std::array<float, trainStateWords> words = {};
  words[lossScaleWord] = static_cast<float>(lossScale);
  words[finiteStepsWord] = static_cast<float>(finiteSteps);
  words[appliedWord] = static_cast<float>(applied);
  words[skippedCountWord] = static_cast<float>(skipped);
  return writeSlot(trainState, words);
}

void TrainSession::seed(uint64_t runSeed, uint64_t step) {
  rngWords = {static_cast<int32_t>(runSeed),
              static_cast<int32_t>(runSeed >> 32), static_cast<int32_t>(step),
              0};
}

Status TrainSession::beginStep(const StepParams &p) {
  // In double: 1 - 0.999f is off by 5e-5.
  double t = double(p.appliedStep);
  std::array<double, 12> values = {p.learningRate,
                                   1 / double(p.scored),
                                   p.weightDecay,
                                   p.beta1,
                                   p.beta2,
                                   p.eps,
                                   p.maxNorm,
                                   1 - std::pow(p.beta1, t),
                                   std::sqrt(1 - std::pow(p.beta2, t)),
                                   p.outlierLimit,
                                   1 - p.beta1,
                                   1 - p.beta2};
  std::array<float, stepParamsWords> words = {};
  for (size_t i = 0; i < values.size(); ++i)
    words[i] = static_cast<float>(values[i]);
  GPT2_RETURN_IF_ERROR(writeSlot(stepParams, words));
  return writeSlot(lossSumSlot, std::array<float, 1>{});
}

Status TrainSession::writeRows(const MicroBatch &batch) {
  uint64_t bytes = batch.inputs.size() * sizeof(int32_t);
  GPT2_RETURN_IF_ERROR(executor->write(inputs, 0, batch.inputs.data(), bytes));
  return executor->write(targets, 0, batch.targets.data(), bytes);
}

Status TrainSession::accumulate(const MicroBatch &batch, uint64_t firstSample) {
  GPT2_ASSIGN_OR_RETURN(Programs of, programsFor(batch));
  rngWords[3] = static_cast<int32_t>(firstSample);
  GPT2_RETURN_IF_ERROR(writeSlot(rng, rngWords));
  GPT2_RETURN_IF_ERROR(writeRows(batch));
  GPT2_RETURN_IF_ERROR(executor->write(order, 0, batch.order.data(),
                                       batch.order.size() * sizeof(int32_t)));
  return executor->run(of.accumulate);
}

Result<StepOutcome> TrainSession::update() {
  GPT2_RETURN_IF_ERROR(executor->run(updateProgram));
  std::array<float, trainStateWords> words;
  GPT2_RETURN_IF_ERROR(
      executor->read(trainState, 0, words.data(), sizeof(words)));
  StepOutcome outcome;
  GPT2_ASSIGN_OR_RETURN(outcome.lossSum, lossSum());
  outcome.gradNorm = words[gradNormWord];
  outcome.skipped = words[skippedWord] != 0;
  outcome.lossScale = words[lossScaleWord];
  outcome.finiteSteps = words[finiteStepsWord];
  return outcome;
}

Result<double> TrainSession::validate(const MicroBatch &batch) {
  GPT2_ASSIGN_OR_RETURN(Programs of, programsFor(batch));
  GPT2_RETURN_IF_ERROR(writeSlot(lossSumSlot, std::array<float, 1>{}));
  GPT2_RETURN_IF_ERROR(writeRows(batch));
  GPT2_RETURN_IF_ERROR(executor->run(of.validate));
  return lossSum();
}

Result<double> TrainSession::lossSum() {
  float sum = 0;
  GPT2_RETURN_IF_ERROR(executor->read(lossSumSlot, 0, &sum, sizeof(sum)));
  return double(sum);
}
