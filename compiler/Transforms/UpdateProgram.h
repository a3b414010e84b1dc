// The update program of a training module.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_COMPILER_TRANSFORMS_UPDATEPROGRAM_H
#define GPT2C_COMPILER_TRANSFORMS_UPDATEPROGRAM_H

#include "dialects/GPT2/GPT2Ops.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::gpt2c {

/// Builds the program `update` behind `accumulate`: the norm of all gradients,
/// what the step does with it, and one AdamW step of each parameter, which
/// zeroes the gradient. The globals NAME.grad, NAME.m and NAME.v exist.
/// Parameters of rank 2 decay.
void buildUpdateProgram(func::FuncOp accumulate,
                        ArrayRef<gpt2::GlobalOp> parameters, int64_t rowBlocks);

} // namespace mlir::gpt2c

#endif // GPT2C_COMPILER_TRANSFORMS_UPDATEPROGRAM_H
