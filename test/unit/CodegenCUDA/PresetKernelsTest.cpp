//===- PresetKernelsTest.cpp - Every kernel of every preset compiles ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// NVRTC needs no GPU, so whatever a preset's plan would hold is compiled here.
// A kernel that spills registers is slower than it looks, so a spill is an
// error unless `knownSpills` lists it.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Nvrtc.h"
#include "compiler/Pipelines/InitAll.h"
#include "compiler/Pipelines/Stages.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "models/Import.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::gpt2c;

namespace {

const char *const presets[] = {"tiny",        "distilgpt2", "gpt2",
                               "gpt2-medium", "gpt2-large", "gpt2-xl"};

/// Bytes of local memory a thread that are accepted of a kernel on some
/// architectures, also where a number behind its name tells it from a kernel
/// for another batch or type.
struct KnownSpill {
  llvm::StringRef kernel;
  std::vector<llvm::StringRef> archs;
  unsigned bytes;
};
const KnownSpill knownSpills[] = {
    // A few values more than the launch's bounds leave registers, saved once.
    {"embed_layer_norm_1280",
     {"sm_80", "sm_86", "sm_89", "sm_90", "sm_120"},
     8},
    {"embed_dropout_layer_norm_1280", {"sm_90"}, 16},
    {"embed_grad", {"sm_86", "sm_89"}, 8},
    {"select_row_add_layer_norm_cast_1600", {"sm_80"}, 8},
    {"layer_norm_cast_linear_3840", {"sm_120"}, 16},
    {"linear_add_1600", {"sm_100", "sm_120"}, 40},
    // A row of 50304 logits lies in the registers of one block; compilers for
    // sm_80 to sm_90 find room for the rest of what it needs.
    {"cross_entropy_grad", {"sm_100", "sm_120"}, 144}};

unsigned acceptedSpill(llvm::StringRef kernel, llvm::StringRef arch) {
  for (const KnownSpill &known : knownSpills) {
    llvm::StringRef rest = kernel;
    if (llvm::is_contained(known.archs, arch) &&
        rest.consume_front(known.kernel) &&
        (rest.empty() || rest.front() == '_'))
      return known.bytes;
  }
  return 0;
}

/// Registers and shared memory that every supported GPU gives a block.
constexpr unsigned registersOfBlock = 65536;
constexpr unsigned sharedOfBlock = 99 * 1024;

const std::vector<std::string> everyArch = {"sm_80", "sm_86",  "sm_89",
                                            "sm_90", "sm_100", "sm_120"};

class PresetKernels : public testing::Test {
protected:
  void SetUp() override {
    if (std::string missing = missingNvrtc(); !missing.empty())
      GTEST_SKIP() << missing;
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
  }

  OwningOpRef<ModuleOp> planOf(const char *preset, GraphMode mode,
                               const CompileOptions &options) {
    BuildOptions build;
    build.mode = mode;
    build.batch = batch;
    build.halveSeq = halveSeq;
    auto module = importModel(context, preset, build);
    if (!module.ok()) {
      ADD_FAILURE() << module.status().message();
      return {};
    }
    PassManager passes(&context);
    for (const Stage &stage : getStages())
      stage.addPasses(passes, options);
    if (failed(passes.run(**module))) {
      ADD_FAILURE() << preset << " does not lower to kernels";
      return {};
    }
    return *std::move(module);
  }

  void expectCompiles(const char *preset, GraphMode mode, Precision precision,
                      std::vector<std::string> archs) {
    CompileOptions options;
    options.target = plan::Target::CUDA;
    options.precision = precision;
    options.training = mode == GraphMode::Train;
    options.archs = std::move(archs);
    options.threads = 2;
    OwningOpRef<ModuleOp> module = planOf(preset, mode, options);
    if (!module)
      return;
    FailureOr<CompiledCode> code = generateCode(*module, options);
    ASSERT_TRUE(succeeded(code)) << preset;
    EXPECT_FALSE(code->kernels.empty());
    for (const CompiledKernel &kernel : code->kernels)
      for (const KernelImage &image : kernel.images)
        checkImage(kernel, image, preset, code->modules[image.module].arch);
  }

  void checkImage(const CompiledKernel &kernel, const KernelImage &image,
                  const char *preset, const std::string &arch) {
    std::string what =
        llvm::formatv("{0}: @{1} for {2}", preset, kernel.name, arch);
    EXPECT_LE(image.spillBytes, acceptedSpill(kernel.name, arch))
        << what << " spills";
    EXPECT_LE(image.registers * kernel.blockThreads, registersOfBlock) << what;
    EXPECT_LE(image.staticSharedBytes + kernel.dynamicSharedBytes,
              sharedOfBlock)
        << what;
  }

  MLIRContext context;
  int64_t batch = 8;
  bool halveSeq = false; ///< training programs for shorter sequences, too
};

// One test for all, so that kernels that presets share are compiled once.
TEST_F(PresetKernels, HalfPrecisionCompilesForEveryArchitecture) {
  for (const char *preset : presets)
    for (GraphMode mode : {GraphMode::Generate, GraphMode::Eval})
      expectCompiles(preset, mode, Precision::FP16, everyArch);
}

// A batch of one has matvec kernels of its own where matrices are large.
TEST_F(PresetKernels, SingleRowsCompileForEveryArchitecture) {
  batch = 1;
  for (Precision precision :
       {Precision::FP32, Precision::TF32, Precision::FP16, Precision::BF16})
    expectCompiles("gpt2-xl", GraphMode::Generate, precision, everyArch);
}

TEST_F(PresetKernels, OtherPrecisionsCompileForEveryArchitecture) {
  for (Precision precision :
       {Precision::FP32, Precision::TF32, Precision::BF16})
    for (const char *preset : presets)
      for (GraphMode mode : {GraphMode::Generate, GraphMode::Eval})
        expectCompiles(preset, mode, precision, everyArch);
}

// Dropout is what the presets train with.
TEST_F(PresetKernels, TrainingCompiles) {
  for (const char *preset : presets) {
    expectCompiles(preset, GraphMode::Train, Precision::BF16, everyArch);
    expectCompiles(preset, GraphMode::Train, Precision::FP32, {"sm_90"});
    expectCompiles(preset, GraphMode::Train, Precision::TF32,
                   {"sm_80", "sm_90"});
  }
  expectCompiles("gpt2", GraphMode::Train, Precision::FP16, {"sm_80"});
}

TEST_F(PresetKernels, TrainingOfShorterSequencesCompiles) {
  halveSeq = true;
  for (Precision precision : {Precision::BF16, Precision::FP32})
    expectCompiles("gpt2", GraphMode::Train, precision, {"sm_90"});
}

} // namespace
