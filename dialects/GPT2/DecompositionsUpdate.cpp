// DecomposeOpInterface of the ops of an update: the definition of their
// arithmetic, in the normal form of docs/architecture.md.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/Decompositions.h"
#include "dialects/GPT2/GPT2Ops.h"
#include "dialects/GPT2/RowBuilder.h"
#include "dialects/GPT2/Scalars.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <cfloat>

using namespace mlir;
using namespace mlir::gpt2;

static int64_t columnsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getDimSize(1);
}

//===----------------------------------------------------------------------===//
// square_sum
//===----------------------------------------------------------------------===//

OperandForm SquareSumOp::getOperandForm(unsigned operand) {
  return operand == 0 ? OperandForm::Row : OperandForm::Table;
}
bool SquareSumOp::isColumnResult(unsigned) { return true; }

SmallVector<Value> SquareSumOp::decompose(OpBuilder &builder, Location loc,
                                          ValueRange operands, Value rows) {
  RowBuilder row(builder, loc, rows);
  Value gradient = operands[0];
  Value scale = row.map(builder.getF32Type(), 1, {},
                        [&](OpBuilder &b, Location loc, ValueRange) {
                          return readSlot(b, loc, operands[1], 0);
                        });
  auto square = [](OpBuilder &b, Location loc, ValueRange in) {
    Scalars s(b, loc);
    Value unscaled = s.div(in[0], in[1]);
    return s.mul(unscaled, unscaled);
  };
  if (columnsOf(gradient) == 1)
    return {row.columnSum({gradient, scale}, square)};
  return {row.columnSum(row.sum({gradient, scale}, square), takeFirst)};
}

// A row is one number of the state.
OperandForm StepStateOp::getOperandForm(unsigned operand) {
  return operand == 0 ? OperandForm::Scalar : OperandForm::Table;
}

/// The eight numbers of the new state, given a function that reads the old ones
/// and one that reads the step's parameters.
static std::array<Value, 8>
buildStepState(Scalars &s, Value normSquared, bool isDynamic,
               function_ref<Value(int64_t)> state,
               function_ref<Value(int64_t)> parameter) {
  Value zero = s.number(0.0), one = s.number(1.0), largest = s.number(FLT_MAX);
  Value scale = state(0), count = state(1);
  Value norm = s.sqrt(normSquared);
  Value isFinite = s.isAtMost(norm, largest);
  Value guard = parameter(9);
  Value limit =
      s.select(s.isGreater(guard, zero), s.min(guard, largest), largest);
  Value isApplied = s.isAtMost(norm, limit);

  Value maxNorm = parameter(6);
  Value clip = s.min(s.div(maxNorm, s.add(norm, s.number(1e-6))), one);
  clip = s.select(s.isGreater(maxNorm, zero), clip, one);
  Value factor = s.select(isApplied, s.div(clip, scale), zero);

  Value newScale = scale, newCount = count;
  if (isDynamic) {
    Value next = s.add(count, one);
    Value isDue = s.isAtMost(s.number(2000.0), next);
    Value grown = s.select(isDue, s.mul(scale, s.number(2.0)), scale);
    Value kept = s.select(isFinite, scale, s.mul(scale, s.number(0.5)));
    newScale = s.select(isApplied, grown, kept);
    newCount = s.select(isApplied, s.select(isDue, zero, next),
                        s.select(isFinite, count, zero));
  }
  Value applied = s.select(isApplied, one, zero);
  Value skipped = s.select(isApplied, zero, one);
  return {newScale,
          newCount,
          skipped,
          norm,
          factor,
          zero,
          s.add(state(6), applied),
          s.add(state(7), skipped)};
}

SmallVector<Value> StepStateOp::decompose(OpBuilder &builder, Location loc,
                                          ValueRange operands, Value rows) {
  auto body = [&](OpBuilder &b, Location loc, ValueRange in) {
    Scalars s(b, loc);
    auto slot = [&](Value table) {
      return [&, table](int64_t i) { return readSlot(b, loc, table, i); };
    };
    std::array<Value, 8> values = buildStepState(
        s, in[0], getDynamic(), slot(operands[2]), slot(operands[1]));
    Value number = linalg::IndexOp::create(b, loc, 0);
    Value result = values.back();
    for (int64_t i = 0; i < 7; ++i)
      result = s.select(s.compare(arith::CmpIPredicate::eq, number, s.index(i)),
                        values[i], result);
    return result;
  };
  return {RowBuilder(builder, loc, rows)
              .map(builder.getF32Type(), 1, operands[0], body)};
}

//===----------------------------------------------------------------------===//
// adamw
//===----------------------------------------------------------------------===//

