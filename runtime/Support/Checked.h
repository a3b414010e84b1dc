//===- Checked.h - Arithmetic on untrusted sizes ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Sizes and offsets that come from files are combined only through these.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace gpt2rt {

/// a * b, or nothing where it does not fit 64 bits.
inline std::optional<uint64_t> checkedMul(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product))
    return std::nullopt;
  return product;
}

/// a + b, or nothing where it does not fit 64 bits.
inline std::optional<uint64_t> checkedAdd(uint64_t a, uint64_t b) {
  uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum))
    return std::nullopt;
  return sum;
}

/// The product of all dimensions (1 for rank 0), or nothing where a partial
/// product does not fit. A zero dimension does not hide an overflow before it.
inline std::optional<uint64_t> checkedProduct(std::span<const uint64_t> dims) {
  uint64_t product = 1;
  for (uint64_t dim : dims)
    if (__builtin_mul_overflow(product, dim, &product))
      return std::nullopt;
  return product;
}

/// Whether [offset, offset + size) lies inside [0, limit), without adding.
inline bool rangeFits(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

} // namespace gpt2rt
