//===- CheckpointsTest.cpp - Parameters, weights and checkpoints ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Support/Json.h"
#include "runtime/Text/Tokenizer.h"
#include "runtime/Train/InitialWeights.h"
#include "runtime/Train/RunConfig.h"
#include "runtime/Train/RunDirectory.h"
#include "test/unit/Train/FakeTrainExecutor.h"
#include "test/unit/Train/TrainSupport.h"

#include <cmath>
#include <csignal>
#include <numeric>
#include <sys/resource.h>

using namespace gpt2rt;
using namespace gpt2rt::test;
using testing::ElementsAre;

namespace {

TEST(Parameters, AreThoseWithMoments) {
  Plan plan = smallTrainPlan();
  ASSERT_ASSIGN(auto parameters, findParameters(plan));
  ASSERT_EQ(parameters.size(), 3u);
  EXPECT_EQ(parameters[0].name, "transformer.wte.weight");
  EXPECT_THAT(parameters[0].shape(), ElementsAre(100u, 8u));
  EXPECT_EQ(parameters[0].planSize(), 128u * 8);
  EXPECT_EQ(plan.bufferName(parameters[2].moment2), "qkv_w.v");
  EXPECT_THAT(parameters[2].shape(), ElementsAre(8u, 24u));
  EXPECT_ERROR(findParameters(*parsePlan(evalPlan())),
               ErrorCode::FailedPrecondition, "--mode=train");
}

TEST(Parameters, LayoutsAreInverse) {
  for (bool transpose : {false, true}) {
    Parameter p;
    p.rows = 33;
    p.cols = 70;
    p.transpose = transpose;
    p.planRows = (transpose ? p.cols : p.rows) + 3;
    p.planCols = (transpose ? p.rows : p.cols) + 2;
    std::vector<float> file(p.fileSize()), plan(p.planSize(), -1), back(file);
    std::iota(file.begin(), file.end(), 1.0f);
    toPlanLayout(p, file.data(), plan.data());
    // Row 4, column 5 of the file.
    uint64_t at = transpose ? 5 * p.planCols + 4 : 4 * p.planCols + 5;
    EXPECT_EQ(plan[at], file[4 * 70 + 5]);
    EXPECT_EQ(plan.back(), 0); // padding
    EXPECT_EQ(std::count(plan.begin(), plan.end(), 0.0f),
              std::ptrdiff_t(p.planSize() - p.fileSize()));
    toFileLayout(p, plan.data(), back.data());
    EXPECT_EQ(back, file);
  }
  Parameter vector;
  vector.rows = vector.planCols = 5;
  vector.planRows = 1;
  std::vector<float> file = {1, 2, 3, 4, 5}, plan(5), back(5);
  toPlanLayout(vector, file.data(), plan.data());
  toFileLayout(vector, plan.data(), back.data());
  EXPECT_EQ(plan, file);
  EXPECT_EQ(back, file);
}

double deviation(const std::vector<float> &values) {
  double sum = 0, squares = 0;
  for (float value : values)
    sum += value, squares += double(value) * value;
  double mean = sum / double(values.size());
  EXPECT_NEAR(mean, 0, 1e-3);
  return std::sqrt(squares / double(values.size()) - mean * mean);
}

TEST(InitialWeights, FollowGpt2) {
  auto make = [](const char *name, bool matrix, uint64_t seed = 1) {
    std::vector<float> values(40'001);
    initializeTensor(name, matrix, 0.02, 8, seed, values);
    return values;
  };
  auto wide = make("h.0.attn.c_attn.weight", true);
  EXPECT_NEAR(deviation(wide), 0.02, 3e-4);
  EXPECT_NEAR(deviation(make("h.0.mlp.c_proj.weight", true)), 0.02 / 4, 1e-4);
  // Normal, not uniform: about one in 370 lies beyond three deviations.
  auto far = std::count_if(wide.begin(), wide.end(),
                           [](float x) { return std::abs(x) > 0.06f; });
  EXPECT_NEAR(double(far), 108, 50);
  EXPECT_NE(wide, make("h.1.attn.c_attn.weight", true));
  EXPECT_NE(wide, make("h.0.attn.c_attn.weight", true, 2));
  EXPECT_EQ(wide, make("h.0.attn.c_attn.weight", true));
  EXPECT_THAT(make("h.0.ln_1.weight", false), testing::Each(1.0f));
  EXPECT_THAT(make("h.0.ln_1.bias", false), testing::Each(0.0f));
  EXPECT_THAT(make("h.0.mlp.c_proj.bias", false), testing::Each(0.0f));
}

TEST(InitialWeights, BindToThePlan) {
  Plan plan = smallTrainPlan();
  FakeTrainExecutor executor(plan);
  ASSERT_ASSIGN(InitialWeights weights, InitialWeights::make(plan, 5));
  ASSERT_OK(executor.bindWeights(weights.checkpoint()));
  EXPECT_NE(executor.floats("wte")[0], 0);
  EXPECT_EQ(executor.floats("wte")[100 * 8], 0); // padding of the vocabulary
}

/// A run directory, and a model with numbers in all its buffers.
class CheckpointsTest : public testing::Test {
protected:
  CheckpointsTest() : plan(smallTrainPlan()), executor(plan) {
    model.executor = &executor;
    model.parameters = *findParameters(plan);
    model.files = *readModelFiles(plan, "");
    int tensor = 0;
    for (const Parameter &p : model.parameters)
      for (uint32_t buffer : {p.value, p.moment1, p.moment2}) {
        std::vector<float> file(p.fileSize()), inPlan(p.planSize());
        std::iota(file.begin(), file.end(), 1000.0f * float(tensor++));
        toPlanLayout(p, file.data(), inPlan.data());
        EXPECT_TRUE(executor
                        .writeGlobal(buffer, 0, inPlan.data(),
                                     inPlan.size() * sizeof(float))
                        .ok());
      }
  }

  TrainerState stateAt(uint64_t step) {
    TrainerState state;
    state.step = state.applied = step;
    state.plan = PlanIdentity::of(plan);
    state.config = configText(RunConfig());
    return state;
  }
  Result<std::string> save(uint64_t step) {
    return saveCheckpoint(run.path(), model, stateAt(step));
  }

  TempDir run;
  Plan plan;
  FakeTrainExecutor executor;
  TrainedModel model;
};

TEST_F(CheckpointsTest, AreModelDirectories) {
  ASSERT_ASSIGN(std::string path, save(3));
  EXPECT_EQ(path, run.file("checkpoint-3"));
  EXPECT_THAT(run.list(), ElementsAre("checkpoint-3"));
  ASSERT_ASSIGN(Checkpoint weights, Checkpoint::open(path));
  ASSERT_ASSIGN(const TensorView *view,
                weights.get("transformer.h.0.attn.c_attn.weight"));
  EXPECT_THAT(view->shape, ElementsAre(8u, 24u));
  ASSERT_ASSIGN(SafetensorsFile file,
                SafetensorsFile::open(joinPath(path, "model.safetensors")));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  ASSERT_ASSIGN(Json config, readJsonFile(joinPath(path, "config.json")));
  EXPECT_EQ(config["dtype"], "float32");
  EXPECT_FALSE(config.contains("torch_dtype"));
  EXPECT_EQ(config["vocab_size"], 100);

  // Back into another device, bit for bit.
  FakeTrainExecutor other(plan);
  ASSERT_OK(other.bindWeights(weights));
  TrainedModel copy = model;
  copy.executor = &other;
  ASSERT_OK(restoreMoments(path, copy));
  EXPECT_EQ(other.trained(), executor.trained());
}

TEST_F(CheckpointsTest, CarryTheTokenizer) {
  ASSERT_ASSIGN(model.files, readModelFiles(plan, fixture("tokenizer/files")));
  ASSERT_ASSIGN(std::string path, save(1));
  EXPECT_TRUE(Tokenizer::load(path).ok());
}

TEST_F(CheckpointsTest, KeepTheNewest) {
  for (uint64_t step : {2, 10, 9, 100})
    ASSERT_OK(save(step));
  std::filesystem::create_directory(run.file(".checkpoint-5.tmp"));
  EXPECT_THAT(checkpointSteps(run.path()), ElementsAre(2u, 9u, 10u, 100u));
  ASSERT_OK(pruneCheckpoints(run.path(), 2));
  EXPECT_THAT(run.list(), ElementsAre("checkpoint-10", "checkpoint-100"));
  ASSERT_OK(pruneCheckpoints(run.path(), 0));
  EXPECT_THAT(checkpointSteps(run.path()), ElementsAre(10u, 100u));
  ASSERT_ASSIGN(FoundCheckpoint found, findCheckpoint(run.path()));
  EXPECT_EQ(found.state, stateAt(100));
}

TEST_F(CheckpointsTest, TheNewestCompleteOneIsFound) {
  ASSERT_OK(save(4));
  ASSERT_OK(save(8));
  std::string weights = run.file("checkpoint-8/model.safetensors");
  std::filesystem::resize_file(weights,
                               std::filesystem::file_size(weights) - 1);
  ASSERT_ASSIGN(FoundCheckpoint found, findCheckpoint(run.path()));
  EXPECT_EQ(found.state.step, 4u);
  ASSERT_EQ(found.refused.size(), 1u);
  EXPECT_THAT(found.refused[0], testing::HasSubstr("truncated"));

  std::filesystem::remove(run.file("checkpoint-4/optimizer.safetensors"));
  EXPECT_ERROR(findCheckpoint(run.path()), ErrorCode::DataLoss, "truncated");
  std::filesystem::remove_all(run.file("checkpoint-8"));
  EXPECT_ERROR(findCheckpoint(run.path()), ErrorCode::NotFound,
               "checkpoint-4' has no optimizer.safetensors");
  std::filesystem::remove_all(run.file("checkpoint-4"));
  EXPECT_ERROR(findCheckpoint(run.path()), ErrorCode::NotFound,
               "has no checkpoint to resume from");
}

TEST_F(CheckpointsTest, MomentsOfAnotherModelAreRefused) {
  ASSERT_ASSIGN(std::string path, save(1));
  TrainedModel other = model;
  other.parameters[2].rows = 4;
  other.parameters[2].planCols = 4;
  EXPECT_ERROR(restoreMoments(path, other), ErrorCode::FailedPrecondition,
               "of shape [8, 24], but the plan wants F32 of [4, 24]");
  other.parameters[2].name = "transformer.x";
  EXPECT_ERROR(restoreMoments(path, other), ErrorCode::NotFound,
               "has no tensor 'transformer.x.exp_avg'");
}

/// Lets no file of this process grow past a size, as a full disk would.
class FileLimit {
public:
  explicit FileLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old);
    rlimit limit = {bytes, old.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { ::setrlimit(RLIMIT_FSIZE, &old); }

private:
  rlimit old;
};

TEST_F(CheckpointsTest, AFullDiskLeavesTheLastOneAndNothingElse) {
  ASSERT_OK(save(1));
  // Weights fit, the moments, which are twice as large, do not.
  for (rlim_t bytes : {rlim_t(0), rlim_t(100), rlim_t(7000)}) {
    FileLimit limit(bytes);
    EXPECT_ERROR(save(2), ErrorCode::ResourceExhausted, "checkpoint-2");
    EXPECT_THAT(run.list(), ElementsAre("checkpoint-1"));
  }
  EXPECT_EQ(findCheckpoint(run.path())->state.step, 1u);
  ASSERT_OK(save(2));
}

} // namespace
