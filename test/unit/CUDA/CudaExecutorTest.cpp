//===- CudaExecutorTest.cpp - The CUDA executor on a fake GPU -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/CudaExecutor.h"
#include "runtime/CUDA/Branches.h"
#include "runtime/Device/MemoryAdvice.h"
#include "runtime/Device/WeightLayout.h"
#include "test/unit/CUDA/CudaPlans.h"
#include "test/unit/CUDA/FakeGpu.h"

#include <gmock/gmock.h>

#include <cstring>
#include <map>
#include <numeric>

using namespace gpt2rt;
using namespace gpt2rt::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class CudaExecutorTest : public testing::Test {
protected:
  void load(const fb::PlanT &objects) {
    Result<Plan> parsed = parsePlan(objects);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    plan.emplace(*std::move(parsed));
    driver = gpu.driver();
  }
  void create(const fb::PlanT &objects) {
    load(objects);
    Result<std::unique_ptr<Executor>> made =
        cuda::createExecutor(driver, *plan, {});
    ASSERT_TRUE(made.ok()) << made.status().message();
    executor = *std::move(made);
  }
  Status createError(const fb::PlanT &objects) {
    load(objects);
    return cuda::createExecutor(driver, *plan, {}).status();
  }

  FakeGpu gpu;
  cuda::Driver driver;
  std::optional<Plan> plan;
  std::unique_ptr<Executor> executor;
};

TEST_F(CudaExecutorTest, AllocatesWhatThePlanPredicts) {
  create(cudaPlan());
  uint64_t sum = std::accumulate(gpu.allocations.begin(), gpu.allocations.end(),
                                 uint64_t(0));
  EXPECT_EQ(sum, plan->totalBytes());
  for (const ArenaUse &use : executor->memory().arenas)
    EXPECT_EQ(use.predicted, use.allocated) << use.name;
}

TEST_F(CudaExecutorTest, KnowsThePeakOfItsGpu) {
  create(cudaPlan());
  EXPECT_DOUBLE_EQ(executor->peakFlops(), 100 * 1.5e9 * 256); // sm_90 in fp32
}

TEST_F(CudaExecutorTest, SaysWhatTheDriversContextTakes) {
  create(cudaPlan());
  EXPECT_EQ(executor->memory().context, std::nullopt);
  executor.reset();
  gpu.contextBytes = 480 << 20;
  create(cudaPlan());
  EXPECT_EQ(executor->memory().context, uint64_t(480) << 20);
}

TEST_F(CudaExecutorTest, RefusesBeforeAllocatingWhereMemoryIsShort) {
  gpu.freeBytes = 1 << 20;
  Status status = createError(cudaPlan());
  EXPECT_EQ(status.code(), ErrorCode::ResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("smaller --batch"));
  EXPECT_TRUE(gpu.allocations.empty());
}

TEST(MemoryAdvice, DependsOnWhatCanBeChanged) {
  fb::PlanT train = trainPlan(), generate = generatePlan();
  EXPECT_THAT(memoryAdvice(*parsePlan(train), 7 << 20),
              HasSubstr("compile with --memory-budget=7MiB"));
  EXPECT_THAT(memoryAdvice(*parsePlan(train), 0), HasSubstr("smaller --batch"));
  EXPECT_THAT(memoryAdvice(*parsePlan(generate), 7 << 20),
              HasSubstr("--precision=bf16 or a smaller --batch"));
  generate.precision = fb::Precision::BF16;
  EXPECT_EQ(memoryAdvice(*parsePlan(generate), 7 << 20),
            "compile with a smaller --batch");
}

TEST_F(CudaExecutorTest, MeasuresTheReserveWhenAsked) {
  create(cudaPlan());
  uint64_t before = executor->memory().reserve;
  gpu.freeBytes -= 5 << 20;
  EXPECT_EQ(executor->memory().reserve, before + (5 << 20));
  EXPECT_EQ(executor->memory().arenas[0].allocated,
            executor->memory().arenas[0].predicted);
}

