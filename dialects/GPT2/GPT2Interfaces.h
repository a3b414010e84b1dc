// The op interfaces of the gpt2 dialect.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_DIALECTS_GPT2_GPT2INTERFACES_H
#define GPT2C_DIALECTS_GPT2_GPT2INTERFACES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

namespace mlir::gpt2 {

/// How `mixed-precision` treats an op: low type, f32, or its widest operand's.
enum class PrecisionClass { Allow, Deny, Infer };

/// How an operand appears in a decomposition.
enum class OperandForm {
  Row,    ///< ?xC or ?x1: one row of it belongs to one row of the kernel
  Column, ///< 1xC: the same for every row
  Scalar, ///< 1x1
  Table   ///< static shape, any of its rows may be read
};

/// The backward half of a program while `build-training` makes it.
class GradientBuilder {
public:
  virtual ~GradientBuilder() = default;

  /// Whether a gradient of `value` is of use: some parameter leads to it.
  virtual bool needsGradient(Value value) const = 0;
  /// Adds to the gradient of a value, which has the value's own type.
  virtual void addGradient(Value value, Value gradient) = 0;
  /// The sum so far of the gradient of a parameter. Null, and a diagnostic of
  /// the op, where the operand is not read straight from a parameter.
  virtual Value getAccumulator(OpOperand &parameter) = 0;
  /// Replaces that sum by one with more in it.
  virtual void setAccumulator(OpOperand &parameter, Value sum) = 0;
  /// The slot `name`: step_params, train_state, or the first `rows` of order.
  virtual Value readSlot(StringRef name, int64_t rows = 0) = 0;
  /// Row blocks of a column result over `rows` rows.
  virtual int64_t getRowBlocks(int64_t rows) const = 0;
  /// Adds a column result of the losses to the slot that sums them.
  virtual void addToLossSum(Value partials) = 0;
};

/// Whether a shape is static, with dimensions from 1 to 2^31 - 1 and at most
/// 2^40 elements, so that sizes in bytes and counts of work fit 64 bits.
bool isUsableShape(RankedTensorType type);

/// Bytes of all tensors in `types`.
int64_t sumBytes(TypeRange types);

} // namespace mlir::gpt2

#include "dialects/GPT2/GPT2Interfaces.h.inc"

#endif // GPT2C_DIALECTS_GPT2_GPT2INTERFACES_H
