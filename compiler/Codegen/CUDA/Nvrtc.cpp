//===- Nvrtc.cpp - The run-time compiler, loaded with dlopen --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The handful of entry points is declared here, so that the compiler builds on
// a machine without the toolkit. Registers, shared and local memory are read
// from the messages of `ptxas -v`.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Nvrtc.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

using namespace mlir::gpt2c;
using llvm::StringRef;

namespace {

/// NVRTC's C interface; results are nvrtcResult, 0 is success.
struct NvrtcApi {
  using Program = struct NvrtcProgram *;
  int (*createProgram)(Program *, const char *, const char *, int,
                       const char *const *, const char *const *) = nullptr;
  int (*compileProgram)(Program, int, const char *const *) = nullptr;
  int (*destroyProgram)(Program *) = nullptr;
  int (*getCubinSize)(Program, size_t *) = nullptr;
  int (*getCubin)(Program, char *) = nullptr;
  int (*getPtxSize)(Program, size_t *) = nullptr;
  int (*getPtx)(Program, char *) = nullptr;
  int (*getLogSize)(Program, size_t *) = nullptr;
  int (*getLog)(Program, char *) = nullptr;
  const char *(*getErrorString)(int) = nullptr;
  /// Why the library could not be used; empty when all of the above are set.
  std::string missing;
};

void *openNvrtc() {
  std::vector<std::string> names = {"libnvrtc.so.13", "libnvrtc.so.12",
                                    "libnvrtc.so"};
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *home = std::getenv(variable))
      names.push_back(std::string(home) + "/lib64/libnvrtc.so");
  names.push_back("/usr/local/cuda/lib64/libnvrtc.so");
  for (const std::string &name : names)
    if (void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
  return nullptr;
}

template <class Function>
void bind(void *library, const char *name, Function &function,
          std::string &missing) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function && missing.empty())
    missing = std::string("the libnvrtc found has no ") + name +
              ": install NVRTC of CUDA 12 or 13";
}

NvrtcApi loadNvrtc() {
  NvrtcApi api;
  void *library = openNvrtc();
  if (!library) {
    api.missing = "cannot load libnvrtc (tried libnvrtc.so.13, .so.12, .so, "
                  "$CUDA_HOME/lib64 and /usr/local/cuda/lib64): install "
                  "NVRTC of CUDA 12 or 13 (package cuda-nvrtc-13-0, or "
                  "`pip install nvidia-cuda-nvrtc`) and put its folder on "
                  "LD_LIBRARY_PATH";
    return api;
  }
  bind(library, "nvrtcCreateProgram", api.createProgram, api.missing);
  bind(library, "nvrtcCompileProgram", api.compileProgram, api.missing);
  bind(library, "nvrtcDestroyProgram", api.destroyProgram, api.missing);
  bind(library, "nvrtcGetCUBINSize", api.getCubinSize, api.missing);
  bind(library, "nvrtcGetCUBIN", api.getCubin, api.missing);
  bind(library, "nvrtcGetPTXSize", api.getPtxSize, api.missing);
  bind(library, "nvrtcGetPTX", api.getPtx, api.missing);
  bind(library, "nvrtcGetProgramLogSize", api.getLogSize, api.missing);
  bind(library, "nvrtcGetProgramLog", api.getLog, api.missing);
  bind(library, "nvrtcGetErrorString", api.getErrorString, api.missing);
  return api;
}

const NvrtcApi &nvrtc() {
  static const NvrtcApi api = loadNvrtc();
  return api;
}

/// Size first, then the bytes, as NVRTC hands out everything.
std::string fetch(NvrtcApi::Program program,
                  int (*size)(NvrtcApi::Program, size_t *),
                  int (*get)(NvrtcApi::Program, char *)) {
  size_t bytes = 0;
  if (size(program, &bytes) != 0 || bytes == 0)
    return "";
  std::string text(bytes, '\0');
  if (get(program, text.data()) != 0)
    return "";
  return text;
}

/// The number before `unit` in "Used 80 registers, 128 bytes smem"; 0 where
/// the message has none.
unsigned numberBefore(StringRef log, StringRef unit) {
  size_t end = log.find(unit);
  if (end == StringRef::npos)
    return 0;
  StringRef digits = log.take_front(end).rtrim();
  digits = digits.take_back(digits.size() - 1 -
                            digits.find_last_not_of("0123456789"));
  unsigned value = 0;
  return digits.getAsInteger(10, value) ? 0 : value;
}

void compileOnce(StringRef name, StringRef source, StringRef arch,
                 CudaBinary &binary) {
  const NvrtcApi &api = nvrtc();
  if (!api.missing.empty()) {
    binary.error = api.missing;
    return;
  }
  NvrtcApi::Program program = nullptr;
  std::string file = (name + ".cu").str();
  int result = api.createProgram(&program, source.str().c_str(), file.c_str(),
                                 0, nullptr, nullptr);
  if (result != 0) {
    binary.error = std::string("NVRTC: ") + api.getErrorString(result);
    return;
  }
  std::string archOption = ("--gpu-architecture=" + arch).str();
  // No contraction: a multiply-add fuses only where the region says math.fma.
  const char *options[] = {archOption.c_str(), "--std=c++17", "--fmad=false",
                           "--device-as-default-execution-space",
                           "--ptxas-options=-v"};
  result = api.compileProgram(program, std::size(options), options);
  std::string log = fetch(program, api.getLogSize, api.getLog);
  StringRef text = StringRef(log).rtrim(StringRef("\0\n ", 3));
  if (result == 0) {
    binary.cubin = fetch(program, api.getCubinSize, api.getCubin);
    binary.ptx = fetch(program, api.getPtxSize, api.getPtx);
    binary.registers = numberBefore(text, " registers");
    binary.staticSharedBytes = numberBefore(text, " bytes smem");
    binary.localBytes = numberBefore(text, " bytes stack frame");
  } else {
    binary.error = std::string("NVRTC for ") + arch.str() + ": " +
                   api.getErrorString(result) +
                   (text.empty() ? "" : "\n" + text.str());
  }
  api.destroyProgram(&program);
}

/// A result and the lock that lets one thread make it.
struct Entry {
  std::once_flag once;
  CudaBinary binary;
};

} // namespace

std::string mlir::gpt2c::missingNvrtc() { return nvrtc().missing; }

const CudaBinary &mlir::gpt2c::compileCudaSource(StringRef name,
                                                 StringRef source,
                                                 StringRef arch) {
  using Key = std::tuple<std::string, std::string, std::string>;
  static std::mutex mutex;
  static std::map<Key, Entry> entries;
  Entry *entry;
  {
    std::lock_guard<std::mutex> lock(mutex);
    entry = &entries[Key(name.str(), source.str(), arch.str())];
  }
  std::call_once(entry->once, compileOnce, name, source, arch,
                 std::ref(entry->binary));
  return entry->binary;
}

void mlir::gpt2c::compileCudaJobs(llvm::MutableArrayRef<CudaJob> jobs,
                                  unsigned threads) {
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < jobs.size(); i = next++)
      jobs[i].binary =
          &compileCudaSource(jobs[i].name, jobs[i].source, jobs[i].arch);
  };
  std::vector<std::thread> workers;
  for (unsigned i = 1; i < threads && i < jobs.size(); ++i)
    workers.emplace_back(work);
  work();
  for (std::thread &worker : workers)
    worker.join();
}
