// Builds linalg ops in the normal form of docs/architecture.md.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/RowBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::gpt2;

Value gpt2::widen(OpBuilder &builder, Location loc, Value value) {
  if (!isa<FloatType>(value.getType()) || value.getType().isF32())
    return value;
  return arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
}

static SmallVector<Value> widenInputs(OpBuilder &builder, Location loc,
                                      ValueRange inputs) {
  return llvm::map_to_vector(
      inputs, [&](Value value) { return widen(builder, loc, value); });
}

Value RowBuilder::constant(double value) {
  return arith::ConstantOp::create(
      builder, loc, builder.getF32FloatAttr(static_cast<float>(value)));
}

Value RowBuilder::integer(Type type, int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(type, value));
}

Value RowBuilder::empty(Type element, int64_t columns) {
  auto type = RankedTensorType::get({ShapedType::kDynamic, columns}, element);
  return tensor::EmptyOp::create(builder, loc, type, rows);
}

/// (d0, d1), (d0, 0), (0, d1) or (0, 0): a unit dimension is the constant 0,
/// except where the loop over columns itself has one step.
AffineMap RowBuilder::mapOf(Type type, int64_t columns) {
  auto tensor = cast<RankedTensorType>(type);
  AffineExpr zero = builder.getAffineConstantExpr(0);
  bool perRow = tensor.isDynamicDim(0);
  bool perColumn = tensor.getDimSize(1) == columns && (perRow || columns != 1);
  return AffineMap::get(2, 0,
                        {perRow ? builder.getAffineDimExpr(0) : zero,
                         perColumn ? builder.getAffineDimExpr(1) : zero},
                        builder.getContext());
}

Value RowBuilder::map(Type element, int64_t columns, ValueRange inputs,
                      Body body) {
  Value init = empty(element, columns);
  SmallVector<AffineMap> maps;
  for (Value input : inputs)
    maps.push_back(mapOf(input.getType(), columns));
  maps.push_back(mapOf(init.getType(), columns));
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
  auto build = [&](OpBuilder &nested, Location loc, ValueRange arguments) {
    Value value =
        body(nested, loc, widenInputs(nested, loc, arguments.drop_back()));
    if (value.getType() != element)
      value = arith::TruncFOp::create(nested, loc, element, value);
    linalg::YieldOp::create(nested, loc, value);
  };
  return linalg::GenericOp::create(builder, loc, init.getType(), inputs, init,
                                   maps, iterators, build)
      .getResult(0);
}

Value RowBuilder::reduce(bool overRows, double init, ValueRange inputs,
                         Body body, Combiner combine) {
  int64_t columns = 1;
  SmallVector<AffineMap> maps;
  for (Value input : inputs)
    columns = std::max(columns,
                       cast<RankedTensorType>(input.getType()).getDimSize(1));
  for (Value input : inputs)
    maps.push_back(mapOf(input.getType(), columns));
  AffineExpr zero = builder.getAffineConstantExpr(0);
  Type f32 = builder.getF32Type();
  Value place;
  if (overRows) {
    maps.push_back(AffineMap::get(2, 0, {zero, builder.getAffineDimExpr(1)},
                                  builder.getContext()));
    place = tensor::EmptyOp::create(builder, loc, {1, columns}, f32);
  } else {
    maps.push_back(AffineMap::get(2, 0, {builder.getAffineDimExpr(0), zero},
                                  builder.getContext()));
    place = empty(f32, 1);
  }
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
  iterators[overRows ? 0 : 1] = utils::IteratorType::reduction;
  Value fill =
      linalg::FillOp::create(builder, loc, constant(init), place).getResult(0);
  auto build = [&](OpBuilder &nested, Location loc, ValueRange arguments) {
    Value value =
        body(nested, loc, widenInputs(nested, loc, arguments.drop_back()));
    linalg::YieldOp::create(nested, loc,
                            combine(nested, value, arguments.back()));
  };
  return linalg::GenericOp::create(builder, loc, fill.getType(), inputs, fill,
                                   maps, iterators, build)
      .getResult(0);
}

static Value addInAnyOrder(OpBuilder &builder, Value value, Value accumulator) {
  return arith::AddFOp::create(builder, value.getLoc(), value, accumulator,
                               arith::FastMathFlags::reassoc);
}

Value RowBuilder::sum(ValueRange inputs, Body body) {
  return reduce(/*overRows=*/false, 0.0, inputs, body, addInAnyOrder);
}

Value RowBuilder::columnSum(ValueRange inputs, Body body) {
  return reduce(/*overRows=*/true, 0.0, inputs, body, addInAnyOrder);
}

Value RowBuilder::max(ValueRange inputs, Body body) {
  return reduce(
      /*overRows=*/false, -std::numeric_limits<double>::infinity(), inputs,
      body, [&](OpBuilder &nested, Value value, Value accumulator) -> Value {
        return arith::MaximumFOp::create(nested, loc, value, accumulator);
      });
}
