//===- Operands.h - What an instruction reads and writes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The one table of the instructions' effects: the validator, the executors'
// dependency edges and `inspect` all read it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Plan/plan_generated.h"

#include <vector>

namespace gpt2rt {

struct Operand {
  const char *field; ///< the schema's name, "buffers" for a launch
  int32_t index;     ///< place in the field, or -1 where it is no list
  uint32_t buffer;
  fb::Access access;

  bool reads() const {
    return access == fb::Access::Read || access == fb::Access::ReadWrite;
  }
  bool writes() const {
    return access == fb::Access::Write || access == fb::Access::ReadWrite;
  }
};

/// Replaces `out` with the buffers that the instruction touches. Optional ones
/// that are absent (-1) are left out; scratch counts as written.
void operandsOf(const fb::Instruction &instruction, std::vector<Operand> &out);

/// "launch", "matmul", ... as paths in messages and JSON name it.
const char *instructionName(fb::Op op);

} // namespace gpt2rt
