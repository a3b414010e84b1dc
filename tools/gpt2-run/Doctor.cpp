//===- Doctor.cpp - gpt2-run doctor ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/CUDA/Gpus.h"
#include "runtime/Support/Json.h"
#include "tools/gpt2-run/Commands.h"
#include "tools/gpt2-run/Machine.h"
#include "tools/gpt2-run/Runner.h"

using namespace gpt2rt;
using namespace gpt2rt::tool;

namespace {

struct Findings {
  Cpu cpu = readCpu();
  Memory memory = readMemory();
  Result<GpuReport> gpus = findGpus();
  /// Where gpt2c --target=cuda finds its compiler, or "".
  std::string nvrtc =
      findLibrary({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});

  bool cpuUsable() const { return cpu.level != "below x86-64-v3"; }

  /// Why CUDA plans do not run here; empty where they do.
  std::string cudaProblem() const {
    if (!gpus.ok())
      return gpus.status().message();
    if (!gpus->cublas.empty())
      return gpus->cublas;
    constexpr int oldest = 80; // what plans can be compiled for
    for (const GpuInfo &gpu : gpus->gpus)
      if (std::atoi(gpu.arch.c_str() + 3) >= oldest)
        return "";
    return "no GPU here is sm_80 or newer";
  }
};

Json orNull(const std::string &text) {
  return text.empty() ? Json() : Json(text);
}

Json gpuJson(const GpuInfo &gpu) {
  Json object = {{"name", gpu.name},
                 {"arch", gpu.arch},
                 {"memory_bytes", gpu.bytes},
                 {"peak_flops", Json()}};
  if (gpu.peakLow > 0)
    object["peak_flops"] = {{"fp16", gpu.peakLow},
                            {"bf16", gpu.peakLow},
                            {"tf32", gpu.peakTf32},
                            {"fp32", gpu.peakFull}};
  return object;
}

Json findingsJson(const Findings &found) {
  Json gpus = Json::array();
  std::string driver, problem = found.cudaProblem();
  if (found.gpus.ok()) {
    driver = found.gpus->driver;
    for (const GpuInfo &gpu : found.gpus->gpus)
      gpus.push_back(gpuJson(gpu));
  }
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
          {"driver_cuda_version", orNull(driver)},
          {"nvrtc", orNull(found.nvrtc)},
          {"uses",
           {{"cpu", found.cpuUsable()},
            {"cuda", problem.empty()},
            {"cuda_problem", orNull(problem)}}}};
}

void printGpu(size_t index, const GpuInfo &gpu) {
  std::printf("GPU %zu    %s, %s, %s", index, gpu.name.c_str(),
              gpu.arch.c_str(), formatBytes(gpu.bytes).c_str());
  if (gpu.peakLow > 0)
    std::printf(
        "; at most %.0f TFLOP/s in fp16 and bf16, %.0f in tf32, %.0f in "
        "fp32",
        gpu.peakLow / 1e12, gpu.peakTf32 / 1e12, gpu.peakFull / 1e12);
  std::printf("\n");
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
  if (found.gpus.ok()) {
    for (size_t i = 0; i < found.gpus->gpus.size(); ++i)
      printGpu(i, found.gpus->gpus[i]);
    std::printf("driver   supports CUDA %s\n", found.gpus->driver.c_str());
  }
  std::printf("NVRTC    %s (gpt2c --target=cuda needs it)\n",
              found.nvrtc.empty() ? "not found" : found.nvrtc.c_str());
  if (found.cpuUsable())
    std::printf("CPU plans run here, with %s kernels.\n",
                found.cpu.level.c_str());
  else
    std::printf("CPU plans do not run here: the CPU lacks AVX2 and FMA.\n");
  std::string problem = found.cudaProblem();
  if (problem.empty())
    std::printf("CUDA plans run here.\n");
  else
    std::printf("CUDA plans do not run here: %s.\n", problem.c_str());
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
