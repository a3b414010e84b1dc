// The activation functions as scalar arithmetic.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/Activations.h"
#include "dialects/GPT2/Scalars.h"

using namespace mlir;
using namespace mlir::gpt2;

namespace {

constexpr double sqrtTwoOverPi = 0.79788456080286535588;
constexpr double sqrtHalf = 0.70710678118654752440;
constexpr double sqrtHalfOverPi = 0.39894228040143267794; // 1 / sqrt(2 pi)

/// x / 2 * (1 + gate).
Value applyGate(Scalars &s, Value x, Value gate) {
  return s.mul(s.mul(x, s.number(0.5)), s.add(gate, s.number(1.0)));
}

/// x / (1 + exp(power)): x times the logistic sigmoid of -power.
Value gated(Scalars &s, Value x, Value power) {
  return s.div(x, s.add(s.exp(power), s.number(1.0)));
}

/// x times its logistic sigmoid.
Value swish(Scalars &s, Value x, double slope) {
  return gated(s, x, s.mul(x, s.number(-slope)));
}

/// x / 2 * (1 + tanh(u)) = x * sigmoid(2 u) with u = sqrt(2 / pi) * (x +
/// 0.044715 x^3). The sigmoid does not cancel where tanh is next to -1.
Value geluTanh(Scalars &s, Value x) {
  Value square = s.mul(s.mul(x, s.number(0.044715)), x);
  Value factor = s.mul(x, s.number(-2 * sqrtTwoOverPi));
  return gated(s, x, s.mul(factor, s.add(square, s.number(1.0))));
}

/// A logistic sigmoid and its derivative, neither of which cancels.
struct Logistic {
  Logistic(Scalars &s, Value x) {
    // With e = exp(-|x|): 1 / (1 + e) or e / (1 + e), and e / (1 + e)^2.
    Value tail = s.exp(s.negate(s.abs(x)));
    Value near = s.div(s.number(1.0), s.add(tail, s.number(1.0)));
    Value far = s.mul(tail, near);
    value = s.select(s.isGreater(x, s.number(0.0)), near, far);
    slope = s.mul(far, near);
  }
  Value value, slope;
};

/// The derivative of x * sigmoid(inner(x)).
Value gatedSlope(Scalars &s, Value x, Value inner, Value innerSlope) {
  Logistic gate(s, inner);
  return s.add(gate.value, s.mul(s.mul(x, innerSlope), gate.slope));
}

/// The derivative of swish.
Value swishSlope(Scalars &s, Value x, double slope) {
  return gatedSlope(s, x, s.mul(x, s.number(slope)), s.number(slope));
}

/// The derivative of geluTanh.
Value geluTanhSlope(Scalars &s, Value x) {
  Value one = s.number(1.0), factor = s.number(2 * sqrtTwoOverPi);
  Value square = s.mul(s.mul(x, s.number(0.044715)), x);
  Value inner = s.mul(s.mul(x, factor), s.add(square, one));
  Value innerSlope = s.mul(s.add(s.mul(square, s.number(3.0)), one), factor);
  return gatedSlope(s, x, inner, innerSlope);
}

/// The derivative of x / 2 * (1 + erf(x / sqrt(2))): the normal distribution
/// plus x times its density.
Value geluErfSlope(Scalars &s, Value x) {
  Value gate = s.erf(s.mul(x, s.number(sqrtHalf)));
  Value mass = s.mul(s.add(gate, s.number(1.0)), s.number(0.5));
  Value density = s.mul(s.exp(s.mul(s.mul(x, s.number(-0.5)), x)),
                        s.number(sqrtHalfOverPi));
  return s.add(mass, s.mul(x, density));
}

} // namespace

Value gpt2::buildActivation(OpBuilder &builder, Location loc,
                            ActivationKind kind, Value x) {
  Scalars s(builder, loc);
  switch (kind) {
  case ActivationKind::GeluTanh:
  case ActivationKind::GeluFast:
    return geluTanh(s, x);
  case ActivationKind::GeluErf:
    return applyGate(s, x, s.erf(s.mul(x, s.number(sqrtHalf))));
  case ActivationKind::QuickGelu:
    return swish(s, x, 1.702);
  case ActivationKind::Relu:
    return s.max(x, s.number(0.0));
  case ActivationKind::Silu:
    return swish(s, x, 1.0);
  case ActivationKind::Tanh:
    return s.tanh(x);
  }
  llvm_unreachable("every kind is handled");
}

Value gpt2::buildActivationSlope(OpBuilder &builder, Location loc,
                                 ActivationKind kind, Value x) {
  Scalars s(builder, loc);
  switch (kind) {
  case ActivationKind::GeluTanh:
  case ActivationKind::GeluFast:
    return geluTanhSlope(s, x);
  case ActivationKind::GeluErf:
    return geluErfSlope(s, x);
  case ActivationKind::QuickGelu:
    return swishSlope(s, x, 1.702);
  case ActivationKind::Relu:
    return s.select(s.isGreater(x, s.number(0.0)), s.number(1.0),
                    s.number(0.0));
  case ActivationKind::Silu:
    return swishSlope(s, x, 1.0);
  case ActivationKind::Tanh: // 2 * sigmoid(2 x) - 1
    return s.mul(Logistic(s, s.mul(x, s.number(2.0))).slope, s.number(4.0));
  }
  llvm_unreachable("every kind is handled");
}
