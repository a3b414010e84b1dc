//===- CudaText.h - Spelling of types and constants in CUDA C++ -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2C_CODEGEN_CUDA_CUDATEXT_H
#define GPT2C_CODEGEN_CUDA_CUDATEXT_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::gpt2c {

/// The preamble that every translation unit begins with.
llvm::StringRef preambleSource();

/// The type of a buffer's elements: f32 -> "float", f16 -> "half", bf16 ->
/// "bf16", i32 -> "int", i64 -> "long long", i8 -> "signed char"; empty for a
/// type that buffers do not have.
llvm::StringRef cudaElementType(Type type);

/// The type of a scalar variable. 16-bit floats are held as `float` (every
/// value of theirs is one), index as `long long`, i1 as `bool`.
llvm::StringRef cudaScalarType(Type type);

/// A float literal with the exact bits: "0x1.8p+1f", INFINITY, NAN.
std::string floatLiteral(const llvm::APFloat &value);

} // namespace mlir::gpt2c

#endif // GPT2C_CODEGEN_CUDA_CUDATEXT_H
