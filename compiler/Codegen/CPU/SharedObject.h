//===- SharedObject.h - Link an object in process ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2_COMPILER_CODEGEN_CPU_SHAREDOBJECT_H
#define GPT2_COMPILER_CODEGEN_CPU_SHAREDOBJECT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mlir::gpt2c {

/// Links one relocatable object into a shared object that exports its global
/// functions. Fails if a symbol is undefined. Safe to call from any thread;
/// calls run one after the other.
llvm::Expected<std::string> linkSharedObject(llvm::ArrayRef<char> object);

} // namespace mlir::gpt2c

#endif // GPT2_COMPILER_CODEGEN_CPU_SHAREDOBJECT_H
