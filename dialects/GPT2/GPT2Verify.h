// Checks that the verifiers of the gpt2 ops share.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_DIALECTS_GPT2_GPT2VERIFY_H
#define GPT2C_DIALECTS_GPT2_GPT2VERIFY_H

#include "dialects/GPT2/GPT2Ops.h"

namespace mlir::gpt2 {

/// Checks that a tensor called `name` has the shape `expected`.
LogicalResult expectShape(Operation *op, StringRef name, Value value,
                          ArrayRef<int64_t> expected);

/// Checks that the row count is `batch` times a whole number of tokens.
LogicalResult expectBatch(Operation *op, int64_t rows, int64_t batch);

/// Checks that rows of qkv and of the attention's result, of `batch` sequences,
/// hold `heads` heads of one size and type.
LogicalResult verifyHeads(Operation *op, Value qkv, Value result, int64_t batch,
                          int64_t heads);

/// Checks that there is a target for each of `rows` rows, which are a chunk's
/// from row `first` on where that is given.
LogicalResult verifyTargets(Operation *op, Value targets, int64_t rows,
                            std::optional<int64_t> first);

/// Checks that a probability of dropping is in [0, 1).
LogicalResult verifyProbability(Operation *op, const APFloat &probability);

/// Checks that attention has all that dropout needs, or nothing of it.
LogicalResult verifyAttentionDropout(Operation *op, Value rng,
                                     std::optional<APFloat> dropout,
                                     bool hasId);

} // namespace mlir::gpt2

#endif // GPT2C_DIALECTS_GPT2_GPT2VERIFY_H
