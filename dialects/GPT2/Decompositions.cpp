// DecomposeOpInterface of every op that has one: the definition of its
// arithmetic, in the normal form of docs/architecture.md.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/Decompositions.h"
#include "dialects/GPT2/Activations.h"
#include "dialects/GPT2/GPT2Ops.h"
#include "dialects/GPT2/RowBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::gpt2;

static int64_t columnsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getDimSize(1);
}

/// The integer `value` (i32 or index) as an index in [0, size).
static Value clampIndex(OpBuilder &builder, Location loc, Value value,
                        int64_t size) {
  Type index = builder.getIndexType();
  if (value.getType() != index)
    value = arith::IndexCastOp::create(builder, loc, index, value);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value last = arith::ConstantIndexOp::create(builder, loc, size - 1);
  value = arith::MaxSIOp::create(builder, loc, value, zero);
  return arith::MinSIOp::create(builder, loc, value, last);
}

/// The number of the current row, counted from `first`.
static Value rowFrom(OpBuilder &builder, Location loc, int64_t first) {
  Value row = linalg::IndexOp::create(builder, loc, 0);
  Value offset = arith::ConstantIndexOp::create(builder, loc, first);
  return arith::AddIOp::create(builder, loc, row, offset);
}

/// The element of `table` at row `row` and the current column.
static Value gather(OpBuilder &builder, Location loc, Value table, Value row) {
  Value column = linalg::IndexOp::create(builder, loc, 1);
  return tensor::ExtractOp::create(builder, loc, table,
                                   ValueRange{row, column});
}

Value gpt2::readSlot(OpBuilder &builder, Location loc, Value table,
                     int64_t index) {
  Value place = arith::ConstantIndexOp::create(builder, loc, index);
  Value column = arith::ConstantIndexOp::create(builder, loc, 0);
  return tensor::ExtractOp::create(builder, loc, table,
                                   ValueRange{place, column});
}

//===----------------------------------------------------------------------===//
// embed
//===----------------------------------------------------------------------===//

// One token a sequence: starts is a row vector, at any batch, so that programs
// share the kernel. One sequence: starts is a scalar, and row t adds its index.
// No starts: rows count from 0 in every sequence.
OperandForm EmbedOp::getOperandForm(unsigned operand) {
  if (operand == 0)
    return OperandForm::Row;
  if (operand < 3)
    return OperandForm::Table;
  bool isOneToken =
      getTokens().getType().getDimSize(0) == static_cast<int64_t>(getBatch());
  return isOneToken ? OperandForm::Row : OperandForm::Scalar;
}

/// Where the current row stands; `start` is its element of starts, if any.
static Value buildPosition(OpBuilder &builder, Location loc, Value start,
                           int64_t batch, int64_t tokens) {
  Type index = builder.getIndexType();
  if (start)
    start = arith::IndexCastOp::create(builder, loc, index, start);
  if (tokens == 1)
    return start ? start : arith::ConstantIndexOp::create(builder, loc, 0);
  Value row = linalg::IndexOp::create(builder, loc, 0);
  if (batch != 1) {
    Value size = arith::ConstantIndexOp::create(builder, loc, tokens);
    row = arith::RemSIOp::create(builder, loc, row, size);
  }
  return start ? arith::AddIOp::create(builder, loc, start, row) : row;
}

SmallVector<Value> EmbedOp::decompose(OpBuilder &builder, Location loc,
                                      ValueRange operands, Value rows) {
  Value wte = operands[1], wpe = operands[2];
  SmallVector<Value> inputs = {operands[0]};
  if (getStarts())
    inputs.push_back(operands[3]);
  auto rowsOf = [](Value table) {
    return cast<RankedTensorType>(table.getType()).getDimSize(0);
  };
  auto body = [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
    Value token = clampIndex(b, loc, in[0], rowsOf(wte));
    Value position =
        buildPosition(b, loc, in.size() == 2 ? in[1] : Value(), getBatch(),
                      getTokens().getType().getDimSize(0) / getBatch());
    position = clampIndex(b, loc, position, rowsOf(wpe));
    return arith::AddFOp::create(b, loc,
                                 widen(b, loc, gather(b, loc, wte, token)),
                                 widen(b, loc, gather(b, loc, wpe, position)));
  };
  return {RowBuilder(builder, loc, rows)
              .map(getElementTypeOrSelf(getResult()), columnsOf(getResult()),
                   inputs, body)};
}

//===----------------------------------------------------------------------===//
// layer_norm
//===----------------------------------------------------------------------===//

OperandForm LayerNormOp::getOperandForm(unsigned operand) {
  return operand == 0 ? OperandForm::Row : OperandForm::Column;
}

/// (x - mean) * rstd * gamma + beta, rounded to `element`.
static Value buildNormalized(RowBuilder &row, Type element, ValueRange inputs) {
  return row.map(element, columnsOf(inputs[0]), inputs,
                 [](OpBuilder &b, Location loc, ValueRange in) -> Value {
                   Value value = arith::SubFOp::create(b, loc, in[0], in[1]);
                   value = arith::MulFOp::create(b, loc, value, in[2]);
                   value = arith::MulFOp::create(b, loc, value, in[3]);
                   return arith::AddFOp::create(b, loc, value, in[4]);
                 });
}

SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder, Location loc,
                                          ValueRange operands, Value rows) {
  Value x = operands[0], gamma = operands[1], beta = operands[2];
  RowBuilder row(builder, loc, rows);
  Type f32 = builder.getF32Type();
  Value length = row.constant(columnsOf(x));
  Value epsilon = row.constant(getEpsilon().convertToDouble());

  Value total = row.sum(x, takeFirst);
  Value mean = row.map(f32, 1, total,
                       [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
                         return arith::DivFOp::create(b, loc, in[0], length);
                       });
  Value squares = row.sum(
      {x, mean}, [](OpBuilder &b, Location loc, ValueRange in) -> Value {
        Value centered = arith::SubFOp::create(b, loc, in[0], in[1]);
        return arith::MulFOp::create(b, loc, centered, centered);
      });
  Value rstd = row.map(
      f32, 1, squares, [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
        Value variance = arith::DivFOp::create(b, loc, in[0], length);
        variance = arith::AddFOp::create(b, loc, variance, epsilon);
        return math::RsqrtOp::create(b, loc, variance);
      });
  Value y = buildNormalized(row, getElementTypeOrSelf(getY()),
                            {x, mean, rstd, gamma, beta});
  return {y, mean, rstd};
}

OperandForm NormalizeOp::getOperandForm(unsigned operand) {
  return operand < 3 ? OperandForm::Row : OperandForm::Column;
}

SmallVector<Value> NormalizeOp::decompose(OpBuilder &builder, Location loc,
                                          ValueRange operands, Value rows) {
  RowBuilder row(builder, loc, rows);
  return {buildNormalized(row, getElementTypeOrSelf(getY()), operands)};
}

//===----------------------------------------------------------------------===//
// activation, add, cast
//===----------------------------------------------------------------------===//

OperandForm ActivationOp::getOperandForm(unsigned) { return OperandForm::Row; }
bool ActivationOp::isElementwise() { return true; }

SmallVector<Value> ActivationOp::decompose(OpBuilder &builder, Location loc,
                                           ValueRange operands, Value rows) {
  return {RowBuilder(builder, loc, rows)
              .map(getElementTypeOrSelf(getResult()), columnsOf(getX()),
                   operands, [&](OpBuilder &b, Location loc, ValueRange in) {
                     return buildActivation(b, loc, getKind(), in[0]);
                   })};
}

OperandForm AddOp::getOperandForm(unsigned) { return OperandForm::Row; }
bool AddOp::isElementwise() { return true; }

SmallVector<Value> AddOp::decompose(OpBuilder &builder, Location loc,
                                    ValueRange operands, Value rows) {
  return {RowBuilder(builder, loc, rows)
              .map(getElementTypeOrSelf(getResult()), columnsOf(getLhs()),
                   operands,
                   [](OpBuilder &b, Location loc, ValueRange in) -> Value {
                     return arith::AddFOp::create(b, loc, in[0], in[1]);
                   })};
}

OperandForm CastOp::getOperandForm(unsigned) { return OperandForm::Row; }
bool CastOp::isElementwise() { return true; }

SmallVector<Value> CastOp::decompose(OpBuilder &builder, Location loc,
                                     ValueRange operands, Value rows) {
  return {RowBuilder(builder, loc, rows)
              .map(getElementTypeOrSelf(getResult()), columnsOf(getX()),
                   operands, takeFirst)};
}

//===----------------------------------------------------------------------===//
// select_row
//===----------------------------------------------------------------------===//

OperandForm SelectRowOp::getOperandForm(unsigned operand) {
  return operand == 0 ? OperandForm::Table : OperandForm::Scalar;
}

SmallVector<Value> SelectRowOp::decompose(OpBuilder &builder, Location loc,
                                          ValueRange operands, Value rows) {
  Value x = operands[0];
  auto body = [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
    Value one = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(1));
    Value last = arith::SubIOp::create(b, loc, in[0], one);
    Value row = clampIndex(b, loc, last, getX().getType().getDimSize(0));
    return widen(b, loc, gather(b, loc, x, row));
  };
  return {RowBuilder(builder, loc, rows)
              .map(getElementTypeOrSelf(getResult()), columnsOf(x), operands[1],
                   body)};
}

//===----------------------------------------------------------------------===//
// slice_rows, concat_rows
//===----------------------------------------------------------------------===//

OperandForm SliceRowsOp::getOperandForm(unsigned) { return OperandForm::Table; }

SmallVector<Value> SliceRowsOp::decompose(OpBuilder &builder, Location loc,
                                          ValueRange operands, Value rows) {
  int64_t first = getFirst();
  auto body = [&](OpBuilder &b, Location loc, ValueRange) -> Value {
    return widen(b, loc, gather(b, loc, operands[0], rowFrom(b, loc, first)));
  };
  return {RowBuilder(builder, loc, rows)
              .map(getElementTypeOrSelf(getResult()), columnsOf(getResult()),
                   ValueRange(), body)};
}

