//===- Trainer.cpp - The training loop ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/Trainer.h"

#include "runtime/Support/ByteSize.h"

#include <chrono>
#include <cmath>
#include <numeric>

using namespace gpt2rt;

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Fails where a step of the plan cannot add up so many micro-batches.
static Status checkAccumulation(const Plan &plan, uint64_t accumulate,
                                uint64_t microTokens) {
  uint32_t most = plan.root().max_accumulation();
  if (most == 0 || accumulate <= most)
    return Status();
  // As much again in f32, and the working copies of the same weights.
  uint64_t narrow = 0;
  const auto &arenas = *plan.root().arenas();
  for (const fb::Buffer *buffer : *plan.root().buffers())
    if (arenas.Get(buffer->arena())->kind() == fb::ArenaKind::Gradients &&
        buffer->dtype() != fb::DType::F32)
      narrow += buffer->bytes();
  return invalidArgument(
      "the plan keeps gradients in 16 bits, which must not be added up: a step "
      "is at most ",
      most, " x ", microTokens, " tokens, not ", accumulate, " x ", microTokens,
      " = ", accumulate * microTokens, "; take --tokens-per-step ",
      most * microTokens, ", or compile with --storage=full, which takes ",
      formatByteSize(narrow), " more for f32 gradients and ",
      formatByteSize(narrow), " for 16-bit weights");
}

Result<Trainer> Trainer::create(TrainerSetup setup) {
  GPT2_RETURN_IF_ERROR(checkConfig(setup.config));
  GPT2_ASSIGN_OR_RETURN(TrainSession session,
                        TrainSession::create(*setup.plan, *setup.executor));
  GPT2_ASSIGN_OR_RETURN(Schedule schedule, scheduleOf(setup.config));
  GPT2_ASSIGN_OR_RETURN(std::vector<Parameter> parameters,
                        findParameters(*setup.plan));
  GPT2_ASSIGN_OR_RETURN(
      uint64_t accumulate,
      accumulationOf(setup.config, session.batch(), session.tokens()));
  GPT2_RETURN_IF_ERROR(checkAccumulation(
      *setup.plan, accumulate, uint64_t(session.batch()) * session.tokens()));
  TrainedModel model = {setup.executor, std::move(parameters), setup.files};
  Trainer trainer(std::move(setup), std::move(session), schedule,
                  std::move(model));
  trainer.accumulate = accumulate;
  trainer.now.lossScale = trainer.session.initialLossScale();
  trainer.now.seed = static_cast<uint64_t>(trainer.setup.config.seed);
  trainer.now.data = trainer.dataIdentity();
  trainer.now.plan = PlanIdentity::of(*trainer.setup.plan);
  trainer.now.config = configText(trainer.setup.config);
  GPT2_RETURN_IF_ERROR(
      trainer.session.setState(trainer.now.lossScale, 0, 0, 0));
  return trainer;
}

std::string Trainer::dataIdentity() const {
  std::string order = setup.config.noShuffle ? "in order" : "shuffled";
  if (setup.config.groupByLength)
    order = strCat("grouped by length for batches of ", session.batch());
  return strCat(setup.train->identity(), "; ", order);
}

Status Trainer::resume(const FoundCheckpoint &checkpoint) {
  const TrainerState &saved = checkpoint.state;
  if (Status same = checkSamePlan(saved.plan, now.plan); !same.ok())
    return same.withContext(quote(checkpoint.path, 4096));
  if (saved.data != now.data)
    return failedPrecondition(
        "the data is not what ", quote(checkpoint.path, 4096),
        " was trained on (it was: ", quote(saved.data, 200),
        "; it is: ", quote(now.data, 200),
        "); start a new run with --model on that checkpoint");
  if (saved.seed != now.seed)
    return failedPrecondition("--seed is ", now.seed, ", but ",
                              quote(checkpoint.path, 4096), " has seed ",
                              saved.seed, "; leave --seed out");
  GPT2_RETURN_IF_ERROR(restoreMoments(checkpoint.path, model));
  if (saved.plan != now.plan)
    say(strCat(
        "the plan's target, batch, lengths of sequences or tuned algorithms "
        "are not the checkpoint's (",
        saved.plan.target, ", batch ", saved.plan.batch, ", ",
        saved.plan.describeLengths(),
        " tokens): sums are made in another order from here on"));
  PlanIdentity plan = now.plan;
  std::string config = now.config;
  now = saved;
  now.plan = std::move(plan);
  now.config = std::move(config);
  guard.restore(now.recentNorms);
  firstStep = savedStep = now.step;
  return session.setState(now.lossScale, now.finiteSteps, now.applied,
                          now.skipped);
}

LoaderOptions Trainer::loaderOptions() const {
  LoaderOptions options;
  options.batch = session.batch();
  options.lengths = session.lengths();
  options.vocab = setup.plan->root().model()->vocab();
  return options;
}

