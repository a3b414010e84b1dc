//===- TuningTest.cpp - Algorithms of products by measurement -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/CudaExecutor.h"
#include "runtime/CUDA/Tuner.h"
#include "runtime/Engine/StateFill.h"
#include "test/unit/CUDA/CudaPlans.h"
#include "test/unit/CUDA/FakeBlas.h"

#include <gmock/gmock.h>

#include <deque>
#include <set>

using namespace gpt2rt;
using namespace gpt2rt::test;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

constexpr uint64_t heuristicId = 1, bestId = 3;

class TuningTest : public testing::Test {
protected:
  TuningTest() {
    gpu.tick = 0;
    driver = gpu.driver();
    blas.algorithms = {{.id = heuristicId, .milliseconds = 3},
                       {.id = 2, .milliseconds = 1, .isStable = false},
                       {.id = bestId, .milliseconds = 2}};
  }

  void load(std::string bytes) {
    executor.reset();
    files.push_back(std::move(bytes));
    Result<Plan> parsed = Plan::parse(std::as_bytes(std::span(files.back())));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    plan.emplace(*std::move(parsed));
    table = blas.table();
    Result<std::unique_ptr<Executor>> made =
        cuda::createExecutor(driver, *plan, {}, &table);
    ASSERT_TRUE(made.ok()) << made.status().message();
    executor = *std::move(made);
    ASSERT_TRUE(executor->bindRandomWeights({}).ok());
    ASSERT_TRUE(fillState(*plan, *executor).ok());
  }
  MatmulTuning tune() {
    Result<MatmulTuning> tuning = executor->tune({});
    EXPECT_TRUE(tuning.ok()) << tuning.status().message();
    return tuning.ok() ? *std::move(tuning) : MatmulTuning();
  }
  /// A plan that has been tuned, and loads.
  std::string tunedPlan() {
    load(packPlan(cudaPlan("sm_90a", /*keepsProducts=*/true)));
    Result<std::string> bytes = withTuning(*plan, tune());
    EXPECT_TRUE(bytes.ok());
    return bytes.ok() ? *bytes : std::string();
  }
  /// The algorithms that running a program uses.
  std::vector<uint64_t> idsOf(const char *program) {
    blas.runs.clear();
    EXPECT_TRUE(executor->run(*plan->findProgram(program)).ok());
    return blas.runs;
  }

  FakeGpu gpu;
  cuda::Driver driver;
  FakeBlas blas{gpu};
  cuda::BlasLtTable table;
  std::deque<std::string> files;
  std::optional<Plan> plan;
  std::unique_ptr<Executor> executor;
};

TEST_F(TuningTest, TakesTheFastestThatRepeatsItself) {
  load(packPlan(cudaPlan("sm_90a", true)));
  EXPECT_THAT(idsOf("prefill"), Each(heuristicId));
  MatmulTuning tuning = tune();
  EXPECT_EQ(tuning.device, "Fake GPU");
  EXPECT_EQ(tuning.library, 130100u);
  ASSERT_FALSE(tuning.matmuls.empty());
  for (const TunedMatmul &tuned : tuning.matmuls) {
    EXPECT_EQ(tuned.algorithm[0], bestId) << tuned.what;
    EXPECT_EQ(tuned.candidates, 3u);
    EXPECT_NEAR(tuned.before, 3e-3, 1e-6);
    EXPECT_NEAR(tuned.after, 2e-3, 1e-6);
  }
  EXPECT_THAT(idsOf("prefill"), Each(bestId)) << "programs are captured again";
}

TEST_F(TuningTest, LoadsWithTheFirstThatAddsUpInOneOrder) {
  blas.algorithms.insert(blas.algorithms.begin(),
                         {.id = 9,
                          .milliseconds = 1,
                          .reduction = CUBLASLT_REDUCTION_SCHEME_INPLACE});
  load(packPlan(cudaPlan("sm_90a", true)));
  EXPECT_THAT(idsOf("prefill"), Each(heuristicId));
}

TEST_F(TuningTest, NamesThePlaceOfEveryProduct) {
  load(packPlan(cudaPlan("sm_90a", true)));
  std::set<std::pair<uint32_t, uint32_t>> places, products;
  for (const TunedMatmul &tuned : tune().matmuls)
    for (auto [program, instruction] : tuned.places)
      places.insert({program, instruction});
  for (uint32_t p = 0; p < plan->root().programs()->size(); ++p)
    for (uint32_t i = 0; i < plan->program(p).instructions()->size(); ++i)
      if (plan->program(p).instructions()->Get(i)->op_as_Matmul())
        products.insert({p, i});
  EXPECT_EQ(places, products);
}

/// A product of its own.
class ProductStep : public cuda::Step {
public:
  ProductStep(const cuda::BlasLt &library, std::vector<float> &memory,
              uint64_t rows) {
    cuda::MatmulShape shape;
    shape.m = rows;
    shape.n = shape.k = 4;
    auto address = reinterpret_cast<CUdeviceptr>(memory.data());
    call = *library.plan(shape, {address, address, address});
  }
  Status enqueue(const cuda::Context &, CUstream stream, bool) override {
    return call->run(stream);
  }
  cuda::MatmulCall *matmul() override { return call.get(); }

private:
  std::unique_ptr<cuda::MatmulCall> call;
};

