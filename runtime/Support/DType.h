//===- DType.h - Element types of tensors in files and plans ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gpt2rt {

/// The values are part of the plan format: append, never renumber.
enum class DType : uint8_t {
  F32 = 0,
  F16 = 1,
  BF16 = 2,
  F64 = 3,
  I32 = 4,
  I64 = 5,
  U8 = 6,
  I8 = 7,
  BOOL = 8,
};

inline constexpr unsigned numDTypes = 9;

/// Bytes per element.
constexpr size_t sizeOf(DType type) {
  switch (type) {
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::F16:
  case DType::BF16:
    return 2;
  case DType::F64:
  case DType::I64:
    return 8;
  case DType::U8:
  case DType::I8:
  case DType::BOOL:
    return 1;
  }
  return 0;
}

/// The safetensors spelling: "F32", "BF16", "BOOL", ...
constexpr std::string_view name(DType type) {
  constexpr std::string_view names[numDTypes] = {
      "F32", "F16", "BF16", "F64", "I32", "I64", "U8", "I8", "BOOL"};
  auto index = static_cast<unsigned>(type);
  return index < numDTypes ? names[index] : "invalid";
}

/// The inverse of name(); nothing for a spelling that is not ours.
constexpr std::optional<DType> parseDType(std::string_view text) {
  for (unsigned i = 0; i < numDTypes; ++i)
    if (name(static_cast<DType>(i)) == text)
      return static_cast<DType>(i);
  return std::nullopt;
}

constexpr bool isFloat(DType type) { return type <= DType::F64; }

} // namespace gpt2rt
