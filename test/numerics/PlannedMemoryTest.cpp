//===- PlannedMemoryTest.cpp - Planned against allocated, on the CPU ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every preset and precision in the modes that hold most: what the plan
// predicts is what the target maps, and what the system says the process has
// got. Memory is mapped and not touched, so a test is as cheap as its
// compilation; what this machine could not hold is skipped.
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Executor.h"
#include "runtime/Support/StrCat.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace gpt2rt;

namespace {

// What else creating an executor may map: kernels, the heap's steps and
// oneDNN's code for each shape.
constexpr uint64_t slackBytes = uint64_t(96) << 20;

struct Case {
  std::string preset, precision, mode;

  std::string name() const {
    std::string text = strCat(preset, "_", precision, "_", mode);
    std::replace(text.begin(), text.end(), '-', '_');
    return text;
  }
};

std::vector<Case> allCases() {
  std::vector<Case> cases;
  for (const char *preset :
       {"tiny", "distilgpt2", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"})
    for (const char *precision : {"fp32", "bf16"})
      for (const char *mode : {"generate", "train"})
        cases.push_back({preset, precision, mode});
  return cases;
}

/// Bytes of the process's address space.
uint64_t mappedBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  file >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

class PlannedMemoryTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "gpt2-memory-XXXXXX")
            .string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// The plan that this build's gpt2c makes.
  Result<Plan> compile() const {
    const Case &c = GetParam();
    std::string shape =
        c.mode == "train" && c.preset != "tiny" ? " --seq=256" : "";
    std::string path = folder + "/it.plan";
    std::string command = strCat(
        GPT2_BINARY_DIR "/bin/gpt2c ", c.preset, " --mode=", c.mode,
        " --target=cpu --arch=x86-64-v3 --threads=1 --precision=", c.precision,
        shape, " -o ", path, " >", folder, "/log 2>&1");
    if (std::system(command.c_str()) != 0)
      return internalError(command);
    return Plan::load(path);
  }

  std::string folder;
};

TEST_P(PlannedMemoryTest, IsWhatTheTargetAllocates) {
  auto plan = compile();
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ExecutorOptions options;
  options.threads = 1;
  uint64_t before = mappedBytes();
  auto executor = createCpuExecutor(*plan, options);
  if (executor.status().code() == ErrorCode::FailedPrecondition ||
      executor.status().code() == ErrorCode::ResourceExhausted)
    GTEST_SKIP() << executor.status().message();
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  uint64_t mapped = mappedBytes() - before;

  uint64_t predicted = 0, allocated = 0;
  for (const ArenaUse &use : (*executor)->memory().arenas) {
    EXPECT_EQ(use.predicted, use.allocated) << use.name;
    predicted += use.predicted;
    allocated += use.allocated;
  }
  EXPECT_EQ(predicted, plan->totalBytes());
  EXPECT_EQ(predicted, allocated);
  EXPECT_GE(mapped, predicted);
  EXPECT_LE(mapped, predicted + slackBytes);
}

INSTANTIATE_TEST_SUITE_P(Presets, PlannedMemoryTest,
                         testing::ValuesIn(allCases()),
                         [](const auto &it) { return it.param.name(); });

} // namespace
