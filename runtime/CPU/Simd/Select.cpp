//===- Select.cpp - Chooses the vector loops for this CPU -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CPU/Simd/Simd.h"

#include <string_view>

namespace gpt2rt::cpu {

extern const SimdKernels simdKernelsV3;
extern const SimdKernels simdKernelsV4;

static bool hasV3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}

static bool hasV4() {
  return hasV3() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

const char *cpuLevel() {
  return hasV4() ? "x86-64-v4" : hasV3() ? "x86-64-v3" : "x86-64";
}

const SimdKernels *selectSimdKernels() {
  std::string_view level = cpuLevel();
  if (level == "x86-64-v4")
    return &simdKernelsV4;
  return level == "x86-64-v3" ? &simdKernelsV3 : nullptr;
}

} // namespace gpt2rt::cpu
