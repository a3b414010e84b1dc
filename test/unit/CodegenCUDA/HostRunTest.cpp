//===- HostRunTest.cpp - Emitted CUDA kernels run on the host -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "HostKernels.h"

#include <gtest/gtest.h>

using namespace gpt2test;

namespace {

class HostRun : public testing::TestWithParam<RowKernelCheck> {};

TEST_P(HostRun, MatchesDouble) {
  HostKernels &kernels = HostKernels::of(GetParam().file);
  ASSERT_EQ(kernels.error(), "");
  EXPECT_EQ(GetParam().run(kernels), "");
}

INSTANTIATE_TEST_SUITE_P(Kernels, HostRun,
                         testing::ValuesIn(allRowKernelChecks()),
                         [](const auto &info) { return info.param.name; });

} // namespace
