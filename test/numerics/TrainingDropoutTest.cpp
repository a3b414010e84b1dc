//===- TrainingDropoutTest.cpp - Gradients with dropout -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// PyTorch draws other masks, so gradients with dropout are held to finite
// differences of the plan's own loss: the masks depend on seed, step and place
// only, so the loss is a function of the parameters.
//
//===----------------------------------------------------------------------===//
#include "TrainingRun.h"

#include <cmath>

using namespace gpt2rt;
using namespace gpt2test;

namespace {

class TrainingDropout : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(, TrainingDropout, testing::Values("tied", "untied"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

/// Mean loss of step 0's batches.
double lossOf(TrainingRun &run, const TrainingReference &reference) {
  run.beginStep(0);
  run.accumulate(0);
  return run.lossSum() / double(reference.scored(0));
}

/// The slope of the loss where a parameter moves along `direction`, of length
/// 1, from `step` on either side.
double slopeAlong(TrainingRun &run, const TrainingReference &reference,
                  const Parameter &parameter,
                  const std::vector<float> &direction, float step) {
  std::vector<float> values = run.read(parameter), moved = values;
  double losses[2];
  for (int side = 0; side < 2; ++side) {
    for (size_t i = 0; i < values.size(); ++i)
      moved[i] = values[i] + (side ? step : -step) * direction[i];
    run.write(parameter, moved);
    losses[side] = lossOf(run, reference);
  }
  run.write(parameter, values);
  return (losses[1] - losses[0]) / (2 * step);
}

TEST_P(TrainingDropout, GradientsAreThoseOfTheLoss) {
  auto reference = TrainingReference::load(
      std::string(GPT2_SOURCE_DIR "/test/numerics/training/") + GetParam());
  ASSERT_TRUE(reference.ok()) << reference.status().message();
  TrainingRun run(*reference, compileTraining(*reference, "--dropout=0.2"));
  ASSERT_TRUE(run.ok());
  double loss = lossOf(run, *reference);
  EXPECT_GT(std::abs(loss - reference->losses[0]), 1e-3) << "nothing dropped";
  std::vector<std::vector<float>> gradients;
  for (const Parameter &p : run.parameters())
    gradients.push_back(run.read(p, ".grad"));
  EXPECT_EQ(lossOf(run, *reference), loss) << "other masks the second time";

  for (size_t i = 0; i < gradients.size(); ++i) {
    double size = 0;
    for (float g : gradients[i])
      size += double(g) * g;
    size = std::sqrt(size);
    for (float &g : gradients[i])
      g = static_cast<float>(g / size);
    const Parameter &p = run.parameters()[i];
    // Two steps, so that the third derivative cancels.
    double far = slopeAlong(run, *reference, p, gradients[i], 0.01f);
    double near = slopeAlong(run, *reference, p, gradients[i], 0.005f);
    EXPECT_NEAR((4 * near - far) / 3, size, 5e-3 * size) << p.name;
  }
}

} // namespace
