//===- OneDnnTest.cpp - oneDNN matmuls in planned scratch -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CPU/OneDnn.h"
#include "runtime/Plan/CpuWorkspace.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace gpt2rt::cpu {
namespace {

MatmulShape weightNk(int64_t m, int64_t n, int64_t k) {
  return {m, n, k, k, 1, 1, k, n, DType::F32, DType::F32, true};
}

TEST(OneDnn, MultipliesWeightsStoredByOutputRow) {
  const int64_t m = 9, n = 5, k = 7;
  std::vector<float> a(m * k), w(n * k), bias(n), d(m * n, NAN);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = std::sin(static_cast<float>(i));
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = std::cos(static_cast<float>(i));
  for (size_t i = 0; i < bias.size(); ++i)
    bias[i] = static_cast<float>(i);
  uint64_t bytes = matmulWorkspaceBytes(m, k, true, false);
  auto matmul = OneDnnMatmul::create(weightNk(m, n, k), 2, bytes);
  ASSERT_TRUE(matmul.ok()) << matmul.status().message();
  std::vector<std::byte> workspace(bytes);
  (*matmul)->execute(a.data(), w.data(), bias.data(), d.data(),
                     workspace.data());
  for (int64_t r = 0; r < m; ++r)
    for (int64_t c = 0; c < n; ++c) {
      double want = bias[c];
      for (int64_t i = 0; i < k; ++i)
        want += double(a[r * k + i]) * w[c * k + i];
      EXPECT_NEAR(d[r * n + c], want, 1e-5);
    }
}

// The compiler reserves matmulWorkspaceBytes() without asking the library.
TEST(OneDnn, PlannedScratchIsEnoughForThePresets) {
  for (int64_t k : {64, 768, 1600, 3072, 6400})
    for (int64_t m : {32, 256, 1024}) {
      uint64_t bytes = matmulWorkspaceBytes(m, k, true, false);
      auto matmul = OneDnnMatmul::create(weightNk(m, 2304, k), 2, bytes);
      ASSERT_TRUE(matmul.ok()) << matmul.status().message();
      EXPECT_LE((*matmul)->workspaceBytes(), bytes / 8)
          << "two of " << plannedThreads << " threads, k " << k << " m " << m;
    }
}

// dW[n, k] += dY^T X: sums over the rows of a micro-batch.
TEST(OneDnn, PlannedScratchIsEnoughForGradientsOfWeights) {
  for (DType type : {DType::F32, DType::BF16})
    for (int64_t rows : {16, 256, 512, 1024, 8192})
      for (auto [n, k] : {std::pair(2304, 768), {50304, 768}, {6400, 1600}}) {
        uint64_t bytes = matmulWorkspaceBytes(n, rows, false, true);
        MatmulShape shape = {n, k, rows, 1,          n,     k,
                             1, k, type, DType::F32, false, true};
        auto matmul = OneDnnMatmul::create(shape, 2, bytes);
        ASSERT_TRUE(matmul.ok()) << matmul.status().message();
        EXPECT_LE((*matmul)->workspaceBytes(), bytes / 4)
            << "two of " << plannedThreads << " threads, " << rows << " rows";
      }
}

TEST(OneDnn, UsesFewerThreadsRatherThanMoreScratch) {
  auto two = OneDnnMatmul::create(weightNk(256, 2304, 768), 2, 1 << 20);
  ASSERT_TRUE(two.ok());
  uint64_t less = (*two)->workspaceBytes() - 1;
  auto one = OneDnnMatmul::create(weightNk(256, 2304, 768), 2, less);
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_LE((*one)->workspaceBytes(), less);
}

TEST(OneDnn, SaysWhatIsMissingWhenNothingFits) {
  auto none = OneDnnMatmul::create(weightNk(256, 2304, 768), 2, 16);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.status().message().find("the plan reserves 16"),
            std::string::npos)
      << none.status().message();
}

} // namespace
} // namespace gpt2rt::cpu
