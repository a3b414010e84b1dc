//===- SafetensorsHeader.h - The JSON header of safetensors -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/DType.h"
#include "runtime/Support/Status.h"

#include <map>

namespace gpt2rt {

/// The format's own limit on the header, in bytes.
inline constexpr uint64_t maxSafetensorsHeader = 100'000'000;

/// A tensor as its header entry describes it; [begin, end) counts from the
/// first byte after the header.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::F32;
  std::vector<uint64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries; // in the order of the header
  std::map<std::string, std::string> metadata;
};

/// Parses the JSON and each entry on its own. How entries lie to each other
/// and to the file is the caller's to check.
Result<SafetensorsHeader> parseSafetensorsHeader(std::string_view json);

} // namespace gpt2rt
