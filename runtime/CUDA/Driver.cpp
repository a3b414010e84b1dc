//===- Driver.cpp - The CUDA driver, loaded with dlopen -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Driver.h"

#include <dlfcn.h>

#include <type_traits>

using namespace gpt2rt;
using namespace gpt2rt::cuda;

namespace {

// cuLaunchKernelEx and the graph calls are used as of CUDA 12.
constexpr int oldestDriver = 12000;

void *library = nullptr;

void *resolveInLibrary(const char *symbol) { return dlsym(library, symbol); }

std::string versionText(int version) {
  return strCat(version / 1000, ".", version % 1000 / 10);
}

// Of NVML, which the driver brings along; the toolkit's headers may lack it.
struct NvmlMemory {
  unsigned long long total, free, used;
};
struct Nvml {
  int (*init)() = nullptr;
  int (*find)(const char *address, void **device) = nullptr;
  int (*memory)(void *device, NvmlMemory *memory) = nullptr;
};

/// Loaded and initialised at the first use; members are null without it.
const Nvml &nvml() {
  static const Nvml functions = [] {
    Nvml found;
    void *file = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!file)
      return found;
    auto bind = [&](auto &function, const char *symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          dlsym(file, symbol));
    };
    bind(found.init, "nvmlInit_v2");
    bind(found.find, "nvmlDeviceGetHandleByPciBusId_v2");
    bind(found.memory, "nvmlDeviceGetMemoryInfo");
    bool works = found.init && found.find && found.memory && found.init() == 0;
    return works ? found : Nvml();
  }();
  return functions;
}

std::optional<uint64_t> usedBytes(const char *address) {
  void *device = nullptr;
  NvmlMemory memory = {};
  if (!nvml().find || nvml().find(address, &device) != 0 ||
      nvml().memory(device, &memory) != 0)
    return std::nullopt;
  return memory.used;
}

Result<const Driver *> openDriver() {
  library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return unavailable("no NVIDIA driver on this machine (libcuda.so.1 cannot "
                       "be loaded): run on a machine with an NVIDIA GPU or "
                       "compile the plan with --target=cpu");
  // Lives as long as the process: contexts are released at exit.
  static Driver driver;
  GPT2_ASSIGN_OR_RETURN(driver, makeDriver(resolveInLibrary));
  driver.usedBytes = usedBytes;
  CUresult result = driver.cuInit(0);
  if (result == CUDA_ERROR_NO_DEVICE)
    return unavailable("the NVIDIA driver finds no GPU: check nvidia-smi and "
                       "CUDA_VISIBLE_DEVICES");
  if (result != CUDA_SUCCESS)
    return unavailable(toStatus(driver, result, "cuInit").message(),
                       ": check nvidia-smi");
  GPT2_CU(driver, cuDriverGetVersion, &driver.version);
  if (driver.version < oldestDriver)
    return failedPrecondition(
        "the NVIDIA driver supports CUDA ", versionText(driver.version),
        ", but ", versionText(oldestDriver), " is needed: update the driver");
  return static_cast<const Driver *>(&driver);
}

} // namespace

Result<Driver> cuda::makeDriver(SymbolResolver resolve) {
  Driver driver;
  const char *missing = nullptr;
  auto bind = [&](auto &function, const char *symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        resolve(symbol));
    if (!function && !missing)
      missing = symbol;
  };
#define GPT2_CUDA_TEXT(NAME) #NAME
#define GPT2_CUDA_BIND(NAME) bind(driver.NAME, GPT2_CUDA_TEXT(NAME));
  GPT2_CUDA_DRIVER_FUNCTIONS(GPT2_CUDA_BIND)
#undef GPT2_CUDA_BIND
#undef GPT2_CUDA_TEXT
  bind(driver.eventElapsedTime, "cuEventElapsedTime");
  if (missing)
    return unavailable("the NVIDIA driver lacks ", missing,
                       ": update the driver");
  return driver;
}

Result<const Driver *> cuda::loadDriver() {
  static const Result<const Driver *> driver = openDriver();
  return driver;
}

Status cuda::toStatus(const Driver &driver, CUresult result, const char *call) {
  if (result == CUDA_SUCCESS)
    return Status();
  const char *name = nullptr, *text = nullptr;
  driver.cuGetErrorName(result, &name);
  driver.cuGetErrorString(result, &text);
  std::string message =
      strCat(call, " failed: ", name ? name : "unknown CUDA error",
             text ? strCat(" (", text, ")") : std::string());
  switch (result) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    return resourceExhausted(message);
  case CUDA_ERROR_NO_DEVICE:
  case CUDA_ERROR_INVALID_DEVICE:
  case CUDA_ERROR_SYSTEM_NOT_READY:
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    return unavailable(message);
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_INVALID_PTX:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    return failedPrecondition(message);
  default:
    return internalError(message);
  }
}
