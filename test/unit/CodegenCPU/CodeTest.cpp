// The shared object: what it exports, what it needs, and that it is the same
// each time.
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/CodegenCPU/KernelHarness.h"

#include "llvm/Object/ELFObjectFile.h"

#include <gmock/gmock.h>

using namespace gpt2test;
using testing::UnorderedElementsAre;

namespace {

std::string activationKernel(const std::string &name, const std::string &op,
                             int64_t columns) {
  std::string t = "tensor<?x" + std::to_string(columns) + "xf32>";
  return R"(
plan.kernel @)" +
         name + R"( "row" body {
^bb0(%rows: index, %x: )" +
         t + R"():
  %e = tensor.empty(%rows) : )" +
         t + R"(
  %y = linalg.generic {indexing_maps = [
         affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
       iterator_types = ["parallel", "parallel"]}
      ins(%x : )" +
         t + ") outs(%e : " + t + R"() {
  ^bb0(%a: f32, %o: f32):
    %r = )" +
         op + R"( %a : f32
    linalg.yield %r : f32
  } -> )" +
         t + R"(
  plan.yield %y : )" +
         t + R"(
})";
}

/// One kernel for every function that a C compiler would call libm for, and
/// one that copies, at a width that leaves a scalar rest.
std::string allFunctions() {
  std::string text;
  for (std::string name : {"exp", "log", "tanh", "erf", "rsqrt", "absf"})
    text += activationKernel(name, "math." + name, 1003);
  return text + activationKernel("copy", "arith.negf", 1003);
}

std::vector<std::string> symbolsOf(const std::string &bytes, bool undefined) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(bytes, "kernels"));
  std::vector<std::string> names;
  if (!file) {
    ADD_FAILURE() << llvm::toString(file.takeError());
    return names;
  }
  auto &elf = llvm::cast<llvm::object::ELFObjectFileBase>(**file);
  for (llvm::object::ELFSymbolRef symbol : elf.getDynamicSymbolIterators()) {
    bool isUndefined = llvm::cantFail(symbol.getFlags()) &
                       llvm::object::BasicSymbolRef::SF_Undefined;
    if (isUndefined == undefined)
      names.push_back(llvm::cantFail(symbol.getName()).str());
  }
  return names;
}

TEST(Code, ExportsTheKernelsAndNeedsNothing) {
  KernelContext context;
  auto code = context.compile(allFunctions());
  ASSERT_TRUE(code) << context.diagnostics();
  ASSERT_EQ(code->modules.size(), 2u);
  for (const auto &module : code->modules) {
    EXPECT_THAT(symbolsOf(module.bytes, /*undefined=*/false),
                UnorderedElementsAre("exp", "log", "tanh", "erf", "rsqrt",
                                     "absf", "copy"));
    EXPECT_TRUE(symbolsOf(module.bytes, /*undefined=*/true).empty())
        << module.arch;
  }
}

TEST(Code, ListsKernelsInOrderWithAnImageAnArch) {
  KernelContext context;
  auto code = context.compile(activationKernel("b", "math.exp", 3072) +
                              activationKernel("a", "math.exp", 50304));
  ASSERT_TRUE(code) << context.diagnostics();
  EXPECT_EQ(code->modules[0].arch, "x86-64-v3");
  EXPECT_EQ(code->modules[1].arch, "x86-64-v4");
  ASSERT_EQ(code->kernels.size(), 2u);
  EXPECT_EQ(code->kernels[0].name, "b");
  EXPECT_EQ(code->kernels[0].rowsGrain, 5u); // 16384 / 3072
  EXPECT_EQ(code->kernels[1].rowsGrain, 1u);
  ASSERT_EQ(code->kernels[0].images.size(), 2u);
  EXPECT_EQ(code->kernels[0].images[1].module, 1u);
}

TEST(Code, IsTheSameEachTime) {
  KernelContext first, second;
  auto a = first.compile(allFunctions());
  auto b = second.compile(allFunctions());
  ASSERT_TRUE(a && b);
  for (unsigned i = 0; i < 2; ++i)
    EXPECT_EQ(a->modules[i].bytes, b->modules[i].bytes);
}

TEST(Code, WithoutKernelsIsStillALibrary) {
  KernelContext context;
  auto code = context.compile("");
  ASSERT_TRUE(code) << context.diagnostics();
  LoadedKernels kernels(code->modules[0].bytes);
  EXPECT_TRUE(code->kernels.empty());
}

} // namespace
