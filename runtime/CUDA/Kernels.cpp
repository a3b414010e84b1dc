//===- Kernels.cpp - The plan's machine code on a GPU ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Kernels.h"

#include <algorithm>

using namespace gpt2rt;
using namespace gpt2rt::cuda;

namespace {

/// Shared memory that every kernel gets without asking.
constexpr int defaultSharedBytes = 48 << 10;

/// "sm_80, sm_90a and PTX of sm_80".
std::string archList(const Plan &plan) {
  std::vector<std::string> names;
  for (const fb::CodeModule *module : *plan.root().modules()) {
    std::string name = module->arch()->str();
    if (module->format() == fb::CodeFormat::Ptx)
      name.insert(0, "PTX of ");
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += strCat(i == 0                  ? ""
                   : i + 1 == names.size() ? " and "
                                           : ", ",
                   names[i]);
  return text.empty() ? "no code" : text;
}

} // namespace

Result<std::unique_ptr<Kernels>> Kernels::load(const Context &context,
                                               const Plan &plan) {
  std::unique_ptr<Kernels> kernels(new Kernels(context));
  kernels->modules.resize(plan.root().modules()->size());
  for (const fb::Kernel *kernel : *plan.root().kernels())
    GPT2_RETURN_IF_ERROR(kernels->loadKernel(plan, *kernel));
  return kernels;
}

Kernels::~Kernels() {
  for (CUmodule module : modules)
    if (module)
      (void)context.driver().cuModuleUnload(module);
}

Status Kernels::loadKernel(const Plan &plan, const fb::Kernel &kernel) {
  const Driver &driver = context.driver();
  std::vector<CodeOption> options;
  for (const fb::KernelImage *image : *kernel.images()) {
    const fb::CodeModule &module =
        *plan.root().modules()->Get(image->module_());
    if (module.format() == fb::CodeFormat::Elf)
      return failedPrecondition("the plan holds CPU code for kernel '",
                                kernel.name()->string_view(),
                                "': compile it with --target=cuda");
    options.push_back(
        {module.arch()->string_view(), module.format() == fb::CodeFormat::Ptx});
  }
  std::optional<size_t> chosen = chooseCode(options, context.arch());
  if (!chosen)
    return failedPrecondition("the plan has ", archList(plan),
                              ", but this GPU (", context.name(), ") is ",
                              context.arch().text(),
                              ": compile with --arch=", context.arch().text());
  const fb::KernelImage &image =
      *kernel.images()->Get(static_cast<flatbuffers::uoffset_t>(*chosen));
  int shared = static_cast<int>(kernel.dynamic_shared_bytes());
  int total = shared + static_cast<int>(image.static_shared_bytes());
  if (total > context.maxSharedBytes())
    return failedPrecondition(
        "kernel '", kernel.name()->string_view(), "' needs ", total,
        " bytes of shared memory, but a block of this "
        "GPU (",
        context.name(), ") has ", context.maxSharedBytes());
  GPT2_ASSIGN_OR_RETURN(CUmodule module, loadModule(plan, image.module_()));
  LoadedKernel loaded;
  loaded.blockThreads = kernel.block_threads();
  loaded.sharedBytes = kernel.dynamic_shared_bytes();
  loaded.waitsItself = hasProgrammaticLaunch(*parseArch(options[*chosen].arch));
  GPT2_CU(driver, cuModuleGetFunction, &loaded.function, module,
          kernel.name()->c_str());
  if (total > defaultSharedBytes)
    GPT2_CU(driver, cuFuncSetAttribute, loaded.function,
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared);
  kernels.push_back(loaded);
  return Status();
}

Result<CUmodule> Kernels::loadModule(const Plan &plan, uint32_t index) {
  CUmodule &module = modules[index];
  if (module)
    return module;
  const fb::CodeModule &code = *plan.root().modules()->Get(index);
  std::span<const std::byte> bytes = plan.payload(code.payload());
  // The driver reads PTX up to a terminating zero.
  std::string text;
  const void *image = bytes.data();
  if (code.format() == fb::CodeFormat::Ptx) {
    text.assign(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    image = text.c_str();
  }
  Status status = toStatus(context.driver(),
                           context.driver().cuModuleLoadData(&module, image),
                           "cuModuleLoadData");
  if (!status.ok())
    return status.withContext(
        strCat("code of the plan for ", code.arch()->string_view()));
  return module;
}
