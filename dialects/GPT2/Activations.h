// The activation functions as scalar arithmetic.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_DIALECTS_GPT2_ACTIVATIONS_H
#define GPT2C_DIALECTS_GPT2_ACTIVATIONS_H

#include "dialects/GPT2/GPT2Dialect.h"

#include "mlir/IR/Builders.h"

namespace mlir::gpt2 {

/// Builds the activation of the f32 scalar `x`.
Value buildActivation(OpBuilder &builder, Location loc, ActivationKind kind,
                      Value x);

/// Builds the activation's derivative at the f32 scalar `x`.
Value buildActivationSlope(OpBuilder &builder, Location loc,
                           ActivationKind kind, Value x);

} // namespace mlir::gpt2

#endif // GPT2C_DIALECTS_GPT2_ACTIVATIONS_H
