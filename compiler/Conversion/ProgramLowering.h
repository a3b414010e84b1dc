//===- ProgramLowering.h - One program, tensors to buffers ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Conversion/KernelTable.h"
#include "dialects/GPT2/GPT2Ops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::gpt2c {

/// What a lowering did, for the pass's statistics.
struct LoweringCounts {
  unsigned launches = 0;
  unsigned directWrites = 0;
  unsigned copies = 0;
};

/// The buffer type of a tensor.
MemRefType bufferTypeOf(Type tensor);

/// Lowers one `func.func` program into a `plan.program` at the module's end.
class ProgramLowering {
public:
  ProgramLowering(func::FuncOp function, KernelTable &kernels,
                  int64_t matvecRows, bool recordCosts);

  LogicalResult run();
  const LoweringCounts &getCounts() const { return counts; }

private:
  LogicalResult lower(Operation *op);
  /// The operation before the place where instructions are appended, or null.
  Operation *getLast() const;
  /// Notes what `op` costs at the first instruction behind `last`, if any.
  void noteCost(Operation *op, Operation *last);
  void lowerRowKernel(Operation *op);
  void lowerMatvec(Operation *op);
  void lowerLinear(gpt2::LinearOp op);
  void lowerInputGrad(gpt2::InputGradOp op);
  void lowerWeightGrad(gpt2::WeightGradOp op);
  void lowerAttention(gpt2::AttentionOp op);
  void lowerAttentionGrad(gpt2::AttentionGradOp op);
  void lowerEmbedGrad(gpt2::EmbedGradOp op);
  void lowerCacheAppend(gpt2::CacheAppendOp op);
  void lowerSample(gpt2::SampleOp op);
  LogicalResult lowerWrite(gpt2::WriteOp op);
  void launch(Operation *op, plan::KernelOp kernel, ArrayRef<Value> ins,
              ArrayRef<OpResult> outputs, int64_t rows);

  Value alloc(Location loc, Type tensor);
  Value globalRef(Location loc, StringRef global, MemRefType type);
  /// Appends a copy that `op` needs, and says so in a remark.
  void copy(Operation *op, Value from, Value to);

  /// The buffer of a value that has been lowered; null for a null value.
  Value bufferOf(Value tensor) const { return buffers.lookup(tensor); }
  /// The buffer that a new result is computed into. `updated` are values that
  /// the same op reads element by element before it writes the result.
  Value createDestination(OpResult result, ArrayRef<Value> updated = {});
  /// The buffer of a result that replaces `operand` (destination passing).
  Value takeOver(OpResult result, OpOperand &operand);
  /// The write that `result` can be computed straight into, if any.
  gpt2::WriteOp findDirectWrite(OpResult result, ArrayRef<Value> updated);
  /// Whether some op at or after `from` still uses the global's old value, but
  /// for `from` itself where the value is one of `updated`.
  bool isReadFrom(StringRef global, Operation *from,
                  ArrayRef<Value> updated = {});
  /// Whether `rows` is the count that the program's count slot can cut short.
  bool followsCount(int64_t rows) const;

  func::FuncOp function;
  gpt2::ProgramAttr info;
  KernelTable &kernels;
  int64_t matvecRows;
  bool recordCosts;
  OpBuilder builder;
  DenseMap<Value, Value> buffers;
  DenseMap<std::pair<StringRef, Type>, Value> globalRefs;
  DenseMap<StringRef, SmallVector<gpt2::ReadOp>> reads; // by global
  LoweringCounts counts;
};

} // namespace mlir::gpt2c
