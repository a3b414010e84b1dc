//===- WeightLayout.h - Checkpoint tensors in a plan's layout ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of the plan's LoadWeight instruction, shared by the targets:
// find the tensor, check its shape, then convert, transpose and pad any range
// of the buffer's rows. Ranges are independent, so threads can share a tensor
// and an upload can overlap the conversion of the next range.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Formats/Checkpoint.h"
#include "runtime/Plan/Plan.h"

namespace gpt2rt {

/// One LoadWeight, resolved against a checkpoint.
class WeightLayout {
public:
  /// Fails if no name exists or the tensor is not of the wanted shape.
  static Result<WeightLayout> resolve(const Plan &plan,
                                      const fb::LoadWeight &load,
                                      const Checkpoint &checkpoint);

  /// Rows and columns of the buffer; a vector is one row.
  uint64_t rows() const { return dstRows; }
  uint64_t rowBytes() const { return dstCols * sizeOf(dstType); }
  uint32_t buffer() const { return bufferIndex; }
  /// Bytes of the buffer.
  uint64_t bytes() const { return rows() * rowBytes(); }

  /// Writes rows [begin, end) of the buffer to `out` (row `begin` first).
  void convert(uint64_t begin, uint64_t end, std::byte *out) const;

private:
  void convertCopied(uint64_t row, std::byte *out) const;
  void convertTransposed(uint64_t begin, uint64_t end, std::byte *out) const;

  const TensorView *tensor = nullptr;
  uint32_t bufferIndex = 0;
  DType dstType = DType::F32;
  uint64_t srcRows = 0, srcCols = 0;
  uint64_t dstRows = 0, dstCols = 0;
  bool transpose = false;
};

/// Resolves every LoadWeight of the plan's `init` program, so that nothing is
/// written where any of them fails.
Result<std::vector<WeightLayout>> resolveWeights(const Plan &plan,
                                                 const Checkpoint &checkpoint);

/// Rows [begin, end) of what bindRandomWeights() puts in a parameter: a
/// matrix N(0, 0.02), gamma (a vector named "*ln_*.weight") 1, other vectors
/// 0. The value of an element depends on the seed, the tensor's first name and
/// its place only, so a working copy is its master rounded; rows past the
/// checkpoint's shape are 0.
void fillRandomRows(const Plan &plan, const fb::LoadWeight &load, uint64_t seed,
                    uint64_t begin, uint64_t end, std::byte *out);

/// A buffer as rows and columns: the last dimension is the columns, a vector
/// is one row.
struct RowShape {
  uint64_t rows = 1;
  uint64_t cols = 1;
};
RowShape rowShape(const fb::Buffer &buffer);

} // namespace gpt2rt