TEST_F(CudaExecutorTest, NamesBothSidesOfAWrongArchitecture) {
  gpu.major = 8;
  Status status = createError(cudaPlan());
  EXPECT_EQ(status.code(), ErrorCode::FailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("sm_90a"));
  EXPECT_THAT(status.message(), HasSubstr("compile with --arch=sm_80"));
  EXPECT_TRUE(gpu.device.empty());
}

TEST_F(CudaExecutorTest, RefusesPlansOfTheOtherTarget) {
  EXPECT_EQ(createError(generatePlan()).code(), ErrorCode::FailedPrecondition);
}

TEST_F(CudaExecutorTest, GivesEverythingBack) {
  create(cudaPlan());
  ASSERT_TRUE(executor->bindRandomWeights({}).ok());
  executor.reset();
  EXPECT_TRUE(gpu.device.empty());
  EXPECT_EQ(gpu.pinned, 0);
  EXPECT_EQ(gpu.streams, 0);
  EXPECT_EQ(gpu.events, 0);
  EXPECT_EQ(gpu.modules, 0);
  EXPECT_EQ(gpu.graphs, 0);
  EXPECT_EQ(gpu.contexts, 0);
}

TEST_F(CudaExecutorTest, UploadsEveryRowOfEveryParameter) {
  create(cudaPlan());
  ASSERT_TRUE(executor->bindRandomWeights({42}).ok());
  const fb::Program &init = plan->program(*plan->findProgram("init"));
  int loads = 0;
  for (const fb::Instruction *instruction : *init.instructions()) {
    const fb::LoadWeight *load = instruction->op_as_LoadWeight();
    if (!load)
      continue;
    ++loads;
    const fb::Buffer &buffer = plan->buffer(load->dst());
    std::vector<std::byte> expected(buffer.bytes()), actual(buffer.bytes());
    fillRandomRows(*plan, *load, 42, 0, rowShape(buffer).rows, expected.data());
    ASSERT_TRUE(
        executor->read(load->dst(), 0, actual.data(), actual.size()).ok());
    EXPECT_EQ(actual, expected) << plan->bufferName(load->dst());
  }
  EXPECT_EQ(loads, 3);
}

TEST_F(CudaExecutorTest, StateAndCachesBeginAtZero) {
  create(cudaPlan());
  for (uint32_t i = 0; i < plan->root().buffers()->size(); ++i) {
    const fb::Buffer &buffer = plan->buffer(i);
    fb::ArenaKind kind = plan->root().arenas()->Get(buffer.arena())->kind();
    if (kind != fb::ArenaKind::State && kind != fb::ArenaKind::Cache)
      continue;
    std::vector<std::byte> bytes(buffer.bytes());
    ASSERT_TRUE(executor->read(i, 0, bytes.data(), bytes.size()).ok());
    EXPECT_EQ(bytes, std::vector<std::byte>(bytes.size()))
        << plan->bufferName(i);
  }
}

/// cudaPlan() with `count` kernels at the end of decode_b1 that read `sampling`
/// and change a slot of their own.
fb::PlanT planWithSlots(size_t count) {
  fb::PlanT plan = cudaPlan();
  auto state = static_cast<uint32_t>(fb::ArenaKind::State);
  fb::ArenaT &arena = *plan.arenas[state];
  for (size_t i = 0; i < count; ++i) {
    auto slot = std::make_unique<fb::BufferT>();
    slot->name = "slot" + std::to_string(i);
    slot->dtype = fb::DType::F32;
    slot->shape = {16};
    slot->bytes = 64;
    slot->arena = state;
    slot->offset = arena.bytes;
    slot->program = -1;
    arena.bytes += 64;
    fb::LaunchT launch;
    launch.rows = 1;
    launch.programmatic = true;
    launch.buffers = {bufferNamed(plan, "sampling"),
                      static_cast<uint32_t>(plan.buffers.size())};
    launch.access = {fb::Access::Read, fb::Access::ReadWrite};
    plan.buffers.push_back(std::move(slot));
    auto instruction = std::make_unique<fb::InstructionT>();
    instruction->op.Set(std::move(launch));
    plan.programs[programNamed(plan, "decode_b1")]->instructions.push_back(
        std::move(instruction));
  }
  return plan;
}

