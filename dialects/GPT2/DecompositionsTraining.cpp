// DecomposeOpInterface of dropout and the gradients: the definition of their
// arithmetic, in the normal form of docs/architecture.md.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/Activations.h"
#include "dialects/GPT2/Decompositions.h"
#include "dialects/GPT2/GPT2Ops.h"
#include "dialects/GPT2/RowBuilder.h"
#include "dialects/GPT2/Scalars.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::gpt2;

static int64_t columnsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getDimSize(1);
}

//===----------------------------------------------------------------------===//
// dropout
//===----------------------------------------------------------------------===//

/// "lowbias32" of C. Wellons' hash prospector: every bit of x reaches all bits.
static Value mix(Scalars &s, Value x) {
  auto fold = [&](Value x, uint32_t bits) {
    return s.build<arith::XOrIOp>(x,
                                  s.build<arith::ShRUIOp>(x, s.integer(bits)));
  };
  x = s.build<arith::MulIOp>(fold(x, 16), s.integer(0x7feb352d));
  x = s.build<arith::MulIOp>(fold(x, 15), s.integer(0x846ca68b));
  return fold(x, 16);
}

/// `hash` with the bits of `next`.
static Value combine(Scalars &s, Value hash, Value next) {
  return mix(s, s.build<arith::XOrIOp>(hash, next));
}

OperandForm DropoutKeysOp::getOperandForm(unsigned) {
  return OperandForm::Table;
}

SmallVector<Value> DropoutKeysOp::decompose(OpBuilder &builder, Location loc,
                                            ValueRange operands, Value rows) {
  RowBuilder row(builder, loc, rows);
  SmallVector<Value> keys;
  for (int32_t id : getIds())
    keys.push_back(row.map(
        builder.getI32Type(), 1, {},
        [&](OpBuilder &b, Location loc, ValueRange) {
          Scalars s(b, loc);
          Value start = readSlot(b, loc, operands[0], 0);
          Value number = s.integer(0x9e3779b9u * static_cast<uint32_t>(id));
          Value hash = mix(s, s.build<arith::AddIOp>(start, number));
          hash = combine(s, hash, readSlot(b, loc, operands[0], 1));
          return combine(s, hash, readSlot(b, loc, operands[0], 2));
        }));
  return keys;
}

OperandForm DropoutOp::getOperandForm(unsigned operand) {
  OperandForm forms[] = {OperandForm::Row, OperandForm::Table,
                         OperandForm::Scalar};
  return forms[operand];
}

/// The hash of a row's key, sample and position; `tokens` rows are a sample.
static Value buildRowHash(OpBuilder &builder, Location loc, Value key,
                          Value rng, int64_t tokens) {
  Scalars s(builder, loc);
  Type i32 = builder.getI32Type();
  Value row = linalg::IndexOp::create(builder, loc, 0);
  Value size = s.index(tokens);
  Value sample = s.build<arith::DivSIOp>(row, size);
  sample = arith::IndexCastOp::create(builder, loc, i32, sample);
  Value first = readSlot(builder, loc, rng, 3);
  Value hash = combine(s, key, s.build<arith::AddIOp>(first, sample));
  Value position = s.build<arith::RemSIOp>(row, size);
  return combine(s, hash,
                 arith::IndexCastOp::create(builder, loc, i32, position));
}

