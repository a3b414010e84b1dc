//===- PlanFile.h - A plan module as a plan file ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/CompiledCode.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::gpt2c {

/// The bytes of the plan file of a module whose memory is planned. `producer`
/// names the program that made it. Equal arguments give equal bytes. Errors
/// are diagnostics.
FailureOr<std::string> buildPlanFile(ModuleOp module, const CompiledCode &code,
                                     StringRef producer);

/// A plan file's programs, buffers and kernels as text, for people and for
/// comparing two plans. `file` must come from buildPlanFile().
std::string printPlanFile(const std::string &file);

} // namespace mlir::gpt2c
