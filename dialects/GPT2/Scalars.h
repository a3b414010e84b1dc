// f32 and i32 arithmetic in the bodies of decompositions.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_DIALECTS_GPT2_SCALARS_H
#define GPT2C_DIALECTS_GPT2_SCALARS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::gpt2 {

/// Builds scalar ops at one place.
class Scalars {
public:
  Scalars(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value number(double value) {
    return arith::ConstantOp::create(
        builder, loc, builder.getF32FloatAttr(static_cast<float>(value)));
  }
  Value integer(uint32_t value) {
    return arith::ConstantOp::create(
        builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  Value add(Value a, Value b) { return build<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return build<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return build<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return build<arith::DivFOp>(a, b); }
  Value max(Value a, Value b) { return build<arith::MaximumFOp>(a, b); }
  Value min(Value a, Value b) { return build<arith::MinimumFOp>(a, b); }
  Value negate(Value x) { return build<arith::NegFOp>(x); }
  Value abs(Value x) { return build<math::AbsFOp>(x); }
  Value exp(Value x) { return build<math::ExpOp>(x); }
  Value tanh(Value x) { return build<math::TanhOp>(x); }
  Value erf(Value x) { return build<math::ErfOp>(x); }
  Value sqrt(Value x) { return build<math::SqrtOp>(x); }

  /// Ordered comparisons: false where an operand is not a number.
  Value isGreater(Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, b);
  }
  Value isAtMost(Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLE, a, b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return build<arith::SelectOp>(condition, a, b);
  }

  /// Builds an op that takes `operands` and has one result.
  template <typename OpT, typename... Operands>
  Value build(Operands... operands) {
    return OpT::create(builder, loc, operands...);
  }

private:
  OpBuilder &builder;
  Location loc;
};

} // namespace mlir::gpt2

#endif // GPT2C_DIALECTS_GPT2_SCALARS_H
