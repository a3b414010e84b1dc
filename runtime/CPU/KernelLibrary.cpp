//===- KernelLibrary.cpp - A plan's native kernels ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CPU/KernelLibrary.h"
#include "runtime/CPU/Simd/Simd.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace gpt2rt::cpu {

void KernelLibrary::Close::operator()(void *handle) const { dlclose(handle); }

// Levels this CPU runs, best first.
static std::vector<std::string_view> runnableLevels() {
  std::string_view level = cpuLevel();
  if (level == "x86-64-v4")
    return {"x86-64-v4", "x86-64-v3"};
  if (level == "x86-64-v3")
    return {"x86-64-v3"};
  return {};
}

static Result<uint32_t> chooseModule(const Plan &plan) {
  const auto &modules = *plan.root().modules();
  for (std::string_view level : runnableLevels())
    for (uint32_t i = 0; i < modules.size(); ++i)
      if (modules[i]->format() == fb::CodeFormat::Elf &&
          modules[i]->arch()->string_view() == level)
        return i;
  std::string has;
  for (const auto *module : modules)
    has += strCat(has.empty() ? "" : ", ", module->arch()->string_view());
  return failedPrecondition(
      "the plan holds code for ", has, " and this CPU is ", cpuLevel(),
      ": compile it with --arch=", cpuLevel(), " (x86-64-v3 is the least)");
}

// dlopen wants a file: an anonymous one that only this process sees.
static Result<UniqueFd> writeToMemory(std::span<const std::byte> image) {
  UniqueFd file(memfd_create("gpt2-plan-kernels", MFD_CLOEXEC));
  if (!file.valid())
    return internalError("memfd_create: ", std::strerror(errno));
  size_t done = 0;
  while (done < image.size()) {
    ssize_t wrote = write(file.get(), image.data() + done, image.size() - done);
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote < 0)
      return resourceExhausted("cannot hold the plan's kernels in memory: ",
                               std::strerror(errno));
    done += static_cast<size_t>(wrote);
  }
  return file;
}

static const fb::KernelImage *imageIn(const fb::Kernel &kernel,
                                      uint32_t module) {
  for (const auto *image : *kernel.images())
    if (image->module_() == module)
      return image;
  return nullptr;
}

Result<KernelLibrary> KernelLibrary::load(const Plan &plan) {
  KernelLibrary library;
  const auto &kernels = *plan.root().kernels();
  if (kernels.size() == 0)
    return library;
  GPT2_ASSIGN_OR_RETURN(uint32_t module, chooseModule(plan));
  const fb::CodeModule &code = *plan.root().modules()->Get(module);
  library.level = code.arch()->str();
  GPT2_ASSIGN_OR_RETURN(library.file,
                        writeToMemory(plan.payload(code.payload())));
  std::string path = strCat("/proc/self/fd/", library.file.get());
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *error = dlerror();
    return failedPrecondition("cannot load the plan's kernels: ",
                              error ? error : "unknown error");
  }
  library.handle.reset(handle);
  for (const auto *kernel : kernels) {
    void *symbol = imageIn(*kernel, module)
                       ? dlsym(handle, kernel->name()->c_str())
                       : nullptr;
    if (!symbol)
      return dataLoss("kernel '", kernel->name()->string_view(),
                      "' is missing from the plan's ", library.level,
                      " code: compile the plan again");
    library.functions.push_back(reinterpret_cast<KernelFunction>(symbol));
  }
  return library;
}

} // namespace gpt2rt::cpu
