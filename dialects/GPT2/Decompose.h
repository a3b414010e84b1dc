// Turns gpt2 ops into the regions of kernels.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_DIALECTS_GPT2_DECOMPOSE_H
#define GPT2C_DIALECTS_GPT2_DECOMPOSE_H

#include "dialects/GPT2/GPT2Ops.h"

namespace mlir::gpt2 {

/// `type` in the normal form of docs/architecture.md: `?xC`, `?x1`, `1xC`,
/// `1x1`, or a table's own shape, where a vector is one column.
RankedTensorType getNormalForm(RankedTensorType type, OperandForm form);

/// What one block of a kernel reads and yields. The block is
/// `^bb0(%rows: index, %inputs...)` with inputs in the normal form; it has no
/// terminator yet, which the caller adds over `yields`.
struct RowBlock {
  SmallVector<Value> inputs;     ///< outside values, one a block argument
                                 ///< after %rows; one value may occur twice,
                                 ///< in two forms
  SmallVector<OpResult> outputs; ///< results of the op that have uses
  SmallVector<Value> yields;     ///< what the block computes for each output;
                                 ///< a column result is `1xC` here
  int64_t rowBlocks = 0;         ///< row blocks of the column results among the
                                 ///< outputs, 0 if there are none
};

/// Whether `op` becomes a row kernel: a decomposable op or a fused row region.
bool isRowKernel(Operation *op);

/// Appends the block of a row kernel to the empty region `body`.
RowBlock outlineRowKernel(Operation *op, OpBuilder &builder, Region &body);

/// A matvec kernel: out = epilogue(prologue(x) * transpose(weight)).
struct MatvecKernel {
  RowBlock prologue; ///< yields x as `?xK` of the weight's type; `outputs` is
                     ///< empty
  Value weight;      ///< [N, K]
  RowBlock epilogue; ///< block `^bb0(%rows, %acc: tensor<?xNxf32>,
                     ///< %inputs...)`: the sums, then inputs (bias first)
};

/// Whether `op` can become a matvec kernel: a linear or a fused matvec region.
bool isMatvecKernel(Operation *op);

/// Appends the blocks of a matvec kernel to two empty regions. A prologue that
/// only reads x yields its argument.
MatvecKernel outlineMatvecKernel(Operation *op, OpBuilder &builder,
                                 Region &prologue, Region &epilogue);

} // namespace mlir::gpt2

#endif // GPT2C_DIALECTS_GPT2_DECOMPOSE_H
