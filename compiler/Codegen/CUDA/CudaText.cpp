//===- CudaText.cpp - Spelling of types and constants in CUDA C++ ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/CudaText.h"
#include "mlir/IR/BuiltinTypes.h"

#include <cstdio>

using namespace mlir;
using namespace mlir::gpt2c;

static constexpr char preamble[] =
#include "compiler/Codegen/CUDA/Templates/preamble.cuh.inc"
    ;

llvm::StringRef gpt2c::preambleSource() { return preamble; }

llvm::StringRef gpt2c::cudaElementType(Type type) {
  if (type.isF32())
    return "float";
  if (type.isTF32())
    return "tf32";
  if (type.isF16())
    return "half";
  if (type.isBF16())
    return "bf16";
  if (type.isInteger(32))
    return "int";
  if (type.isInteger(64))
    return "long long";
  if (type.isInteger(8))
    return "signed char";
  return "";
}

llvm::StringRef gpt2c::cudaScalarType(Type type) {
  if (type.isF16() || type.isBF16())
    return "float";
  if (type.isIndex())
    return "long long";
  if (type.isInteger(1))
    return "bool";
  return cudaElementType(type);
}

std::string gpt2c::floatLiteral(const llvm::APFloat &value) {
  if (value.isNaN())
    return "asFloat(0x7fc00000)";
  if (value.isInfinity())
    return value.isNegative() ? "asFloat(0xff800000)" : "asFloat(0x7f800000)";
  llvm::APFloat single = value;
  bool losesInfo = false;
  single.convert(llvm::APFloat::IEEEsingle(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  char text[40];
  std::snprintf(text, sizeof(text), "%af",
                static_cast<double>(single.convertToFloat()));
  return text;
}
