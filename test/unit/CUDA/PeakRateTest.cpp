//===- PeakRateTest.cpp - NVIDIA's figures from clocks and cores ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/CUDA/PeakRate.h"

#include <gtest/gtest.h>

using namespace gpt2rt;
using namespace gpt2rt::cuda;

namespace {

// As NVIDIA publishes them, dense, in TFLOP/s; 0: not published.
struct Board {
  GpuSpeed speed;
  double low, tf32, full;
};

constexpr Board boards[] = {
    {{"NVIDIA A100-SXM4-80GB", {8, 0}, 108, 1.410e9}, 312, 156, 19.5},
    {{"NVIDIA GeForce RTX 3060", {8, 6}, 28, 1.777e9}, 25.5, 12.7, 12.7},
    {{"NVIDIA GeForce RTX 3090", {8, 6}, 82, 1.695e9}, 71.2, 35.6, 35.6},
    {{"NVIDIA RTX A6000", {8, 6}, 84, 1.800e9}, 154.8, 77.4, 38.7},
    {{"NVIDIA GeForce RTX 4090", {8, 9}, 128, 2.520e9}, 165.2, 82.6, 82.6},
    {{"NVIDIA H200", {9, 0}, 132, 1.980e9}, 989.4, 494.7, 66.9},
    {{"NVIDIA H100 PCIe", {9, 0}, 114, 1.755e9}, 756, 378, 51.2},
    {{"NVIDIA GeForce RTX 5090", {12, 0}, 170, 2.407e9}, 209.5, 104.8, 104.8},
};

TEST(PeakRate, GivesPublishedFigures) {
  for (const Board &board : boards) {
    auto rate = [&](fb::Precision precision) {
      return peakFlops(board.speed, precision) / 1e12;
    };
    constexpr double within = 0.003; // digits that are published
    EXPECT_NEAR(rate(fb::Precision::BF16), board.low, within * board.low)
        << board.speed.name;
    EXPECT_EQ(rate(fb::Precision::FP16), rate(fb::Precision::BF16));
    EXPECT_NEAR(rate(fb::Precision::TF32), board.tf32, within * board.tf32)
        << board.speed.name;
    EXPECT_NEAR(rate(fb::Precision::FP32), board.full, within * board.full)
        << board.speed.name;
  }
}

TEST(PeakRate, SaysNothingOfGpusThatItDoesNotKnow) {
  EXPECT_EQ(peakFlops({"NVIDIA Orin", {8, 7}, 16, 1.3e9}, fb::Precision::FP16),
            0);
  EXPECT_EQ(peakFlops({"", {13, 0}, 100, 2e9}, fb::Precision::FP32), 0);
}

} // namespace
