// The globals that a program reads and writes.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_COMPILER_TRANSFORMS_PROGRAMSTATE_H
#define GPT2C_COMPILER_TRANSFORMS_PROGRAMSTATE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::gpt2c {

/// Keeps to the rule that a program reads a global once, in front of all that
/// computes, and writes it once, behind all of it.
class ProgramState {
public:
  explicit ProgramState(func::FuncOp program);

  /// What the program reads from a global, which is of `type` where it is not
  /// read yet.
  Value read(StringRef global, Type type);
  void write(StringRef global, Value value);

  /// Adds a column result to a vector global.
  void addColumns(OpBuilder &builder, StringRef global, Value partials);

private:
  Block &block;
  Operation *lastRead = nullptr; ///< of the reads at the start
  llvm::StringMap<Value> values;
};

} // namespace mlir::gpt2c

#endif // GPT2C_COMPILER_TRANSFORMS_PROGRAMSTATE_H