OperandForm ConcatRowsOp::getOperandForm(unsigned) {
  return OperandForm::Table;
}

// Each row reads both tables, one of them at a row that does not count.
SmallVector<Value> ConcatRowsOp::decompose(OpBuilder &builder, Location loc,
                                           ValueRange operands, Value rows) {
  Value a = operands[0], b = operands[1];
  auto sizeOf = [](Value table) {
    return cast<RankedTensorType>(table.getType()).getDimSize(0);
  };
  auto body = [&](OpBuilder &nested, Location loc, ValueRange) -> Value {
    Value row = linalg::IndexOp::create(nested, loc, 0);
    Value inA = clampIndex(nested, loc, row, sizeOf(a));
    Value inB =
        clampIndex(nested, loc, rowFrom(nested, loc, -sizeOf(a)), sizeOf(b));
    Value size = arith::ConstantIndexOp::create(nested, loc, sizeOf(a));
    Value isInA = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::slt,
                                        row, size);
    return arith::SelectOp::create(
        nested, loc, isInA, widen(nested, loc, gather(nested, loc, a, inA)),
        widen(nested, loc, gather(nested, loc, b, inB)));
  };
  return {RowBuilder(builder, loc, rows)
              .map(getElementTypeOrSelf(getResult()), columnsOf(a),
                   ValueRange(), body)};
}

//===----------------------------------------------------------------------===//
// cross_entropy
//===----------------------------------------------------------------------===//

OperandForm CrossEntropyOp::getOperandForm(unsigned operand) {
  return operand == 1 && getFirst() ? OperandForm::Table : OperandForm::Row;
}

Value gpt2::buildTargets(OpBuilder &builder, Location loc, Value targets,
                         Value rows, std::optional<int64_t> first) {
  if (!first)
    return targets;
  auto body = [&](OpBuilder &b, Location loc, ValueRange) -> Value {
    return tensor::ExtractOp::create(
        b, loc, targets,
        ValueRange{rowFrom(b, loc, *first),
                   arith::ConstantIndexOp::create(b, loc, 0)});
  };
  return RowBuilder(builder, loc, rows)
      .map(builder.getI32Type(), 1, ValueRange(), body);
}

Value gpt2::maskPadding(OpBuilder &b, Location loc, Value value, Value padding,
                        int64_t vocab) {
  Value column = linalg::IndexOp::create(b, loc, 1);
  Value size = arith::ConstantIndexOp::create(b, loc, vocab);
  Value isWord =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, column, size);
  return arith::SelectOp::create(b, loc, isWord, value, padding);
}

Value gpt2::isLabel(OpBuilder &b, Location loc, Value target) {
  Value column = linalg::IndexOp::create(b, loc, 1);
  target = arith::IndexCastOp::create(b, loc, b.getIndexType(), target);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, column,
                               target);
}

Value gpt2::isScored(OpBuilder &b, Location loc, Value target, int64_t vocab) {
  // Unsigned, so that -1 is out of range too.
  Value size = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(vocab));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, target, size);
}

Softmax gpt2::buildSoftmax(RowBuilder &row, Value logits, int64_t vocab) {
  Value zero = row.constant(0.0);
  Value lowest = row.constant(-std::numeric_limits<double>::infinity());
  Value top = row.max(logits, [&](OpBuilder &b, Location loc, ValueRange in) {
    return maskPadding(b, loc, in[0], lowest, vocab);
  });
  Value total =
      row.sum({logits, top}, [&](OpBuilder &b, Location loc, ValueRange in) {
        Value shifted = arith::SubFOp::create(b, loc, in[0], in[1]);
        return maskPadding(b, loc, math::ExpOp::create(b, loc, shifted), zero,
                           vocab);
      });
  return {top, total};
}

Value gpt2::buildLosses(RowBuilder &row, Value logits, Value targets,
                        const Softmax &softmax, int64_t vocab) {
  Value zero = row.constant(0.0);
  // One column matches at most, so this sum is exact.
  Value label =
      row.sum({logits, targets},
              [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
                return arith::SelectOp::create(b, loc, isLabel(b, loc, in[1]),
                                               in[0], zero);
              });
  return row.map(zero.getType(), 1,
                 {softmax.total, softmax.top, label, targets},
                 [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
                   Value loss = math::LogOp::create(b, loc, in[0]);
                   loss = arith::AddFOp::create(b, loc, loss, in[1]);
                   loss = arith::SubFOp::create(b, loc, loss, in[2]);
                   return arith::SelectOp::create(
                       b, loc, isScored(b, loc, in[3], vocab), loss, zero);
                 });
}

SmallVector<Value> CrossEntropyOp::decompose(OpBuilder &builder, Location loc,
                                             ValueRange operands, Value rows) {
  RowBuilder row(builder, loc, rows);
  int64_t vocab = getVocab();
  Value targets = buildTargets(builder, loc, operands[1], rows, getFirst());
  Softmax softmax = buildSoftmax(row, operands[0], vocab);
  return {buildLosses(row, operands[0], targets, softmax, vocab)};
}
