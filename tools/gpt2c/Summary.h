//===- Summary.h - What a written plan holds --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/CompiledCode.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::gpt2c {

/// Prints programs, kernels, and the exact bytes that the plan will allocate.
void printSummary(llvm::raw_ostream &os, ModuleOp module,
                  const CompiledCode &code, StringRef path, uint64_t fileBytes);

} // namespace mlir::gpt2c
