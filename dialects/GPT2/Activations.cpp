// The activation functions as scalar arithmetic.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/Activations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::gpt2;

namespace {

constexpr double sqrtTwoOverPi = 0.79788456080286535588;
constexpr double sqrtHalf = 0.70710678118654752440;

/// f32 arithmetic at one place.
class Scalars {
public:
  Scalars(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value number(double value) {
    return arith::ConstantOp::create(
        builder, loc, builder.getF32FloatAttr(static_cast<float>(value)));
  }
  Value add(Value a, Value b) {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value tanh(Value x) { return math::TanhOp::create(builder, loc, x); }
  Value erf(Value x) { return math::ErfOp::create(builder, loc, x); }
  Value relu(Value x) {
    return arith::MaximumFOp::create(builder, loc, x, number(0.0));
  }
  /// x / (1 + exp(-slope * x)): x times its logistic sigmoid.
  Value swish(Value x, double slope) {
    Value power = math::ExpOp::create(builder, loc, mul(x, number(-slope)));
    return arith::DivFOp::create(builder, loc, x, add(power, number(1.0)));
  }
  /// x / 2 * (1 + gate).
  Value gate(Value x, Value gate) {
    return mul(mul(x, number(0.5)), add(gate, number(1.0)));
  }

private:
  OpBuilder &builder;
  Location loc;
};

} // namespace

Value gpt2::buildActivation(OpBuilder &builder, Location loc,
                            ActivationKind kind, Value x) {
  Scalars s(builder, loc);
  switch (kind) {
  case ActivationKind::GeluTanh: {
    Value cube = s.mul(s.mul(x, x), x);
    Value inner = s.add(s.mul(cube, s.number(0.044715)), x);
    return s.gate(x, s.tanh(s.mul(inner, s.number(sqrtTwoOverPi))));
  }
  case ActivationKind::GeluErf:
    return s.gate(x, s.erf(s.mul(x, s.number(sqrtHalf))));
  case ActivationKind::GeluFast: {
    Value square = s.mul(s.mul(x, s.number(0.044715)), x);
    Value inner =
        s.mul(s.mul(x, s.number(sqrtTwoOverPi)), s.add(square, s.number(1.0)));
    return s.gate(x, s.tanh(inner));
  }
  case ActivationKind::QuickGelu:
    return s.swish(x, 1.702);
  case ActivationKind::Relu:
    return s.relu(x);
  case ActivationKind::Silu:
    return s.swish(x, 1.0);
  case ActivationKind::Tanh:
    return s.tanh(x);
  }
  llvm_unreachable("every kind is handled");
}
