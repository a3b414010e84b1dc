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

/// x / (1 + exp(-slope * x)): x times its logistic sigmoid.
Value swish(Scalars &s, Value x, double slope) {
  Value power = s.exp(s.mul(x, s.number(-slope)));
  return s.div(x, s.add(power, s.number(1.0)));
}

/// The derivative of swish: sigma * (1 + slope * x * (1 - sigma)).
Value swishSlope(Scalars &s, Value x, double slope) {
  Value one = s.number(1.0);
  Value scaled = s.mul(x, s.number(slope));
  Value sigma = s.div(one, s.add(s.exp(s.negate(scaled)), one));
  return s.mul(sigma, s.add(s.mul(scaled, s.sub(one, sigma)), one));
}

/// The derivative of x / 2 * (1 + tanh(u)), u = sqrt(2 / pi) (x + 0.044715
/// x^3): (1 + tanh(u)) / 2 + x / 2 * (1 - tanh(u)^2) * u'.
Value geluTanhSlope(Scalars &s, Value x) {
  Value one = s.number(1.0), half = s.number(0.5);
  Value square = s.mul(s.mul(x, s.number(0.044715)), x);
  Value inner = s.mul(s.mul(x, s.number(sqrtTwoOverPi)), s.add(square, one));
  Value gate = s.tanh(inner);
  Value innerSlope =
      s.mul(s.add(s.mul(square, s.number(3.0)), one), s.number(sqrtTwoOverPi));
  Value gateSlope = s.mul(s.sub(one, s.mul(gate, gate)), innerSlope);
  return s.add(s.mul(s.add(gate, one), half), s.mul(s.mul(x, half), gateSlope));
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
  case ActivationKind::GeluTanh: {
    Value cube = s.mul(s.mul(x, x), x);
    Value inner = s.add(s.mul(cube, s.number(0.044715)), x);
    return applyGate(s, x, s.tanh(s.mul(inner, s.number(sqrtTwoOverPi))));
  }
  case ActivationKind::GeluErf:
    return applyGate(s, x, s.erf(s.mul(x, s.number(sqrtHalf))));
  case ActivationKind::GeluFast: {
    Value square = s.mul(s.mul(x, s.number(0.044715)), x);
    Value inner =
        s.mul(s.mul(x, s.number(sqrtTwoOverPi)), s.add(square, s.number(1.0)));
    return applyGate(s, x, s.tanh(inner));
  }
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
  case ActivationKind::Tanh: {
    Value y = s.tanh(x);
    return s.sub(s.number(1.0), s.mul(y, y));
  }
  }
  llvm_unreachable("every kind is handled");
}
