//===- FuzzSupport.h - What the fuzzers share -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// To add a fuzzer: one .cpp with LLVMFuzzerTestOneInput, one line in
// CMakeLists.txt and a few small inputs in corpus/NAME. The `fuzz` preset
// builds it with libFuzzer; other builds replay its corpus.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace gpt2rt::fuzz {

/// An invariant of the code under test; its failure is a finding.
inline void require(bool holds) {
  if (!holds)
    std::abort();
}

/// Every refusal is one line with something to say.
inline void checkMessage(const Status &status) {
  require(!status.ok() && exitCode(status) != 0);
  require(!status.message().empty());
  for (char c : status.message())
    require(static_cast<unsigned char>(c) >= 0x20);
}

/// Keeps a value, and the reads that made it, from being optimised away.
template <typename T>
void keep(const T &value) {
  asm volatile("" : : "g"(&value) : "memory");
}

inline std::string_view asText(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

} // namespace gpt2rt::fuzz
