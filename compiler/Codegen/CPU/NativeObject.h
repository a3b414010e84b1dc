//===- NativeObject.h - LLVM IR to an x86-64 object file --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2_COMPILER_CODEGEN_CPU_NATIVEOBJECT_H
#define GPT2_COMPILER_CODEGEN_CPU_NATIVEOBJECT_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace llvm {
class Module;
} // namespace llvm

namespace mlir::gpt2c {

/// Optimises `module` for a microarchitecture level ("x86-64-v3") and writes a
/// relocatable ELF object. Changes the module.
llvm::Expected<llvm::SmallVector<char, 0>>
compileToObject(llvm::Module &module, llvm::StringRef arch);

} // namespace mlir::gpt2c

#endif // GPT2_COMPILER_CODEGEN_CPU_NATIVEOBJECT_H
