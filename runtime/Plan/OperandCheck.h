//===- OperandCheck.h - Checks of one instruction's operands ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Plan/Validator.h"

#include <initializer_list>

namespace gpt2rt::detail {

/// Compares an instruction's fields with the shapes of its buffers, whose
/// indices are known to be in range. `field` is the schema's name.
struct OperandCheck {
  const fb::Plan &plan;
  const Where &where;

  /// A buffer as a matrix: the last dimension is the columns; a vector is one
  /// row.
  struct Matrix {
    uint64_t rows, columns;
  };

  std::span<const uint64_t> shapeOf(uint32_t buffer) const;
  fb::DType type(uint32_t buffer) const;
  uint64_t elementSize(uint32_t buffer) const;
  Matrix matrix(uint32_t buffer) const;
  /// The first dimension.
  uint64_t leading(uint32_t buffer) const { return shapeOf(buffer)[0]; }
  /// "buffer 'ln1'".
  std::string describe(uint32_t buffer) const;

  Status isFloat(const char *field, uint32_t buffer) const;
  /// `field` has `value`, and the buffer as many columns.
  Status columns(const char *field, uint64_t value, uint32_t buffer) const;
  /// `field` has `value`, and the buffer at least as many rows.
  Status rows(const char *field, uint64_t value, uint32_t buffer) const;
  Status shape(const char *field, uint32_t buffer,
               std::initializer_list<uint64_t> wanted) const;
  /// The buffer holds at least `count` values of 32 bits.
  Status integers(const char *field, uint32_t buffer, uint64_t count) const;
};

/// Rows and dimensions are ints in kernels.
inline constexpr uint32_t maxRows = 0x7fffffff;

/// Attention, its gradient and its cache (ValidateAttention.cpp).
Status checkAttention(const OperandCheck &operands, const fb::Attention &op);
Status checkAttention(const OperandCheck &operands,
                      const fb::AttentionGrad &op);
Status checkAttention(const OperandCheck &operands, const fb::CacheAppend &op);

} // namespace gpt2rt::detail
