//===- ArchTest.cpp - Which machine code a GPU can run --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Arch.h"

#include <gtest/gtest.h>

using namespace gpt2rt;
using namespace gpt2rt::cuda;

namespace {

std::string chosen(std::vector<CodeOption> options, Arch device) {
  std::optional<size_t> index = chooseCode(options, device);
  if (!index)
    return "none";
  return std::string(options[*index].ptx ? "ptx " : "") +
         std::string(options[*index].arch);
}

constexpr Arch sm80 = {8, 0}, sm86 = {8, 6}, sm89 = {8, 9}, sm90 = {9, 0},
               sm100 = {10, 0}, sm120 = {12, 0};

TEST(Arch, ReadsNames) {
  EXPECT_EQ(parseArch("sm_86"), (Arch{8, 6, false}));
  EXPECT_EQ(parseArch("sm_90a"), (Arch{9, 0, true}));
  EXPECT_EQ(parseArch("compute_120f"), (Arch{12, 0, true}));
  for (const char *bad : {"", "sm_", "sm_9", "sm_90x", "90", "sm_90aa",
                          "sm_-90", "x86-64-v3", "sm_99999999999"})
    EXPECT_EQ(parseArch(bad), std::nullopt) << bad;
  EXPECT_EQ((Arch{9, 0, true}).text(), "sm_90a");
}

TEST(Arch, PrefersExactCubins) {
  std::vector<CodeOption> options = {
      {"sm_80"}, {"sm_80", true}, {"sm_86"}, {"sm_90"}, {"sm_90a"}};
  EXPECT_EQ(chosen(options, sm80), "sm_80");
  EXPECT_EQ(chosen(options, sm86), "sm_86");
  EXPECT_EQ(chosen(options, sm90), "sm_90a");
}

TEST(Arch, TakesCubinsOfALowerMinorVersion) {
  std::vector<CodeOption> options = {{"sm_80", true}, {"sm_80"}, {"sm_86"}};
  EXPECT_EQ(chosen(options, sm89), "sm_86");
  EXPECT_EQ(chosen({{"sm_86"}}, sm80), "none") << "a higher minor version";
}

TEST(Arch, FallsBackToPtx) {
  std::vector<CodeOption> options = {
      {"sm_80"}, {"sm_80", true}, {"sm_90", true}, {"sm_90a"}};
  EXPECT_EQ(chosen(options, sm120), "ptx sm_90");
  EXPECT_EQ(chosen(options, sm100), "ptx sm_90");
  EXPECT_EQ(chosen({{"sm_90", true}}, sm89), "none") << "newer than the GPU";
}

TEST(Arch, ArchitectureSpecificCodeRunsNowhereElse) {
  EXPECT_EQ(chosen({{"sm_90a"}, {"sm_90a", true}}, sm100), "none");
  EXPECT_EQ(chosen({{"sm_90a", true}}, sm90), "ptx sm_90a");
}

TEST(Arch, UnknownNamesAreNoCode) {
  EXPECT_EQ(chosen({{"gfx90a"}, {"x86-64-v4"}}, sm90), "none");
  EXPECT_EQ(chosen({}, sm90), "none");
}

} // namespace