TEST_F(TuningTest, MeasuresEqualProductsOnce) {
  auto context = *cuda::Context::create(driver, 0);
  auto library = *cuda::BlasLt::create(blas.table());
  std::vector<float> memory(64);
  ProductStep first(*library, memory, 4), same(*library, memory, 4),
      other(*library, memory, 8);
  cuda::Tuner tuner(*context, {});
  ASSERT_TRUE(tuner.tune(first, {0, 0}).ok());
  size_t runs = blas.runs.size();
  EXPECT_GT(runs, 3u);
  ASSERT_TRUE(tuner.tune(same, {0, 1}).ok());
  EXPECT_EQ(blas.runs.size(), runs);
  EXPECT_EQ(same.matmul()->algorithm()[0], bestId);
  ASSERT_TRUE(tuner.tune(other, {1, 0}).ok());
  EXPECT_GT(blas.runs.size(), runs);
  std::vector<TunedMatmul> tuned = tuner.take();
  ASSERT_EQ(tuned.size(), 2u);
  EXPECT_EQ(tuned[0].places.size(), 2u);
}

TEST_F(TuningTest, LeavesOutWhatHasNoFixedOrderOrTooMuchWorkspace) {
  blas.algorithms.push_back({.id = 4,
                             .milliseconds = 0.5,
                             .reduction = CUBLASLT_REDUCTION_SCHEME_INPLACE});
  blas.algorithms.push_back(
      {.id = 5, .milliseconds = 0.5, .workspace = uint64_t(1) << 40});
  load(packPlan(cudaPlan("sm_90a", true)));
  for (const TunedMatmul &tuned : tune().matmuls)
    EXPECT_EQ(tuned.algorithm[0], bestId) << tuned.what;
}

TEST_F(TuningTest, KeepsTheHeuristicsChoiceWhereTheGainIsNoise) {
  blas.algorithms = {{.id = heuristicId, .milliseconds = 3},
                     {.id = 2, .milliseconds = 2.99}};
  load(packPlan(cudaPlan("sm_90a", true)));
  for (const TunedMatmul &tuned : tune().matmuls)
    EXPECT_EQ(tuned.algorithm[0], heuristicId) << tuned.what;
}

TEST_F(TuningTest, ATunedPlanRunsWithItsAlgorithms) {
  load(tunedPlan());
  EXPECT_THAT(executor->warnings(), IsEmpty());
  EXPECT_THAT(idsOf("prefill"), Each(bestId));
  EXPECT_THAT(idsOf("decode_b2"), Each(bestId));
}

TEST_F(TuningTest, TuningAgainReplacesWhatIsThere) {
  std::string once = tunedPlan();
  load(once);
  blas.algorithms = {{.id = heuristicId, .milliseconds = 3},
                     {.id = 7, .milliseconds = 1}};
  Result<std::string> twice = withTuning(*plan, tune());
  ASSERT_TRUE(twice.ok());
  load(*twice);
  EXPECT_THAT(idsOf("prefill"), Each(7u));
}

TEST_F(TuningTest, AnotherLibraryFallsBackWithAWarning) {
  std::string bytes = tunedPlan();
  blas.version = 120900;
  load(bytes);
  EXPECT_THAT(
      executor->warnings(),
      ElementsAre(testing::AllOf(HasSubstr("130100"), HasSubstr("120900"),
                                 HasSubstr("gpt2-run tune"))));
  EXPECT_THAT(idsOf("prefill"), Each(heuristicId));
}

TEST_F(TuningTest, AnotherDeviceFallsBackWithAWarning) {
  std::string bytes = tunedPlan();
  gpu.name = "Other GPU";
  load(bytes);
  EXPECT_THAT(executor->warnings(), Contains(HasSubstr("'Other GPU'")));
  EXPECT_THAT(idsOf("prefill"), Each(heuristicId));
}

TEST_F(TuningTest, ARefusedAlgorithmFallsBackWithAWarning) {
  std::string bytes = tunedPlan();
  blas.algorithms[2].isRefused = true;
  load(bytes);
  EXPECT_THAT(executor->warnings(), ElementsAre(HasSubstr("refuses")));
  EXPECT_THAT(idsOf("prefill"), Each(heuristicId));
}

TEST_F(TuningTest, WordsThatMeanNothingFallBack) {
  std::string bytes = tunedPlan();
  load(bytes);
  fb::PlanT objects;
  plan->root().UnPackTo(&objects);
  for (auto &algorithm : objects.tuning->algorithms)
    algorithm->words.assign(8, ~uint64_t(0));
  load(packPlan(objects));
  EXPECT_THAT(executor->warnings(), ElementsAre(HasSubstr("refuses")));
  EXPECT_THAT(idsOf("prefill"), Each(heuristicId));
}

TEST_F(TuningTest, ATunedPlanPromisesTheSameMemory) {
  std::string bytes = tunedPlan();
  uint64_t before = plan->totalBytes();
  load(bytes);
  EXPECT_EQ(plan->totalBytes(), before);
  for (const ArenaUse &use : executor->memory().arenas)
    EXPECT_EQ(use.predicted, use.allocated) << use.name;
}

} // namespace
