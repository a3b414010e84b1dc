// Parts that the decompositions of several ops share.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_DIALECTS_GPT2_DECOMPOSITIONS_H
#define GPT2C_DIALECTS_GPT2_DECOMPOSITIONS_H

#include "dialects/GPT2/RowBuilder.h"

namespace mlir::gpt2 {

/// Number `index` of a slot, which is a table of one column.
Value readSlot(OpBuilder &builder, Location loc, Value table, int64_t index);

/// The body of a map or sum of one input as it is.
inline Value takeFirst(OpBuilder &, Location, ValueRange in) { return in[0]; }

/// `value` in the columns that are words, `padding` in the others.
Value maskPadding(OpBuilder &builder, Location loc, Value value, Value padding,
                  int64_t vocab);

/// Whether the current column is the i32 `target`.
Value isLabel(OpBuilder &builder, Location loc, Value target);

/// Whether a row with the i32 `target` is scored: it is in [0, vocab).
Value isScored(OpBuilder &builder, Location loc, Value target, int64_t vocab);

/// The targets of the rows: `targets`, or those from `first` on of a table.
Value buildTargets(OpBuilder &builder, Location loc, Value targets, Value rows,
                   std::optional<int64_t> first);

/// Statistics of rows of logits, `?x1`.
struct Softmax {
  Value top;   ///< the largest logit
  Value total; ///< the sum of exp(logit - top)
};
Softmax buildSoftmax(RowBuilder &row, Value logits, int64_t vocab);

/// -log softmax(logits)[target] as `?x1`, 0 in rows that are not scored.
Value buildLosses(RowBuilder &row, Value logits, Value targets,
                  const Softmax &softmax, int64_t vocab);

} // namespace mlir::gpt2

#endif // GPT2C_DIALECTS_GPT2_DECOMPOSITIONS_H
