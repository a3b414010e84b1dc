// Compiles plan.kernel text and calls the result in this process.
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/CodegenCPU/KernelHarness.h"

#include "dialects/GPT2/Decompose.h"
#include "dialects/Plan/PlanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;

namespace gpt2test {

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registry.insert<func::FuncDialect, gpt2::GPT2Dialect, plan::PlanDialect>();
  gpt2c::registerCpuCodegen(registry);
  return registry;
}

KernelContext::KernelContext()
    : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
  context.loadAllAvailableDialects();
}

/// Replaces a function by a kernel of the row op in it.
static void outline(func::FuncOp function) {
  for (Operation &op : function.getOps()) {
    if (!gpt2::isRowKernel(&op))
      continue;
    OpBuilder builder(function);
    auto kernel = plan::KernelOp::create(
        builder, function.getLoc(), function.getSymName(),
        plan::KernelOp::rowKind, builder.getDictionaryAttr({}));
    OpBuilder inner(function.getContext());
    gpt2::RowBlock block = gpt2::outlineRowKernel(&op, inner, kernel.getBody());
    if (block.rowBlocks != 0)
      kernel.setConfigAttr(builder.getDictionaryAttr(
          {builder.getNamedAttr(
               "rows", builder.getI64IntegerAttr(gpt2::getRowCount(&op))),
           builder.getNamedAttr("row_blocks",
                                builder.getI64IntegerAttr(block.rowBlocks))}));
    inner.setInsertionPointToEnd(&kernel.getBody().front());
    plan::YieldOp::create(inner, function.getLoc(), block.yields);
    break;
  }
  function.erase();
}

OwningOpRef<ModuleOp> KernelContext::parse(const std::string &text) {
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (module)
    for (auto function :
         llvm::make_early_inc_range(module->getOps<func::FuncOp>()))
      outline(function);
  return module;
}

std::optional<gpt2c::CompiledCode>
KernelContext::compile(const std::string &text,
                       const gpt2c::CpuCodegenOptions &options) {
  messages.clear();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    return success();
  });
  OwningOpRef<ModuleOp> module = parse(text);
  if (!module)
    return std::nullopt;
  FailureOr<gpt2c::CompiledCode> code = gpt2c::compileForCpu(*module, options);
  if (failed(code))
    return std::nullopt;
  return std::move(*code);
}

LoadedKernels::LoadedKernels(const std::string &bytes) {
  int file = memfd_create("kernels", MFD_CLOEXEC);
  EXPECT_EQ(write(file, bytes.data(), bytes.size()), ssize_t(bytes.size()));
  std::string path = "/proc/self/fd/" + std::to_string(file);
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  close(file);
}

LoadedKernels::~LoadedKernels() {
  if (handle)
    dlclose(handle);
}

void LoadedKernels::call(const std::string &name,
                         const std::vector<void *> &buffers, int64_t rowBegin,
                         int64_t rowEnd) const {
  using Kernel = void (*)(void *const *, int64_t, int64_t);
  auto kernel = reinterpret_cast<Kernel>(dlsym(handle, name.c_str()));
  ASSERT_NE(kernel, nullptr) << name;
  kernel(buffers.data(), rowBegin, rowEnd);
}

std::vector<std::string> runnableArchs() {
  std::vector<std::string> archs;
  if (__builtin_cpu_supports("x86-64-v3"))
    archs.push_back("x86-64-v3");
  if (__builtin_cpu_supports("x86-64-v4"))
    archs.push_back("x86-64-v4");
  return archs;
}

Tensors runKernel(const std::string &text, Tensors inputs,
                  const Tensors &shapes, int64_t units) {
  KernelContext context;
  auto code = context.compile(text, {runnableArchs()});
  if (!code) {
    ADD_FAILURE() << context.diagnostics() << text;
    return shapes;
  }
  Tensors first;
  for (const auto &module : code->modules) {
    LoadedKernels kernels(module.bytes);
    Tensors whole = shapes, split = shapes;
    auto call = [&](Tensors &outputs, int64_t begin, int64_t end) {
      std::vector<void *> buffers;
      for (Tensors *tensors : {&inputs, &outputs})
        for (Tensor &tensor : *tensors)
          buffers.push_back(tensor.bytes.data());
      kernels.call("k", buffers, begin, end);
    };
    call(whole, 0, units);
    for (int64_t unit = units; unit-- > 0;)
      call(split, unit, unit + 1);
    if (first.empty())
      first = whole;
    for (size_t i = 0; i < shapes.size(); ++i) {
      EXPECT_EQ(whole[i].bytes, split[i].bytes) << module.arch;
      EXPECT_EQ(whole[i].bytes, first[i].bytes) << module.arch;
    }
  }
  return first;
}

} // namespace gpt2test