SmallVector<Value> DropoutOp::decompose(OpBuilder &builder, Location loc,
                                        ValueRange operands, Value rows) {
  RowBuilder row(builder, loc, rows);
  double probability = getProbability().convertToDouble();
  auto threshold = static_cast<uint32_t>(probability * 0x1p32);
  int64_t tokens =
      getX().getType().getDimSize(0) / static_cast<int64_t>(getBatch());
  Value hashes =
      row.map(builder.getI32Type(), 1, operands[2],
              [&](OpBuilder &b, Location loc, ValueRange in) {
                return buildRowHash(b, loc, in[0], operands[1], tokens);
              });
  auto body = [&](OpBuilder &b, Location loc, ValueRange in) {
    Scalars s(b, loc);
    Value column = linalg::IndexOp::create(b, loc, 1);
    column = arith::IndexCastOp::create(b, loc, b.getI32Type(), column);
    Value hash = combine(s, in[1], column);
    Value isDropped =
        s.compare(arith::CmpIPredicate::ult, hash, s.integer(threshold));
    return s.select(isDropped, s.number(0.0),
                    s.mul(in[0], s.number(1.0 / (1.0 - probability))));
  };
  return {row.map(getElementTypeOrSelf(getX()), columnsOf(getX()),
                  {operands[0], hashes}, body)};
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

OperandForm LayerNormGradOp::getOperandForm(unsigned operand) {
  return operand == 2 ? OperandForm::Column : OperandForm::Row;
}
bool LayerNormGradOp::isColumnResult(unsigned result) { return result != 0; }

SmallVector<Value> LayerNormGradOp::decompose(OpBuilder &builder, Location loc,
                                              ValueRange operands, Value rows) {
  Value dy = operands[0], x = operands[1], gamma = operands[2];
  Value mean = operands[3], rstd = operands[4];
  RowBuilder row(builder, loc, rows);
  Type f32 = builder.getF32Type();
  Value length = row.constant(columnsOf(x));
  auto normalize = [](Scalars &s, Value x, Value mean, Value rstd) {
    return s.mul(s.sub(x, mean), rstd);
  };
  auto average = [&](Value total) {
    return row.map(f32, 1, total,
                   [&](OpBuilder &b, Location loc, ValueRange in) {
                     return Scalars(b, loc).div(in[0], length);
                   });
  };

  Value center = average(
      row.sum({dy, gamma}, [](OpBuilder &b, Location loc, ValueRange in) {
        return Scalars(b, loc).mul(in[0], in[1]);
      }));
  Value slope =
      average(row.sum({dy, gamma, x, mean, rstd},
                      [&](OpBuilder &b, Location loc, ValueRange in) {
                        Scalars s(b, loc);
                        return s.mul(s.mul(in[0], in[1]),
                                     normalize(s, in[2], in[3], in[4]));
                      }));
  Value dx =
      row.map(f32, columnsOf(x), {dy, gamma, x, mean, rstd, center, slope},
              [&](OpBuilder &b, Location loc, ValueRange in) {
                Scalars s(b, loc);
                Value along = s.mul(normalize(s, in[2], in[3], in[4]), in[6]);
                Value value = s.sub(s.sub(s.mul(in[0], in[1]), in[5]), along);
                return s.mul(value, in[4]);
              });
  Value dgamma = row.columnSum(
      {dy, x, mean, rstd}, [&](OpBuilder &b, Location loc, ValueRange in) {
        Scalars s(b, loc);
        return s.mul(in[0], normalize(s, in[1], in[2], in[3]));
      });
  Value dbeta = row.columnSum(dy, takeFirst);
  return {dx, dgamma, dbeta};
}

OperandForm ColumnSumOp::getOperandForm(unsigned) { return OperandForm::Row; }
bool ColumnSumOp::isColumnResult(unsigned) { return true; }

SmallVector<Value> ColumnSumOp::decompose(OpBuilder &builder, Location loc,
                                          ValueRange operands, Value rows) {
  return {RowBuilder(builder, loc, rows).columnSum(operands, takeFirst)};
}

OperandForm ColumnFinishOp::getOperandForm(unsigned) {
  return OperandForm::Row;
}

SmallVector<Value> ColumnFinishOp::decompose(OpBuilder &builder, Location loc,
                                             ValueRange operands, Value rows) {
  RowBuilder row(builder, loc, rows);
  Value total = row.sum(operands[0], takeFirst);
  if (!getAcc())
    return {row.map(builder.getF32Type(), 1, total, takeFirst)};
  return {row.map(builder.getF32Type(), 1, {operands[1], total},
                  [](OpBuilder &b, Location loc, ValueRange in) {
                    return Scalars(b, loc).add(in[0], in[1]);
                  })};
}

OperandForm ActivationGradOp::getOperandForm(unsigned) {
  return OperandForm::Row;
}
bool ActivationGradOp::isElementwise() { return true; }

SmallVector<Value> ActivationGradOp::decompose(OpBuilder &builder, Location loc,
                                               ValueRange operands,
                                               Value rows) {
  return {RowBuilder(builder, loc, rows)
              .map(getElementTypeOrSelf(getDx()), columnsOf(getX()), operands,
                   [&](OpBuilder &b, Location loc, ValueRange in) {
                     Value slope =
                         buildActivationSlope(b, loc, getKind(), in[1]);
                     return Scalars(b, loc).mul(in[0], slope);
                   })};
}

OperandForm CrossEntropyGradOp::getOperandForm(unsigned operand) {
  bool isRow = operand == 0 || (operand == 1 && !getFirst());
  return isRow ? OperandForm::Row : OperandForm::Table;
}
bool CrossEntropyGradOp::isColumnResult(unsigned result) { return result == 1; }

SmallVector<Value> CrossEntropyGradOp::decompose(OpBuilder &builder,
                                                 Location loc,
                                                 ValueRange operands,
                                                 Value rows) {
  Value logits = operands[0];
  Value targets = buildTargets(builder, loc, operands[1], rows, getFirst());
  int64_t vocab = getVocab();
  RowBuilder row(builder, loc, rows);
  Type f32 = builder.getF32Type();
  Softmax softmax = buildSoftmax(row, logits, vocab);
  Value losses = buildLosses(row, logits, targets, softmax, vocab);
  Value total = row.columnSum(losses, takeFirst);

  Value factor =
      row.map(f32, 1, targets, [&](OpBuilder &b, Location loc, ValueRange in) {
        Scalars s(b, loc);
        Value inverseCount = readSlot(b, loc, operands[2], 1);
        Value scale = s.mul(inverseCount, readSlot(b, loc, operands[3], 0));
        return s.select(isScored(b, loc, in[0], vocab), scale, s.number(0.0));
      });
  Value scale = row.map(f32, 1, {factor, softmax.total},
                        [](OpBuilder &b, Location loc, ValueRange in) {
                          return Scalars(b, loc).div(in[0], in[1]);
                        });
  Value dlogits = row.map(
      getElementTypeOrSelf(getDlogits()), columnsOf(logits),
      {logits, targets, softmax.top, scale, factor},
      [&](OpBuilder &b, Location loc, ValueRange in) {
        Scalars s(b, loc);
        Value value = s.mul(s.exp(s.sub(in[0], in[2])), in[3]);
        value = s.select(isLabel(b, loc, in[1]), s.sub(value, in[4]), value);
        return maskPadding(b, loc, value, s.number(0.0), vocab);
      });
  return {losses, total, dlogits};
}
