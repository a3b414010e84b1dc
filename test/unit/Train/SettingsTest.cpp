//===- SettingsTest.cpp - Settings, schedules, guards and state -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/OutlierGuard.h"
#include "runtime/Train/RunConfig.h"
#include "runtime/Train/StopSignal.h"
#include "runtime/Train/TrainerState.h"
#include "test/unit/Plan/TestPlans.h"
#include "test/unit/Support/TestSupport.h"

#include <cmath>
#include <csignal>
#include <unistd.h>

using namespace gpt2rt;
using namespace gpt2rt::test;

namespace {

TEST(Schedule, WarmsUpAndThenFollowsItsKind) {
  Schedule schedule = {ScheduleKind::Constant, 1, 0.1, 4, 20, 5};
  for (auto [applied, rate] :
       {std::pair{0, 0.25}, {1, 0.5}, {3, 1.0}, {4, 1.0}, {99, 1.0}})
    EXPECT_DOUBLE_EQ(schedule.at(uint64_t(applied)), rate);
  schedule.kind = ScheduleKind::Linear;
  EXPECT_DOUBLE_EQ(schedule.at(3), 1);
  EXPECT_DOUBLE_EQ(schedule.at(12), 0.55);
  EXPECT_DOUBLE_EQ(schedule.at(20), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at(30), 0.1);
  schedule.kind = ScheduleKind::Cosine;
  EXPECT_DOUBLE_EQ(schedule.at(4), 1);
  EXPECT_DOUBLE_EQ(schedule.at(8), 0.1 + 0.9 * (0.5 + 0.5 * std::sqrt(0.5)));
  EXPECT_DOUBLE_EQ(schedule.at(12), 0.55);
  EXPECT_DOUBLE_EQ(schedule.at(20), 0.1);
  schedule.kind = ScheduleKind::Wsd;
  EXPECT_DOUBLE_EQ(schedule.at(15), 1);
  EXPECT_DOUBLE_EQ(schedule.at(16), 0.1 + 0.9 * 0.8);
  EXPECT_DOUBLE_EQ(schedule.at(20), 0.1);
}

TEST(Schedule, NamesAreChecked) {
  EXPECT_TRUE(parseScheduleKind("wsd").ok());
  EXPECT_ERROR(parseScheduleKind("cos"), ErrorCode::InvalidArgument,
               "--schedule is 'cos', but it must be constant, linear, cosine "
               "or wsd");
}

TEST(OutlierGuard, LimitsByTheRecentNorms) {
  OutlierGuard guard(2), off(0);
  for (size_t i = 0; i < OutlierGuard::least; ++i) {
    EXPECT_EQ(guard.limit(), 0);
    for (OutlierGuard *each : {&guard, &off})
      each->add(i % 2 ? 1 : 3);
  }
  EXPECT_DOUBLE_EQ(guard.limit(), 4); // mean 2, deviation 1
  EXPECT_EQ(off.limit(), 0);
  guard.add(NAN);
  guard.add(INFINITY);
  EXPECT_DOUBLE_EQ(guard.limit(), 4);
  OutlierGuard restored(2);
  restored.restore(guard.norms());
  EXPECT_EQ(restored.limit(), guard.limit());
  for (size_t i = 0; i < OutlierGuard::window; ++i)
    guard.add(7);
  EXPECT_DOUBLE_EQ(guard.limit(), 7);
  EXPECT_EQ(guard.norms().size(), OutlierGuard::window);
}

TEST(RunConfig, RoundTrips) {
  RunConfig config, read;
  config.data = {"a", "b"};
  config.steps = 7;
  config.lr = 1.0 / 3;
  config.randomWeights = config.noShuffle = true;
  config.schedule = "wsd";
  ASSERT_OK(readConfig(configText(config), "x", read));
  EXPECT_EQ(configText(read), configText(config));
  EXPECT_EQ(read.lr, config.lr);
  // What a text leaves out stays.
  ASSERT_OK(readConfig(R"({"weight_decay": 0, "data": "c"})", "x", read));
  EXPECT_EQ(read.weightDecay, 0);
  EXPECT_THAT(read.data, testing::ElementsAre("c"));
  EXPECT_EQ(read.steps, 7);
}

TEST(RunConfig, RefusesWhatItDoesNotKnow) {
  auto refused = [](const char *text, const char *message) {
    RunConfig config;
    EXPECT_FALSE(readConfig(text, "c.json", config).ok());
    EXPECT_THAT(readConfig(text, "c.json", config).message(),
                testing::HasSubstr(message));
  };
  refused(R"({"weight_dacay": 1})",
          "unknown setting 'weight_dacay', did you mean 'weight_decay'?");
  refused(R"({"lr": "high"})", "c.json: lr is a string, expected a number");
  refused(R"({"steps": 1.5})", "steps is a number, expected an integer");
  refused(R"({"steps": 18446744073709551615})", "expected an integer");
  refused(R"({"data": [1]})", "data is a list, expected a list of strings");
  refused("[]", "c.json is a list, expected an object");
  refused("{", "c.json is not valid JSON");
}

TEST(RunConfig, ChecksEveryRange) {
  auto message = [](auto change) {
    RunConfig config;
    config.steps = 10;
    change(config);
    return checkConfig(config).message();
  };
  using testing::HasSubstr;
  EXPECT_EQ(message([](RunConfig &) {}), "");
  EXPECT_THAT(message([](RunConfig &c) { c.lr = NAN; }),
              HasSubstr("--lr is nan, but it must be in"));
  EXPECT_THAT(message([](RunConfig &c) { c.lr = -1; }),
              HasSubstr("--lr is -1"));
  EXPECT_THAT(message([](RunConfig &c) { c.minLr = 1; }),
              HasSubstr("--min-lr is 1, but it must be 0 or more and at most "
                        "--lr"));
  EXPECT_THAT(message([](RunConfig &c) { c.steps = 0; }),
              HasSubstr("--steps is 0"));
  EXPECT_THAT(message([](RunConfig &c) { c.warmup = 11; }),
              HasSubstr("--warmup is 11"));
  EXPECT_THAT(message([](RunConfig &c) { c.beta2 = 1; }),
              HasSubstr("--beta2 is 1"));
  EXPECT_THAT(message([](RunConfig &c) { c.split = 1; }),
              HasSubstr("--split is 1"));
  EXPECT_EQ(message([](RunConfig &c) { c.groupByLength = true; }), "");
  EXPECT_THAT(
      message([](RunConfig &c) { c.groupByLength = c.noShuffle = true; }),
      HasSubstr("--group-by-length and --no-shuffle"));
  EXPECT_THAT(message([](RunConfig &c) { c.schedule = "x"; }),
              HasSubstr("--schedule is 'x'"));
}

TEST(RunConfig, StepsAreWholeMicroBatches) {
  RunConfig config;
  EXPECT_EQ(*accumulationOf(config, 4, 128), 1u);
  config.tokensPerStep = 4096;
  EXPECT_EQ(*accumulationOf(config, 4, 128), 8u);
  config.accumulate = 8;
  EXPECT_EQ(*accumulationOf(config, 4, 128), 8u);
  config.accumulate = 4;
  EXPECT_ERROR(accumulationOf(config, 4, 128), ErrorCode::InvalidArgument,
               "--accumulate 4 of 512 tokens is not --tokens-per-step 4096");
  config.accumulate = 0;
  config.tokensPerStep = 1000;
  EXPECT_ERROR(accumulationOf(config, 4, 128), ErrorCode::InvalidArgument,
               "--tokens-per-step 1000 is no multiple of the 512 tokens of the "
               "plan's micro-batch (batch 4 * seq 128); take 512 or 1024");
}

TrainerState someState() {
  TrainerState state;
  state.step = 12;
  state.applied = 10;
  state.skipped = 2;
  state.nextSample = 96;
  state.tokens = 3000000000000;
  state.lossScale = 32768;
  state.finiteSteps = 3;
  state.recentNorms = {1.0 / 3, 2};
  state.seed = UINT64_MAX;
  state.data = "shards";
  state.plan = {"CPU", "FP32", 2, 4, 1, 8, 1, 32, 16, 100, {1, 2}, "00f1e2"};
  state.valLoss = 1.0 / 7;
  state.config = configText(RunConfig());
  return state;
}

TEST(TrainerState, RoundTrips) {
  TrainerState state = someState();
  ASSERT_ASSIGN(TrainerState read,
                parseTrainerState(trainerStateText(state), "x"));
  EXPECT_EQ(read, state);
  EXPECT_EQ(read.plan.describeLengths(), "1, 2, 4");
  state.plan.shorter.clear(); // as those say that know of no lengths
  EXPECT_EQ(trainerStateText(state).find("shorter"), std::string::npos);
  ASSERT_ASSIGN(read, parseTrainerState(trainerStateText(state), "x"));
  EXPECT_EQ(read, state);
}

TEST(TrainerState, RemembersTunedAlgorithms) {
  fb::PlanT objects = test::trainPlan();
  ASSERT_ASSIGN(Plan plain, test::parsePlan(objects));
  EXPECT_EQ(PlanIdentity::of(plain).algorithms, "");
  objects.target = fb::Target::CUDA;
  objects.modules[0]->format = fb::CodeFormat::Cubin;
  for (auto &kernel : objects.kernels)
    kernel->block_threads = 128;
  objects.tuning = std::make_unique<fb::TuningT>();
  objects.tuning->device = "GPU";
  objects.tuning->algorithms.push_back(
      std::make_unique<fb::MatmulAlgorithmT>());
  objects.tuning->algorithms[0]->words.assign(8, 1);
  ASSERT_ASSIGN(Plan one, test::parsePlan(objects));
  objects.tuning->algorithms[0]->words[7] = 2;
  ASSERT_ASSIGN(Plan other, test::parsePlan(objects));
  TrainerState state = someState();
  state.plan = PlanIdentity::of(one);
  ASSERT_ASSIGN(TrainerState read,
                parseTrainerState(trainerStateText(state), "x"));
  EXPECT_EQ(read.plan, PlanIdentity::of(one));
  EXPECT_NE(read.plan, PlanIdentity::of(other));
  // It is no other kind of run, but adds up in another order.
  EXPECT_TRUE(checkSamePlan(read.plan, PlanIdentity::of(other)).ok());
}

TEST(TrainerState, RefusesDamage) {
  std::string good = trainerStateText(someState());
  auto with = [&](const char *from, const char *to) {
    std::string text = good;
    size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    text.replace(at, strlen(from), to);
    return parseTrainerState(text, "trainer.json").status().message();
  };
  using testing::HasSubstr;
  EXPECT_THAT(with("\"step\": 12", "\"step\": 13"),
              HasSubstr("10 applied and 2 skipped steps are not the 13"));
  EXPECT_THAT(with("\"step\": 12", "\"step\": -12"),
              HasSubstr("trainer.json: step is an integer"));
  EXPECT_THAT(with("\"next_sample\"", "\"next\""),
              HasSubstr("has no 'next_sample'"));
  EXPECT_THAT(with("\"format\": 1", "\"format\": 9"), HasSubstr("format 9"));
  EXPECT_THAT(with("\"shorter_sequences\": [", "\"shorter_sequences\": [-1,"),
              HasSubstr("shorter_sequences is a list, expected a list of "
                        "integers"));
  EXPECT_THAT(with("32768.0", "0.0"), HasSubstr("the loss scale"));
  EXPECT_THAT(with("\"plan\"", "\"plane\""), HasSubstr("has no 'plan'"));
  EXPECT_THAT(with("}", ""), HasSubstr("is not valid JSON"));
}

TEST(TrainerState, APlanMustBeOfTheSameKind) {
  PlanIdentity saved = someState().plan, now = saved;
  EXPECT_TRUE(checkSamePlan(saved, now).ok());
  now.batch = 8;
  now.shorter.clear();
  now.target = "CUDA";
  EXPECT_TRUE(checkSamePlan(saved, now).ok());
  now.precision = "BF16";
  EXPECT_ERROR(checkSamePlan(saved, now), ErrorCode::FailedPrecondition,
               "a run in FP32, but the plan computes in BF16");
  now = saved;
  now.layers = 12;
  EXPECT_ERROR(checkSamePlan(saved, now), ErrorCode::FailedPrecondition,
               "with layers 1, but this plan has 12");
  now = saved;
  now.sequence = 5;
  EXPECT_ERROR(checkSamePlan(saved, now), ErrorCode::FailedPrecondition,
               "with sequence 4, but this plan has 5");
}

TEST(StopSignal, AnEchoIsNoSecondSignal) {
  StopSignal stop;
  ::raise(SIGTERM);
  ::raise(SIGTERM);
  EXPECT_EQ(*stop.flag(), SIGTERM);
}

TEST(StopSignal, ASecondSignalLaterEndsTheProcess) {
  EXPECT_EXIT(
      {
        StopSignal stop;
        ::raise(SIGTERM);
        ::usleep(1100000);
        ::raise(SIGINT);
      },
      testing::ExitedWithCode(128 + SIGINT), "");
}

} // namespace
