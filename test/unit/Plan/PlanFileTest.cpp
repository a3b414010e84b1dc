//===- PlanFileTest.cpp - The plan file's frame ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/unit/Plan/TestPlans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

using namespace gpt2rt;
using namespace gpt2rt::test;
using testing::HasSubstr;

namespace {

Status parseBytes(const std::string &file) {
  // A copy of the exact size, so that sanitizers see reads past the end.
  std::vector<std::byte> bytes(file.size());
  std::memcpy(bytes.data(), file.data(), file.size());
  return Plan::parse(bytes).status();
}

void setChecksum(std::string &file) {
  uint64_t checksum = planChecksum(std::as_bytes(std::span(file)));
  std::memcpy(file.data() + offsetof(PlanHeader, checksum), &checksum,
              sizeof(checksum));
}

template <typename T>
void poke(std::string &file, size_t offset, T value) {
  std::memcpy(file.data() + offset, &value, sizeof(value));
}

TEST(PlanFile, LoadsWhatItPacked) {
  Result<Plan> plan = parsePlan(generatePlan());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->root().batch(), 2u);
  EXPECT_TRUE(plan->findProgram("decode_b2"));
  EXPECT_FALSE(plan->findProgram("decode_b4"));
  ASSERT_TRUE(plan->findState("logits"));
  EXPECT_EQ(plan->buffer(*plan->findState("logits")).view_of(), -1);
  EXPECT_FALSE(plan->findState("wte"));
  EXPECT_EQ(plan->payload(0).size(), 64u);
  EXPECT_EQ(plan->arenaBytes(fb::ArenaKind::Cache), 2u * 2 * 16 * 8 * 4);
}

TEST(PlanFile, TotalIsTheSumOfTheArenas) {
  Result<Plan> plan = parsePlan(evalPlan());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  uint64_t sum = 0;
  for (int kind = 0; kind <= int(fb::ArenaKind::MAX); ++kind)
    sum += plan->arenaBytes(static_cast<fb::ArenaKind>(kind));
  EXPECT_EQ(plan->totalBytes(), sum);
}

TEST(PlanFile, EveryFlippedBitIsSeen) {
  std::string file = packPlan(evalPlan());
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    file[bit / 8] ^= char(1 << bit % 8);
    ASSERT_FALSE(parseBytes(file).ok()) << "bit " << bit;
    file[bit / 8] ^= char(1 << bit % 8);
  }
  EXPECT_TRUE(parseBytes(file).ok());
}

TEST(PlanFile, EveryTruncationIsSeen) {
  std::string file = packPlan(evalPlan());
  for (size_t length = 0; length < file.size(); ++length)
    ASSERT_FALSE(parseBytes(file.substr(0, length)).ok()) << length;
  EXPECT_THAT(parseBytes(file.substr(0, 1000)).message(),
              HasSubstr("the plan is truncated: 1000 bytes"));
  EXPECT_THAT(parseBytes(file.substr(0, 20)).message(), HasSubstr("truncated"));
  EXPECT_THAT(parseBytes(file + "x").message(), HasSubstr("after its end"));
}

TEST(PlanFile, OtherFilesAreNotPlans) {
  EXPECT_THAT(parseBytes("").message(), HasSubstr("not a plan file"));
  EXPECT_THAT(parseBytes("{\"a\": 1}").message(), HasSubstr("not a plan file"));
}

TEST(PlanFile, FutureMajorAndFeaturesAskForAnUpgrade) {
  std::string file = packPlan(evalPlan());
  poke<uint16_t>(file, offsetof(PlanHeader, major), planMajor + 1);
  Status status = parseBytes(file); // even where the rest changed, too
  EXPECT_EQ(status.code(), ErrorCode::FailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("newer gpt2c"));
  EXPECT_THAT(status.message(), HasSubstr("upgrade gpt2-run"));

  file = packPlan(evalPlan());
  poke<uint64_t>(file, offsetof(PlanHeader, requiredFeatures), 1ull << 40);
  setChecksum(file);
  status = parseBytes(file);
  EXPECT_EQ(status.code(), ErrorCode::FailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("feature bit 40"));
}

