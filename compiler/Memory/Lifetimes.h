//===- Lifetimes.h - When the buffers of a program are live -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Plan/PlanOps.h"

namespace mlir::gpt2c {

/// An alloc with the first and last instruction (inclusive) that touch it.
struct BufferLifetime {
  plan::AllocOp alloc;
  uint32_t first = 0;
  uint32_t last = 0;
};

/// Lifetimes of all allocs that some instruction touches, in the order of the
/// allocs. A buffer that is read before it is written is an error on the
/// instruction that reads it.
FailureOr<SmallVector<BufferLifetime>>
computeLifetimes(plan::ProgramOp program);

/// Lets instructions write over an input that they are the last to use, where
/// getInPlaceOperands() allows it: the output's alloc is replaced by the
/// input's. Returns how many were.
unsigned reuseInPlace(plan::ProgramOp program);

/// Removes allocs and references to globals that nothing uses.
void removeUnusedBuffers(plan::ProgramOp program);

} // namespace mlir::gpt2c
