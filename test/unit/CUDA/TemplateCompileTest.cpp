//===- TemplateCompileTest.cpp - Every template for every GPU -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// NVRTC needs no GPU, so a template that does not compile, spills or needs
// more shared memory than an architecture has fails here.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/KernelTemplate.h"
#include "compiler/Codegen/CUDA/Nvrtc.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/Twine.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace mlir;
using namespace mlir::gpt2c;
using testing::HasSubstr;

namespace {

/// Shared memory that one block can have.
unsigned sharedLimit(StringRef arch) {
  bool small = arch == "sm_86" || arch == "sm_89" || arch == "sm_120";
  return small ? 99 << 10 : arch == "sm_80" ? 163 << 10 : 227 << 10;
}

class TemplateCompile : public testing::TestWithParam<const char *> {
protected:
  DictionaryAttr attention(Type dtype, int64_t headSize, bool scale,
                           std::optional<bool> cached) {
    SmallVector<NamedAttribute> entries = {
        builder.getNamedAttr("dtype", TypeAttr::get(dtype)),
        number("heads", 12), number("head_size", headSize),
        number("positions", 1024)};
    if (scale)
      entries.push_back(builder.getNamedAttr(
          "scale", builder.getF32FloatAttr(1.0f / std::sqrt(headSize))));
    if (cached)
      entries.push_back(
          builder.getNamedAttr("cached", builder.getBoolAttr(*cached)));
    return builder.getDictionaryAttr(entries);
  }
  NamedAttribute number(StringRef key, int64_t value) {
    return builder.getNamedAttr(key, builder.getI64IntegerAttr(value));
  }

  void compile(StringRef kind, DictionaryAttr config) {
    const KernelTemplate *kernel = findKernelTemplate(kind);
    ASSERT_NE(kernel, nullptr) << kind.str();
    auto complain = [&](const Twine &message) {
      ADD_FAILURE() << kind.str() << ": " << message.str();
    };
    FailureOr<KernelGeometry> geometry =
        kernel->geometry(config, 1024, complain);
    FailureOr<std::string> source =
        instantiateTemplate(*kernel, "kernel", config, complain);
    ASSERT_TRUE(succeeded(geometry) && succeeded(source));
    const CudaBinary &binary = compileCudaSource("kernel", *source, GetParam());
    ASSERT_EQ(binary.error, "") << kind.str();
    EXPECT_EQ(binary.localBytes, 0u) << kind.str() << " spills";
    EXPECT_LE(binary.registers * geometry->blockThreads, 65536u);
    EXPECT_LE(binary.staticSharedBytes + geometry->dynamicSharedBytes,
              sharedLimit(GetParam()))
        << kind.str();
  }

  void compileAttention(Type dtype, int64_t headSize) {
    compile("decode_attention", attention(dtype, headSize, true, std::nullopt));
    compile("cache_append", attention(dtype, headSize, false, std::nullopt));
    compileFlash(dtype, headSize);
  }
  void compileFlash(Type dtype, int64_t headSize) {
    for (bool cached : {false, true})
      compile("flash_attention", attention(dtype, headSize, true, cached));
  }
  /// The kernels of training, with dropout, which takes the most registers.
  void compileTraining(Type dtype, int64_t headSize) {
    SmallVector<NamedAttribute> entries(
        attention(dtype, headSize, true, std::nullopt).getValue());
    entries.push_back(number("dropout_threshold", 1 << 30));
    entries.push_back(builder.getNamedAttr(
        "dropout_scale", builder.getF32FloatAttr(4.0f / 3.0f)));
    for (StringRef kind :
         {"flash_forward", "flash_backward_query", "flash_backward_key"})
      compile(kind, builder.getDictionaryAttr(entries));
  }

  void SetUp() override {
    if (std::string missing = missingNvrtc(); !missing.empty())
      GTEST_SKIP() << missing;
  }

  MLIRContext context;
  Builder builder{&context};
};

TEST_P(TemplateCompile, AttentionOfGpt2) {
  for (Type dtype : {Type(builder.getF16Type()), Type(builder.getBF16Type()),
                     Type(builder.getF32Type())})
    compileAttention(dtype, 64);
  compileFlash(builder.getTF32Type(), 64);
}

TEST_P(TemplateCompile, TrainingOfGpt2) {
  for (Type dtype : {Type(builder.getBF16Type()), Type(builder.getTF32Type())})
    compileTraining(dtype, 64);
}

// Takes long, so on the oldest, the main and the newest architecture only.
class OtherHeadSizes : public TemplateCompile {};

TEST_P(OtherHeadSizes, Attention) {
  for (int64_t headSize : {32, 80, 96, 128})
    for (Type dtype : {Type(builder.getF16Type()), Type(builder.getF32Type())})
      compileAttention(dtype, headSize);
  for (int64_t headSize : {20, 25, 34, 127})
    compileAttention(builder.getF16Type(), headSize);
}

TEST_P(OtherHeadSizes, AttentionInTf32) {
  for (int64_t headSize : {16, 25, 32, 80, 96, 112, 128}) {
    compileFlash(builder.getTF32Type(), headSize);
    compileTraining(builder.getTF32Type(), headSize);
  }
}

TEST_P(TemplateCompile, Sample) {
  for (bool prefill : {false, true})
    compile("sample",
            builder.getDictionaryAttr(
                {number("vocab", 50257), number("padded_vocab", 50304),
                 number("positions_limit", 1024), number("prefill", prefill)}));
}

std::string archName(const testing::TestParamInfo<const char *> &info) {
  return info.param;
}
INSTANTIATE_TEST_SUITE_P(Archs, TemplateCompile,
                         testing::Values("sm_80", "sm_86", "sm_89", "sm_90a",
                                         "sm_100", "sm_120"),
                         archName);
INSTANTIATE_TEST_SUITE_P(Archs, OtherHeadSizes,
                         testing::Values("sm_80", "sm_90a", "sm_120"),
                         archName);

TEST(TemplateConfig, SaysWhatIsWrong) {
  MLIRContext context;
  Builder builder(&context);
  auto errorOf = [&](int64_t headSize, Type dtype, int64_t rows) {
    std::string text;
    DictionaryAttr config = builder.getDictionaryAttr(
        {builder.getNamedAttr("dtype", TypeAttr::get(dtype)),
         builder.getNamedAttr("heads", builder.getI64IntegerAttr(12)),
         builder.getNamedAttr("head_size", builder.getI64IntegerAttr(headSize)),
         builder.getNamedAttr("positions", builder.getI64IntegerAttr(1024)),
         builder.getNamedAttr("cached", builder.getI64IntegerAttr(0))});
    EXPECT_TRUE(failed(findKernelTemplate("flash_attention")
                           ->geometry(config, rows, [&](const Twine &message) {
                             text = message.str();
                           })));
    return text;
  };
  EXPECT_THAT(errorOf(129, builder.getF16Type(), 1024),
              HasSubstr("head_size must be in 1..128"));
  EXPECT_THAT(errorOf(64, builder.getF64Type(), 1024),
              HasSubstr("dtype must be f32, tf32, f16 or bf16"));
  EXPECT_THAT(errorOf(64, builder.getF16Type(), 1000),
              HasSubstr("multiple of positions"));
}

} // namespace
