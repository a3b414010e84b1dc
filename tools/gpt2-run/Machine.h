//===- Machine.h - What this machine has ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpt2rt::tool {

struct Cpu {
  std::string name;
  /// Of those that kernels could use: avx2, fma, avx512f, avx512_bf16, ...
  std::vector<std::string> features;
  std::string level; ///< the best of x86-64-v2, -v3, -v4
  unsigned threads = 0;
};
Cpu readCpu();

struct Memory {
  uint64_t total = 0, available = 0; ///< bytes
  std::string hugePages;             ///< "always", "madvise", "never"
};
Memory readMemory();

/// The name under which dlopen finds a library, or "".
std::string findLibrary(const std::vector<std::string> &names);

} // namespace gpt2rt::tool
