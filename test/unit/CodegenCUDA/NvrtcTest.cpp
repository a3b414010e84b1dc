//===- NvrtcTest.cpp - Cubins, PTX and messages of the driver -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Nvrtc.h"
#include "compiler/Codegen/CUDA/CUDACodegen.h"
#include "compiler/Codegen/CUDA/CudaText.h"
#include "dialects/Plan/PlanOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::gpt2c;
using testing::HasSubstr;

namespace {

class NvrtcTest : public testing::Test {
protected:
  void SetUp() override {
    if (std::string missing = missingNvrtc(); !missing.empty())
      GTEST_SKIP() << missing;
    DialectRegistry registry;
    registry
        .insert<plan::PlanDialect, linalg::LinalgDialect, arith::ArithDialect,
                math::MathDialect, tensor::TensorDialect>();
    context.appendDialectRegistry(registry);
  }
  FailureOr<CompiledCode> compile(const std::string &file,
                                  ArrayRef<std::string> archs) {
    module = parseSourceFile<ModuleOp>(
        GPT2_SOURCE_DIR "/test/Codegen/CUDA/" + file, &context);
    CudaCodegenOptions options;
    options.archs.assign(archs.begin(), archs.end());
    return compileForCuda(*module, options);
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(NvrtcTest, EveryArchitectureGetsACubinAndTheLowestPtx) {
  auto code = compile("embed.mlir", {"sm_90", "sm_80"});
  ASSERT_TRUE(succeeded(code));
  ASSERT_EQ(code->kernels.size(), 2u);
  for (const CompiledKernel &kernel : code->kernels) {
    std::string seen;
    for (const KernelImage &image : kernel.images) {
      const CodeModule &module = code->modules[image.module];
      bool isPtx = module.format == CodeFormat::Ptx;
      seen += module.arch + (isPtx ? ".ptx " : ".cubin ");
      EXPECT_THAT(module.bytes, HasSubstr(kernel.name));
      EXPECT_EQ(module.bytes.substr(0, 4) == "\x7f"
                                             "ELF",
                !isPtx);
      EXPECT_EQ(image.registers > 0, !isPtx);
    }
    EXPECT_EQ(seen, "sm_90.cubin sm_80.cubin sm_80.ptx ");
    EXPECT_EQ(kernel.blockThreads, 256u);
  }
}

TEST_F(NvrtcTest, WaitsForThePredecessorFromSm90On) {
  auto ptxOf = [&](const char *arch) {
    auto code = compile("embed.mlir", {arch});
    EXPECT_TRUE(succeeded(code));
    for (const CodeModule &module : code->modules)
      if (module.format == CodeFormat::Ptx)
        return module.bytes;
    return std::string();
  };
  EXPECT_THAT(ptxOf("sm_90"), HasSubstr("griddepcontrol.wait"));
  EXPECT_THAT(ptxOf("sm_80"), testing::Not(HasSubstr("griddepcontrol")));
}

TEST_F(NvrtcTest, NothingContractsThatIsNotWrittenFused) {
  auto code = compile("layer_norm.mlir", {"sm_80"});
  ASSERT_TRUE(succeeded(code));
  for (const CodeModule &module : code->modules)
    if (module.format == CodeFormat::Ptx &&
        module.bytes.find(".entry wide") != std::string::npos) {
      // Divisions and square roots are correctly rounded ones.
      EXPECT_THAT(module.bytes, HasSubstr("div.rn.f32"));
      EXPECT_THAT(module.bytes, HasSubstr("sqrt.rn.f32"));
      EXPECT_THAT(module.bytes, testing::Not(HasSubstr("fma.rn.f32")));
    }
}

TEST_F(NvrtcTest, MatvecLoadsWeightsInWholeVectors) {
  auto code = compile("matvec.mlir", {"sm_90"});
  ASSERT_TRUE(succeeded(code));
  for (const CodeModule &module : code->modules)
    if (module.format == CodeFormat::Ptx &&
        module.bytes.find(".entry residual") != std::string::npos) {
      size_t wait = module.bytes.find("griddepcontrol.wait");
      size_t load = module.bytes.find("ld.global.cs.v4.u32");
      ASSERT_NE(load, std::string::npos);
      EXPECT_LT(load, wait) << "weights are fetched before the wait";
    }
}

TEST_F(NvrtcTest, EqualSourcesGiveEqualBytes) {
  // The cache is asked twice for what differs in the name of a variable only.
  std::string a = preambleSource().str() +
                  "extern \"C\" __global__ void k(float *a) { a[0] = 1; }";
  std::string b = preambleSource().str() +
                  "extern \"C\" __global__ void k(float *b) { b[0] = 1; }";
  const CudaBinary &first = compileCudaSource("k", a, "sm_90");
  const CudaBinary &second = compileCudaSource("k", b, "sm_90");
  ASSERT_EQ(first.error, "");
  ASSERT_NE(&first, &second);
  EXPECT_EQ(first.cubin, second.cubin);
  EXPECT_EQ(&first, &compileCudaSource("k", a, "sm_90"));
}

TEST_F(NvrtcTest, ReportsLocalMemoryAndMessages) {
  const CudaBinary &indexed = compileCudaSource(
      "k",
      "extern \"C\" __global__ void k(float *a, int n) { float b[64]; "
      "for (int i = 0; i < 64; ++i) b[i] = a[i * n]; "
      "for (int i = 0; i < n; ++i) a[i] = b[i % 61]; }",
      "sm_90");
  ASSERT_EQ(indexed.error, "");
  EXPECT_EQ(indexed.localBytes, 256u);
  const CudaBinary &wrong =
      compileCudaSource("k", "__global__ void k() { nonsense; }", "sm_90");
  EXPECT_THAT(wrong.error, HasSubstr("NVRTC for sm_90"));
  EXPECT_THAT(wrong.error, HasSubstr("nonsense"));
  const CudaBinary &unknown =
      compileCudaSource("k", "__global__ void k() {}", "sm_7");
  EXPECT_NE(unknown.error, "");
}

} // namespace