/// The runs of decode_b1's last `count` instructions.
std::vector<int> lastRuns(const fb::PlanT &objects, size_t count) {
  Result<Plan> plan = parsePlan(objects);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  std::vector<int> runs = cuda::findIndependentRuns(
      *plan, plan->program(*plan->findProgram("decode_b1")), 3);
  return std::vector<int>(runs.end() - static_cast<ptrdiff_t>(count),
                          runs.end());
}

TEST(Branches, AreOfKernelsThatTouchNothingOfOneAnothers) {
  fb::PlanT plan = planWithSlots(6);
  EXPECT_THAT(lastRuns(plan, 6), ElementsAre(0, 0, 0, 0, 0, 0));
  auto launchOf = [&](size_t slot) {
    auto &all = plan.programs[programNamed(plan, "decode_b1")]->instructions;
    return all[all.size() - 6 + slot]->op.AsLaunch();
  };
  // One that reads what the first one writes begins another run.
  launchOf(3)->buffers[0] = bufferNamed(plan, "slot0");
  EXPECT_THAT(lastRuns(plan, 6), ElementsAre(0, 0, 0, 1, 1, 1));
  // So does one that writes what the first one reads.
  launchOf(0)->buffers[0] = bufferNamed(plan, "slot2");
  EXPECT_THAT(lastRuns(plan, 6), ElementsAre(-1, -1, 0, 0, 0, 0));
}

TEST_F(CudaExecutorTest, RunsIndependentKernelsSideBySide) {
  create(planWithSlots(9));
  EXPECT_EQ(gpu.streams, 1); // others serve the capture alone
  EXPECT_EQ(gpu.events, 0);
  std::map<CUstream, std::vector<bool>> programmatic;
  ASSERT_GE(gpu.launches.size(), 21u);
  for (size_t i = 12; i < 21; ++i) // behind prefill's and decode_b1's own six
    programmatic[gpu.launches[i].stream].push_back(
        gpu.launches[i].programmatic);
  ASSERT_EQ(programmatic.size(), 4u);
  CUstream own = gpu.launches[0].stream;
  for (const auto &[stream, kernels] : programmatic)
    if (stream == own) // behind a fill
      EXPECT_THAT(kernels, ElementsAre(false, true, true));
    else
      EXPECT_THAT(kernels, ElementsAre(false, true));
  // Behind the join, nothing starts early.
  EXPECT_EQ(gpu.launches[21].stream, own);
  EXPECT_FALSE(gpu.launches[21].programmatic);
}

TEST_F(CudaExecutorTest, OverlapsKernelsWithKernelsOnly) {
  create(cudaPlan());
  std::vector<bool> programmatic;
  for (const FakeLaunch &launch : gpu.launches)
    programmatic.push_back(launch.programmatic);
  // Of each of prefill, decode_b1 and decode_b2: embed, qkv, append, attend,
  // (a copy), head, sample.
  ASSERT_EQ(programmatic.size(), 18u);
  programmatic.resize(6);
  EXPECT_THAT(programmatic, ElementsAre(false, true, true, true, false, true));
}

TEST_F(CudaExecutorTest, OldCodeWaitsForWholeKernels) {
  gpu.major = 8;
  create(cudaPlan("sm_80"));
  for (const FakeLaunch &launch : gpu.launches)
    EXPECT_FALSE(launch.programmatic);
}

