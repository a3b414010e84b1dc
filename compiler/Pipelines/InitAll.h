// Everything that gpt2c and gpt2-opt register.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_COMPILER_PIPELINES_INITALL_H
#define GPT2C_COMPILER_PIPELINES_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::gpt2c {

/// Our dialects, the upstream ones that our passes build, and the interface
/// implementations that those need.
void registerAllDialects(DialectRegistry &registry);

/// Our passes and upstream's general ones.
void registerAllPasses();

} // namespace mlir::gpt2c

#endif // GPT2C_COMPILER_PIPELINES_INITALL_H