/// Files that a later gpt2c could have written, frozen.
TEST(PlanFile, FixturesOfTheFutureAreRefused) {
  for (const char *name : {"future-2.0.plan", "future-feature.plan"}) {
    std::string path = strCat(GPT2_SOURCE_DIR "/test/fixtures/plans/", name);
    Status status = Plan::load(path).status();
    EXPECT_EQ(status.code(), ErrorCode::FailedPrecondition) << name;
    EXPECT_THAT(status.message(), HasSubstr("upgrade gpt2-run")) << name;
  }
}

/// What gpt2c wrote when a format was released loads for ever.
TEST(PlanFile, ReleasedPlansLoad) {
  struct {
    const char *name;
    int minor;
  } const plans[] = {
      {"generate-1.0.plan", 0}, {"eval-1.0.plan", 0}, {"train-1.2.plan", 2}};
  for (auto [name, minor] : plans) {
    std::string path = strCat(GPT2_SOURCE_DIR "/test/fixtures/plans/", name);
    Result<Plan> plan = Plan::load(path);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan->header().major, 1);
    EXPECT_EQ(plan->header().minor, minor);
    EXPECT_EQ(plan->root().model()->layers(), 2u);
  }
}

TEST(PlanFile, OlderMajorAsksToCompileAgain) {
  std::string file = packPlan(evalPlan());
  poke<uint16_t>(file, offsetof(PlanHeader, major), 0);
  EXPECT_THAT(parseBytes(file).message(), HasSubstr("compile the model again"));
}

TEST(PlanFile, FutureMinorLoads) {
  std::string file = packPlan(evalPlan());
  poke<uint16_t>(file, offsetof(PlanHeader, minor), 7);
  setChecksum(file);
  EXPECT_TRUE(parseBytes(file).ok()) << parseBytes(file).message();
}

/// Section fields that lie, under a checksum that is right.
TEST(PlanFile, SectionsMustLieInTheFile) {
  struct {
    size_t offset;
    uint64_t value;
    size_t bytes;
    const char *message;
  } cases[] = {
      {offsetof(PlanHeader, flatbufferOffset), 65, 4, "not a multiple"},
      {offsetof(PlanHeader, flatbufferOffset), 0, 4, "outside the file"},
      {offsetof(PlanHeader, flatbufferSize), 0xffffffff, 4, "outside the file"},
      {offsetof(PlanHeader, flatbufferSize), 0, 4, "identifier"},
      {offsetof(PlanHeader, payloadOffset), 64, 8, "overlaps"},
      {offsetof(PlanHeader, payloadOffset), ~63ull, 8, "outside the file"},
      {offsetof(PlanHeader, payloadSize), ~0ull, 8, "outside the file"},
      {offsetof(PlanHeader, payloadSize), 0, 8, "payloads[0]"},
      {offsetof(PlanHeader, fileSize), 64, 8, "after its end"},
      {offsetof(PlanHeader, reserved), 1, 4, "reserved"},
  };
  for (const auto &change : cases) {
    std::string file = packPlan(evalPlan());
    std::memcpy(file.data() + change.offset, &change.value, change.bytes);
    setChecksum(file);
    EXPECT_THAT(parseBytes(file).message(), HasSubstr(change.message))
        << change.offset << " = " << change.value;
  }
}

TEST(PlanFile, LoadNamesTheFile) {
  std::string path = testing::TempDir() + "/truncated.plan";
  std::ofstream(path) << packPlan(evalPlan()).substr(0, 100);
  Status status = Plan::load(path).status();
  EXPECT_THAT(status.message(), HasSubstr(path));
  EXPECT_EQ(status.code(), ErrorCode::DataLoss);
  EXPECT_EQ(Plan::load("/no/such.plan").status().code(), ErrorCode::NotFound);
}

TEST(PlanFile, ChecksumCoversEveryByteButItself) {
  std::string file = packPlan(evalPlan());
  uint64_t before = planChecksum(std::as_bytes(std::span(file)));
  file.back() ^= 1;
  EXPECT_NE(planChecksum(std::as_bytes(std::span(file))), before);
  file.back() ^= 1;
  file[offsetof(PlanHeader, checksum)] ^= 1;
  EXPECT_EQ(planChecksum(std::as_bytes(std::span(file))), before);
}

} // namespace