SampleOrder Trainer::sampleOrder() const {
  SampleOrder order(setup.train->groupSizes(), now.seed,
                    !setup.config.noShuffle);
  if (setup.config.groupByLength)
    order.groupByLength(
        [data = setup.train](uint64_t sample) {
          return data->scoredTokens(sample);
        },
        session.batch());
  return order;
}

Status Trainer::run() {
  auto last = static_cast<uint64_t>(setup.config.steps);
  if (now.step >= last)
    return invalidArgument("the run is at step ", now.step, " and --steps is ",
                           last,
                           ": nothing is left to do; give a larger "
                           "--steps");
  GPT2_ASSIGN_OR_RETURN(MetricsLog metrics,
                        MetricsLog::open(setup.run, now.step));
  if (setup.validation && now.step == 0) {
    GPT2_ASSIGN_OR_RETURN(std::optional<double> loss, validate());
    if (!loss) {
      say(strCat("stopped by ", stopName(), " before the first step"));
      return {};
    }
    say(strCat("before training: validation loss ", float(*loss)));
    GPT2_RETURN_IF_ERROR(metrics.addValidation(0, *loss));
  }
  LoaderOptions options = loaderOptions();
  options.accumulate = accumulate;
  options.firstSample = now.nextSample;
  Loader loader(*setup.train, sampleOrder(), options);
  GPT2_RETURN_IF_ERROR(loop(loader, metrics));
  return MetricsLog::writeCurve(setup.run);
}

Status Trainer::loop(Loader &loader, MetricsLog &metrics) {
  const RunConfig &config = setup.config;
  auto last = static_cast<uint64_t>(config.steps);
  while (now.step < last) {
    StepReport report;
    report.steps = last;
    GPT2_RETURN_IF_ERROR(runStep(loader, report));
    if (setup.validation && isDue(config.valEvery)) {
      GPT2_ASSIGN_OR_RETURN(report.valLoss, validate());
      if (report.valLoss)
        now.valLoss = report.valLoss;
    }
    if (setup.hooks.onStep)
      setup.hooks.onStep(report);
    GPT2_RETURN_IF_ERROR(metrics.add(report));
    if (setup.sampler && isDue(config.sampleEvery))
      GPT2_RETURN_IF_ERROR(drawSamples(metrics));
    if (now.skippedInRow >= static_cast<uint64_t>(config.maxSkips))
      return saveAfter(dataLoss(
          now.skippedInRow, " steps in a row were skipped (--max-skips): the "
                            "gradients stay useless; look at the data, lower "
                            "--lr, or compile with a wider --precision"));
    bool stopping = stopped(); // asked once: a signal may come at any time
    if (stopping || isDue(config.saveEvery))
      GPT2_RETURN_IF_ERROR(save());
    if (stopping && now.step < last) {
      say(strCat("stopped by ", stopName(), " after step ", now.step,
                 "; --resume goes on from there"));
      return {};
    }
  }
  return {};
}

Status Trainer::runStep(Loader &loader, StepReport &report) {
  auto start = Clock::now();
  StepParams params;
  params.learningRate = schedule.at(now.applied);
  params.outlierLimit = guard.limit();
  GPT2_ASSIGN_OR_RETURN(StepOutcome outcome,
                        computeStep(loader, params, report));
  count(outcome, params);
  report.step = now.step;
  report.loss = *now.loss;
  report.learningRate = params.learningRate;
  report.gradNorm = outcome.gradNorm;
  report.lossScale = now.lossScale;
  report.skipped = outcome.skipped;
  report.tokens = params.scored;
  report.loaderWait = loader.takeWaitSeconds();
  report.loaderTokensPerSecond = loader.rowsPerSecond();
  describe(report, secondsSince(start));
  trainSeconds += report.seconds;
  report.secondsLeft = trainSeconds / double(now.step - firstStep) *
                       double(report.steps - now.step);
  return {};
}

/// Runs all micro-batches of a step and the update. What the data's loader
/// fails with ends the run at the step before, which is saved.
Result<StepOutcome> Trainer::computeStep(Loader &loader, StepParams &params,
                                         StepReport &report) {
  const RunConfig &config = setup.config;
  session.seed(now.seed, now.step);
  for (uint64_t i = 0; i < accumulate; ++i) {
    Result<const MicroBatch *> batch = loader.next();
    if (!batch.ok())
      return saveAfter(batch.status());
    if (i == 0) {
      params.weightDecay = config.weightDecay;
      params.beta1 = config.beta1;
      params.beta2 = config.beta2;
      params.eps = config.eps;
      params.maxNorm = config.clip;
      params.appliedStep = now.applied + 1;
      params.scored = (*batch)->stepScored;
      GPT2_RETURN_IF_ERROR(session.beginStep(params));
    }
    GPT2_RETURN_IF_ERROR(session.accumulate(**batch, i * session.batch()));
    countWork(**batch, report);
  }
  return session.update();
}

