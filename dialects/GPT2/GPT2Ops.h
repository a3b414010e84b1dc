// The ops of the gpt2 dialect.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_DIALECTS_GPT2_GPT2OPS_H
#define GPT2C_DIALECTS_GPT2_GPT2OPS_H

#include "dialects/GPT2/GPT2Dialect.h"
#include "dialects/GPT2/GPT2Interfaces.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialects/GPT2/GPT2Ops.h.inc"

namespace mlir::gpt2 {

/// The three parts of a matvec region.
struct MatvecParts {
  SmallVector<Operation *> prologue; ///< ops that lead to the linear's x
  LinearOp linear;
  SmallVector<Operation *> epilogue; ///< ops that follow the linear
};

/// Splits the body of a matvec region; `op` is valid, so this cannot fail.
MatvecParts splitMatvec(FusedOp op);

/// Rows of an op's activations: the leading dimension of its first result that
/// is no column result, or else of its first operand that has rows.
int64_t getRowCount(Operation *op);

/// Whether a value is partial sums over row blocks
/// (DecomposeOpInterface::isColumnResult).
bool isColumnResult(Value value);

/// Row blocks of the column results of a decomposable op or of a fused region,
/// 0 where it has none.
int64_t getRowBlocks(Operation *op);

/// The form of an operand of a decomposable op or of a linear, whose weight is
/// a table.
OperandForm getOperandForm(OpOperand &use);

} // namespace mlir::gpt2

#endif // GPT2C_DIALECTS_GPT2_GPT2OPS_H
