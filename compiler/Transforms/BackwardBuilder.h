// The backward half of an accumulate program.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_COMPILER_TRANSFORMS_BACKWARDBUILDER_H
#define GPT2C_COMPILER_TRANSFORMS_BACKWARDBUILDER_H

#include "compiler/Transforms/ProgramState.h"
#include "dialects/GPT2/GPT2Ops.h"

#include "llvm/ADT/DenseSet.h"

namespace mlir::gpt2c {

/// Appends the gradient of every parameter that the loss depends on. Gradients
/// of activations are built in reverse program order and added in the order in
/// which they are built.
class BackwardBuilder final : public gpt2::GradientBuilder {
public:
  BackwardBuilder(func::FuncOp program, const SymbolTable &symbols,
                  int64_t rowBlocks);

  /// Fails with a diagnostic where the program cannot be differentiated.
  LogicalResult run();

  /// What `run` adds up to for a parameter; null where the loss does not
  /// depend on it. The caller writes it to the gradient's global.
  Value getSum(gpt2::GlobalOp parameter) const {
    return sums.lookup(parameter.getSymNameAttr());
  }
  ProgramState &getState() { return state; }

  bool needsGradient(Value value) const override {
    return dependent.contains(value);
  }
  void addGradient(Value value, Value gradient) override;
  Value getAccumulator(OpOperand &parameter) override;
  void setAccumulator(OpOperand &parameter, Value sum) override;
  Value readSlot(StringRef name, int64_t rows) override;
  int64_t getRowBlocks(int64_t rows) const override;
  void addToLossSum(Value partials) override;

private:
  /// The parameter that a value is read from, or null.
  gpt2::GlobalOp parameterOf(Value value) const;
  void findDependent();
  LogicalResult findLoss();
  LogicalResult differentiate(Operation *op);

  func::FuncOp program;
  const SymbolTable &symbols;
  int64_t rowBlocks;
  ProgramState state;
  OpBuilder builder;
  Operation *loss = nullptr;
  bool hasFailed = false;
  DenseSet<Value> dependent; ///< on a parameter
  DenseMap<Value, Value> gradients;
  DenseMap<StringAttr, Value> sums; ///< by parameter
};

} // namespace mlir::gpt2c

#endif // GPT2C_COMPILER_TRANSFORMS_BACKWARDBUILDER_H