TEST_F(CudaExecutorTest, TokensAreOnTheHostWhenAProgramHasRun) {
  fb::PlanT objects = cudaPlan();
  uint32_t tokens = bufferNamed(objects, "tokens");
  // The sample is the last launch of each program and has its tokens third.
  int captured = 0;
  gpu.onLaunch = [&](const std::string &, void **arguments) {
    bool isSample = ++captured % 6 == 0;
    auto address = *static_cast<CUdeviceptr *>(arguments[2]);
    return std::function<void()>([isSample, address] {
      int32_t values[2] = {11, 22};
      if (isSample)
        std::memcpy(reinterpret_cast<void *>(address), values, sizeof(values));
    });
  };
  create(objects);
  const fb::Launch *last = nullptr;
  uint32_t program = *plan->findProgram("decode_b2");
  for (const fb::Instruction *i : *plan->program(program).instructions())
    if (const fb::Launch *launch = i->op_as_Launch())
      last = launch;
  ASSERT_NE(last, nullptr);
  ASSERT_EQ(last->buffers()->Get(2), tokens);

  ASSERT_TRUE(executor->run(program).ok());
  int copies = gpu.copiesToHost, waits = gpu.synchronizations;
  int32_t read[2] = {};
  ASSERT_TRUE(executor->read(tokens, 0, read, sizeof(read)).ok());
  EXPECT_THAT(read, ElementsAre(11, 22));
  EXPECT_EQ(gpu.copiesToHost, copies) << "no call to the driver is needed";
  EXPECT_EQ(gpu.synchronizations, waits);

  int32_t forced = 5;
  ASSERT_TRUE(executor->write(tokens, 4, &forced, sizeof(forced)).ok());
  ASSERT_TRUE(executor->read(tokens, 0, read, sizeof(read)).ok());
  EXPECT_THAT(read, ElementsAre(11, 5)) << "what was written is newer";
}

TEST_F(CudaExecutorTest, WritesLargerThanTheStagingArrive) {
  fb::PlanT objects = cudaPlan();
  create(objects);
  uint32_t logits = bufferNamed(objects, "logits");
  std::vector<std::byte> bytes(plan->buffer(logits).bytes());
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = std::byte(i * 7);
  for (int repeat = 0; repeat < 2000; ++repeat) // 2 MB in all
    ASSERT_TRUE(executor->write(logits, 0, bytes.data(), bytes.size()).ok());
  std::vector<std::byte> read(bytes.size());
  ASSERT_TRUE(executor->read(logits, 0, read.data(), read.size()).ok());
  EXPECT_EQ(read, bytes);
}

TEST_F(CudaExecutorTest, RefusesBytesOutsideABuffer) {
  fb::PlanT objects = cudaPlan();
  create(objects);
  uint32_t tokens = bufferNamed(objects, "tokens");
  int32_t value = 0;
  Status status = executor->write(tokens, ~uint64_t(3), &value, 4);
  EXPECT_EQ(status.code(), ErrorCode::OutOfRange);
  EXPECT_THAT(status.message(), HasSubstr("tokens"));
  EXPECT_EQ(executor->read(tokens, 8, &value, 4).code(), ErrorCode::OutOfRange);
}

TEST_F(CudaExecutorTest, InitIsNotAProgramToRun) {
  create(cudaPlan());
  EXPECT_EQ(executor->run(*plan->findProgram("init")).code(),
            ErrorCode::InvalidArgument);
  EXPECT_EQ(executor->run(99).code(), ErrorCode::InvalidArgument);
}

TEST_F(CudaExecutorTest, ProfilesEveryInstruction) {
  create(cudaPlan());
  uint32_t program = *plan->findProgram("decode_b1");
  auto times = executor->profile(program);
  ASSERT_TRUE(times.ok());
  ASSERT_EQ(times->size(), plan->program(program).instructions()->size());
  EXPECT_EQ((*times)[0].what, "Launch row_kernel");
  EXPECT_EQ((*times)[4].what, "Copy");
  EXPECT_NEAR((*times)[4].seconds, 0.002, 1e-9);
  EXPECT_EQ(gpu.events, 0);
}

TEST_F(CudaExecutorTest, RefusesInstructionsWithoutAKernel) {
  fb::PlanT objects = cudaPlan();
  fb::PlanT original = generatePlan();
  objects.programs[1]->instructions[6] =
      std::move(original.programs[1]->instructions[6]);
  Status status = createError(objects);
  EXPECT_EQ(status.code(), ErrorCode::FailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("Sample"));
  EXPECT_TRUE(gpu.device.empty());
}

} // namespace
