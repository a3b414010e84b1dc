// Builds linalg ops in the normal form of docs/architecture.md.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_DIALECTS_GPT2_ROWBUILDER_H
#define GPT2C_DIALECTS_GPT2_ROWBUILDER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::gpt2 {

/// Builds maps and reductions over (rows, columns). Bodies compute in f32:
/// they get every float input widened.
class RowBuilder {
public:
  /// Builds one element from the inputs' elements.
  using Body = function_ref<Value(OpBuilder &, Location, ValueRange)>;

  RowBuilder(OpBuilder &builder, Location loc, Value rows)
      : builder(builder), loc(loc), rows(rows) {}

  /// `?xcolumns` of `element`: body of each element of the inputs, which are
  /// in the normal form. An f32 result of the body is rounded to `element`.
  Value map(Type element, int64_t columns, ValueRange inputs, Body body);

  /// `?x1` f32: the sum over the columns of body of each element.
  Value sum(ValueRange inputs, Body body);

  /// `?x1` f32: the maximum over the columns of body of each element.
  Value max(ValueRange inputs, Body body);

  /// `1xC` f32: the sum over the rows of body of each element.
  Value columnSum(ValueRange inputs, Body body);

  /// An f32 constant.
  Value constant(double value);
  /// An index or i32 constant.
  Value integer(Type type, int64_t value);

private:
  using Combiner = function_ref<Value(OpBuilder &, Value, Value)>;
  /// Combines over the rows or over the columns, from `init` on.
  Value reduce(bool overRows, double init, ValueRange inputs, Body body,
               Combiner combine);
  AffineMap mapOf(Type type, int64_t columns);
  Value empty(Type element, int64_t columns);

  OpBuilder &builder;
  Location loc;
  Value rows;
};

/// `value` as f32: widened where it is a narrower float.
Value widen(OpBuilder &builder, Location loc, Value value);

} // namespace mlir::gpt2

#endif // GPT2C_DIALECTS_GPT2_ROWBUILDER_H
