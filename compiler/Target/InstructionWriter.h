//===- InstructionWriter.h - Instructions as FlatBuffer tables --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Target/PlanTables.h"

namespace mlir::gpt2c {

/// Writes the instruction of one op of the plan dialect.
flatbuffers::Offset<gpt2rt::fb::Instruction>
writeInstruction(flatbuffers::FlatBufferBuilder &builder,
                 const PlanTables &tables, plan::InstructionOpInterface op);

} // namespace mlir::gpt2c