void Trainer::countWork(const MicroBatch &batch, StepReport &report) const {
  uint64_t rows = batch.inputs.size();
  report.computedTokens += rows;
  // Products with every parameter, forward and twice as much backward, and
  // attention's with T keys, as if it were not causal (PaLM's count).
  const fb::Model &planned = *setup.plan->root().model();
  double keys = double(rows) / session.batch();
  double perToken = 6.0 * double(planned.parameters()) +
                    12.0 * planned.layers() * planned.width() * keys;
  report.flops += perToken * double(rows);
}

void Trainer::count(const StepOutcome &outcome, const StepParams &params) {
  if (outcome.skipped)
    explainSkip(outcome, params);
  ++now.step;
  now.applied += !outcome.skipped;
  now.skipped += outcome.skipped;
  now.skippedInRow = outcome.skipped ? now.skippedInRow + 1 : 0;
  now.nextSample += accumulate * session.batch();
  now.tokens += params.scored;
  now.lossScale = outcome.lossScale;
  now.finiteSteps = outcome.finiteSteps;
  now.loss = outcome.lossSum / double(params.scored);
  guard.add(outcome.gradNorm);
  now.recentNorms = guard.norms();
}

void Trainer::explainSkip(const StepOutcome &outcome,
                          const StepParams &params) const {
  std::string line = strCat("step ", now.step + 1, ": skipped, ");
  if (std::isfinite(outcome.gradNorm))
    line +=
        strCat("the gradient norm ", float(outcome.gradNorm),
               " is above the outlier guard's ", float(params.outlierLimit));
  else
    line += "the gradients are not finite";
  if (outcome.lossScale != now.lossScale)
    line += strCat("; the loss scale is ", outcome.lossScale, " now");
  say(line);
}

void Trainer::describe(StepReport &report, double seconds) const {
  report.applied = now.applied;
  report.skippedSteps = now.skipped;
  report.seconds = seconds;
  report.tokensPerSecond = double(report.tokens) / seconds;
  uint64_t samples = 0;
  for (uint64_t size : setup.train->groupSizes())
    samples += size;
  report.epoch = double(now.nextSample) / double(samples);
  report.flopsPerSecond = report.flops / seconds;
}

/// The mean loss of the labels in the first --val-steps micro-batches, the same
/// ones each time. Rows that fill up the last one of the data have no labels.
Result<std::optional<double>> Trainer::validate() {
  std::vector<uint64_t> groups = setup.validation->groupSizes();
  LoaderOptions options = loaderOptions();
  options.endSample =
      std::accumulate(groups.begin(), groups.end(), uint64_t(0));
  uint64_t batches = (options.endSample + options.batch - 1) / options.batch;
  if (auto most = static_cast<uint64_t>(setup.config.valSteps))
    batches = std::min(batches, most);
  Loader loader(*setup.validation, SampleOrder(groups, 0, /*shuffle=*/false),
                options);
  double sum = 0;
  uint64_t scored = 0;
  for (uint64_t i = 0; i < batches; ++i) {
    if (stopped())
      return std::optional<double>();
    if (setup.hooks.onValidation)
      setup.hooks.onValidation(i, batches);
    Result<const MicroBatch *> batch = loader.next();
    if (!batch.ok())
      return saveAfter(batch.status());
    GPT2_ASSIGN_OR_RETURN(double losses, session.validate(**batch));
    sum += losses;
    scored += (*batch)->scored;
  }
  return std::optional<double>(sum / double(scored));
}

/// A text that cannot be drawn ends no run: guards watch over training itself.
Status Trainer::drawSamples(MetricsLog &metrics) {
  for (size_t i = 0; i < setup.sampler->prompts(); ++i) {
    Result<SampleReport> report =
        setup.sampler->draw(i, [this] { return stopped(); });
    if (!report.ok() && report.status().code() != ErrorCode::DataLoss)
      return report.status();
    if (!report.ok()) {
      say(strCat("no sample at step ", now.step, ": ",
                 report.status().message()));
      return {};
    }
    if (report->result.finish == FinishReason::Cancelled)
      return {};
    report->step = now.step;
    if (setup.hooks.onSample)
      setup.hooks.onSample(*report);
    GPT2_RETURN_IF_ERROR(metrics.addSample(*report));
  }
  return {};
}

Status Trainer::save() {
  if (now.step == savedStep)
    return {};
  Result<std::string> path = saveCheckpoint(setup.run, model, now);
  if (!path.ok())
    return path.status().withContext(
        strCat("step ", now.step, " could not be saved",
               savedStep ? strCat(" (checkpoint-", savedStep, " is whole)")
                         : std::string()));
  savedStep = now.step;
  say(strCat("saved ", *path));
  return pruneCheckpoints(setup.run, static_cast<uint64_t>(setup.config.keep));
}

/// The error that ends the run, after a checkpoint of what was reached.
Status Trainer::saveAfter(const Status &error) {
  if (now.step == 0)
    return error;
  if (Status saved = save(); !saved.ok())
    return saved;
  return Status(error.code(), strCat(error.message(), " (stopped after step ",
                                     now.step, ", which is saved in ",
                                     setup.run, "/checkpoint-", now.step, ")"));
}
