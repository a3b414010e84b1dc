// The gpt2 dialect and its attributes.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_DIALECTS_GPT2_GPT2DIALECT_H
#define GPT2C_DIALECTS_GPT2_GPT2DIALECT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

#include "dialects/GPT2/GPT2Dialect.h.inc"

#include "dialects/GPT2/GPT2Enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/GPT2/GPT2Attrs.h.inc"

namespace mlir::gpt2 {

// Names of the dialect's discardable attributes (GPT2Dialect.td).
inline constexpr llvm::StringLiteral programAttrName = "gpt2.program";
inline constexpr llvm::StringLiteral modelAttrName = "gpt2.model";
inline constexpr llvm::StringLiteral precisionAttrName = "gpt2.precision";

/// Most micro-batches (i64) that a step of a training module may add up.
inline constexpr llvm::StringLiteral maxAccumulationAttrName =
    "gpt2.max_accumulation";

/// Number of the layer (i64) that an op of a training program's forward half
/// belongs to.
inline constexpr llvm::StringLiteral layerAttrName = "gpt2.layer";

/// What the program is, or null where `function` is not one.
inline ProgramAttr getProgram(Operation *function) {
  return function->getAttrOfType<ProgramAttr>(programAttrName);
}

} // namespace mlir::gpt2

#endif // GPT2C_DIALECTS_GPT2_GPT2DIALECT_H