OperandForm AdamWOp::getOperandForm(unsigned operand) {
  return operand < 4 ? OperandForm::Row : OperandForm::Table;
}

namespace {

/// Builds the step of a parameter. Numbers that all elements share are row
/// vectors, so that a kernel computes them once a row.
class AdamWBuilder {
public:
  AdamWBuilder(OpBuilder &builder, Location loc, ValueRange operands,
               Value rows)
      : row(builder, loc, rows), f32(builder.getF32Type()),
        columns(columnsOf(operands[0])), parameters(operands[4]),
        factor(number(operands[5], 4)), skipped(number(operands[5], 2)) {}

  /// The first moment (numbers 3 and 10 of the parameters) or, with `power` 2,
  /// the second (4 and 11).
  Value moment(Value moment, Value gradient, unsigned power);
  Value parameter(Value p, Value m, Value v, bool hasDecay);
  /// Zeros in the place of the gradient, read last.
  Value cleared(Value gradient);
  Value rounded(Value p, Type element);

private:
  using Reader = function_ref<Value(int64_t)>;
  /// A row vector made of the numbers of a slot.
  Value number(Value slot, function_ref<Value(Scalars &, Reader)> body);
  Value number(Value slot, int64_t index) {
    return number(slot, [&](Scalars &, Reader read) { return read(index); });
  }
  /// An f32 map whose result is `in[0]` where the step is skipped.
  Value update(SmallVector<Value> inputs,
               function_ref<Value(Scalars &, ValueRange)> body);

  RowBuilder row;
  Type f32;
  int64_t columns;
  Value parameters, factor, skipped;
};

Value AdamWBuilder::number(Value slot,
                           function_ref<Value(Scalars &, Reader)> body) {
  return row.map(f32, 1, {}, [&](OpBuilder &b, Location loc, ValueRange) {
    Scalars s(b, loc);
    return body(s, [&](int64_t i) { return readSlot(b, loc, slot, i); });
  });
}

Value AdamWBuilder::update(SmallVector<Value> inputs,
                           function_ref<Value(Scalars &, ValueRange)> body) {
  inputs.push_back(skipped);
  return row.map(
      f32, columns, inputs, [&](OpBuilder &b, Location loc, ValueRange in) {
        Scalars s(b, loc);
        Value value = body(s, in);
        return s.select(s.isGreater(in.back(), s.number(0.0)), in[0], value);
      });
}

Value AdamWBuilder::moment(Value moment, Value gradient, unsigned power) {
  Value kept = number(parameters, 2 + power);
  Value added = number(parameters, 9 + power);
  return update({moment, gradient, factor, kept, added},
                [&](Scalars &s, ValueRange in) {
                  Value scaled = s.mul(in[1], in[2]);
                  Value part = s.mul(in[4], scaled);
                  if (power == 2)
                    part = s.mul(part, scaled);
                  return s.add(s.mul(in[3], in[0]), part);
                });
}

Value AdamWBuilder::parameter(Value p, Value m, Value v, bool hasDecay) {
  Value step = number(parameters, [](Scalars &s, Reader read) {
    Value rate = read(0);
    return s.div(rate, read(7));
  });
  Value root = number(parameters, 8), epsilon = number(parameters, 5);
  SmallVector<Value> inputs = {p, m, v, step, root, epsilon};
  if (hasDecay)
    inputs.push_back(number(parameters, [](Scalars &s, Reader read) {
      Value rate = read(0);
      return s.sub(s.number(1.0), s.mul(rate, read(2)));
    }));
  return update(inputs, [&](Scalars &s, ValueRange in) {
    Value from = hasDecay ? s.mul(in[0], in[6]) : in[0];
    Value size = s.add(s.div(s.sqrt(in[2]), in[4]), in[5]);
    return s.sub(from, s.mul(in[3], s.div(in[1], size)));
  });
}

Value AdamWBuilder::cleared(Value gradient) {
  return row.map(f32, columns, gradient,
                 [](OpBuilder &b, Location loc, ValueRange) {
                   return Scalars(b, loc).number(0.0);
                 });
}

Value AdamWBuilder::rounded(Value p, Type element) {
  return row.map(element, columns, p, takeFirst);
}

} // namespace

SmallVector<Value> AdamWOp::decompose(OpBuilder &builder, Location loc,
                                      ValueRange operands, Value rows) {
  AdamWBuilder step(builder, loc, operands, rows);
  Value g = operands[3];
  Value m = step.moment(operands[1], g, 1);
  Value v = step.moment(operands[2], g, 2);
  Value p = step.parameter(operands[0], m, v, getDecay());
  SmallVector<Value> results = {p, m, v, step.cleared(g)};
  if (getLow())
    results.push_back(step.rounded(p, getElementTypeOrSelf(getLow())));
  return results;
}
