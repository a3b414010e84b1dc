//===- Machine.cpp - What this machine has --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "tools/gpt2-run/Machine.h"

#include <dlfcn.h>
#include <fstream>
#include <sstream>
#include <thread>

using namespace gpt2rt;
using namespace gpt2rt::tool;

Cpu tool::readCpu() {
  Cpu cpu;
  cpu.threads = std::max(1u, std::thread::hardware_concurrency());
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name") && line.find(": ") != line.npos) {
      cpu.name = line.substr(line.find(": ") + 2);
      break;
    }
  __builtin_cpu_init();
  auto add = [&](bool has, const char *name) {
    if (has)
      cpu.features.push_back(name);
  };
  add(__builtin_cpu_supports("avx2"), "avx2");
  add(__builtin_cpu_supports("fma"), "fma");
  add(__builtin_cpu_supports("avx512f"), "avx512f");
  add(__builtin_cpu_supports("avx512bw"), "avx512bw");
  add(__builtin_cpu_supports("avx512vl"), "avx512vl");
  add(__builtin_cpu_supports("avx512vnni"), "avx512_vnni");
  add(__builtin_cpu_supports("avx512bf16"), "avx512_bf16");
  // The levels' wide parts; no CPU has those without the rest.
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
            __builtin_cpu_supports("bmi2");
  bool v4 = v3 && __builtin_cpu_supports("avx512f") &&
            __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") &&
            __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl");
  cpu.level = v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : "below x86-64-v3";
  return cpu;
}

Memory tool::readMemory() {
  Memory memory;
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    std::istringstream fields(line);
    std::string key;
    uint64_t kib = 0;
    fields >> key >> kib;
    if (key == "MemTotal:")
      memory.total = kib * 1024;
    else if (key == "MemAvailable:")
      memory.available = kib * 1024;
  }
  std::ifstream pages("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  std::getline(pages, line); // "always [madvise] never"
  size_t open = line.find('['), close = line.find(']');
  memory.hugePages = open < close && close != line.npos
                         ? line.substr(open + 1, close - open - 1)
                         : "unknown";
  return memory;
}

std::string tool::findLibrary(const std::vector<std::string> &names) {
  for (const std::string &name : names)
    if (void *handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
      dlclose(handle);
      return name;
    }
  return "";
}
