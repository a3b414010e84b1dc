//===- Doctor.cpp - gpt2-run doctor ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Support/Json.h"
#include "tools/gpt2-run/Commands.h"
#include "tools/gpt2-run/Machine.h"
#include "tools/gpt2-run/Runner.h"

using namespace gpt2rt;
using namespace gpt2rt::tool;

namespace {

/// The oldest GPUs that plans can be compiled for.
constexpr int oldestArch = 80;

struct Library {
  const char *purpose;
  std::vector<std::string> names;
  std::string found;
};

struct Findings {
  Cpu cpu = readCpu();
  Memory memory = readMemory();
  Gpus gpus = findGpus();
  std::vector<Library> libraries = {
      {"cuBLASLt (matmuls on GPUs)",
       {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
       ""},
      {"NVRTC (gpt2c --target=cuda)",
       {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
       ""},
  };
  bool cudaBuilt = GPT2_HAVE_CUDA_RUNTIME != 0;
  bool cpuUsable = false;
  std::string cudaProblem; ///< empty: CUDA plans run here

  Findings() {
    for (Library &library : libraries)
      library.found = findLibrary(library.names);
    cpuUsable = cpu.level != "below x86-64-v3";
    cudaProblem = findCudaProblem();
  }

private:
  std::string findCudaProblem() const {
    if (!cudaBuilt)
      return "this gpt2-run was built without the CUDA backend";
    if (!gpus.problem.empty())
      return gpus.problem;
    if (libraries[0].found.empty())
      return "cuBLASLt is not installed (libcublasLt.so.13)";
    for (const Gpu &gpu : gpus.gpus)
      if (std::atoi(gpu.arch.c_str() + 3) >= oldestArch)
        return "";
    return "no GPU here is sm_80 or newer";
  }
};

Json findingsJson(const Findings &found) {
  Json gpus = Json::array(), libraries = Json::object();
  for (const Gpu &gpu : found.gpus.gpus)
    gpus.push_back(
        {{"name", gpu.name}, {"arch", gpu.arch}, {"memory_bytes", gpu.memory}});
  for (const Library &library : found.libraries)
    libraries[library.names.back()] =
        library.found.empty() ? Json() : Json(library.found);
  return {{"cpu",
           {{"name", found.cpu.name},
            {"threads", found.cpu.threads},
            {"level", found.cpu.level},
            {"features", found.cpu.features}}},
          {"memory",
           {{"total_bytes", found.memory.total},
            {"available_bytes", found.memory.available},
            {"huge_pages", found.memory.hugePages}}},
          {"gpus", std::move(gpus)},
          {"driver_cuda_version",
           found.gpus.driver.empty() ? Json() : Json(found.gpus.driver)},
          {"libraries", std::move(libraries)},
          {"cuda_backend_built", found.cudaBuilt},
          {"uses",
           {{"cpu", found.cpuUsable},
            {"cuda", found.cudaProblem.empty()},
            {"cuda_problem",
             found.cudaProblem.empty() ? Json() : Json(found.cudaProblem)}}}};
}

void printFindings(const Findings &found) {
  std::string features;
  for (const std::string &feature : found.cpu.features)
    features += " " + feature;
  std::printf("CPU      %s, %u threads, %s:%s\n", found.cpu.name.c_str(),
              found.cpu.threads, found.cpu.level.c_str(), features.c_str());
  std::printf("memory   %s, %s available; huge pages: %s\n",
              formatBytes(found.memory.total).c_str(),
              formatBytes(found.memory.available).c_str(),
              found.memory.hugePages.c_str());
  for (size_t i = 0; i < found.gpus.gpus.size(); ++i) {
    const Gpu &gpu = found.gpus.gpus[i];
    std::printf("GPU %zu    %s, %s, %s\n", i, gpu.name.c_str(),
                gpu.arch.c_str(), formatBytes(gpu.memory).c_str());
  }
  if (!found.gpus.driver.empty())
    std::printf("driver   supports CUDA %s\n", found.gpus.driver.c_str());
  for (const Library &library : found.libraries)
    std::printf("library  %s: %s\n", library.purpose,
                library.found.empty() ? "not found" : library.found.c_str());
  if (found.cpuUsable)
    std::printf("CPU plans run here, with %s kernels.\n",
                found.cpu.level.c_str());
  else
    std::printf("CPU plans do not run here: the CPU lacks AVX2 and FMA.\n");
  if (found.cudaProblem.empty())
    std::printf("CUDA plans run here.\n");
  else
    std::printf("CUDA plans do not run here: %s.\n", found.cudaProblem.c_str());
}

} // namespace

Command tool::addDoctor(CLI::App &app) {
  auto json = std::make_shared<bool>(false);
  CLI::App *sub = app.add_subcommand(
      "doctor", "What this machine has, and what of it is used");
  sub->add_flag("--json", *json, "Print one JSON object");
  return [=] {
    Findings found;
    if (*json)
      printJson(findingsJson(found));
    else
      printFindings(found);
    return Status::okStatus();
  };
}
