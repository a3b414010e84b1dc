// Evaluates decompositions in double arithmetic.
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/GPT2/RegionEvaluator.h"

#include "dialects/GPT2/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace mlir;

namespace gpt2test {

namespace {

bool compare(arith::CmpFPredicate predicate, double a, double b) {
  switch (predicate) {
  case arith::CmpFPredicate::OGT:
    return a > b;
  case arith::CmpFPredicate::OLE:
    return a <= b;
  default:
    ADD_FAILURE() << "unknown float comparison";
    return false;
  }
}

uint32_t bitsOf(double value) {
  return static_cast<uint32_t>(static_cast<int64_t>(value));
}

double fromBits(uint32_t bits) { return static_cast<int32_t>(bits); }

bool compare(arith::CmpIPredicate predicate, double a, double b) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::ult:
    return bitsOf(a) < bitsOf(b);
  default:
    ADD_FAILURE() << "unknown integer comparison";
    return false;
  }
}

double valueOf(TypedAttr attr) {
  if (auto number = dyn_cast<FloatAttr>(attr))
    return number.getValueAsDouble();
  return static_cast<double>(cast<IntegerAttr>(attr).getInt());
}

/// Integers of 32 bits wrap around; an index never gets near that.
double evaluateInteger(Operation *op, double a, double b) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](arith::AddIOp) { return fromBits(bitsOf(a) + bitsOf(b)); })
      .Case([&](arith::SubIOp) { return fromBits(bitsOf(a) - bitsOf(b)); })
      .Case([&](arith::MulIOp) { return fromBits(bitsOf(a) * bitsOf(b)); })
      .Case([&](arith::XOrIOp) { return fromBits(bitsOf(a) ^ bitsOf(b)); })
      .Case([&](arith::ShRUIOp) { return fromBits(bitsOf(a) >> bitsOf(b)); })
      .Case([&](arith::MaxSIOp) { return std::max(a, b); })
      .Case([&](arith::MinSIOp) { return std::min(a, b); })
      .Case([&](arith::DivSIOp) { return std::trunc(a / b); })
      .Case([&](arith::RemSIOp) { return std::fmod(a, b); })
      .Default([](Operation *other) {
        ADD_FAILURE() << "unknown op " << other->getName().getStringRef().str();
        return 0.0;
      });
}

double evaluateScalar(Operation *op, ArrayRef<double> in) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([](arith::ConstantOp constant) {
        return valueOf(constant.getValue());
      })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::IndexCastOp>(
          [&](Operation *) { return in[0]; })
      .Case([&](arith::AddFOp) { return in[0] + in[1]; })
      .Case([&](arith::SubFOp) { return in[0] - in[1]; })
      .Case([&](arith::MulFOp) { return in[0] * in[1]; })
      .Case([&](arith::DivFOp) { return in[0] / in[1]; })
      .Case([&](arith::MaximumFOp) { return std::max(in[0], in[1]); })
      .Case([&](arith::MinimumFOp) { return std::min(in[0], in[1]); })
      .Case([&](arith::NegFOp) { return -in[0]; })
      .Case([&](arith::SelectOp) { return in[0] != 0 ? in[1] : in[2]; })
      .Case([&](arith::CmpFOp cmp) {
        return double(compare(cmp.getPredicate(), in[0], in[1]));
      })
      .Case([&](arith::CmpIOp cmp) {
        return double(compare(cmp.getPredicate(), in[0], in[1]));
      })
      .Case([&](math::AbsFOp) { return std::abs(in[0]); })
      .Case([&](math::ExpOp) { return std::exp(in[0]); })
      .Case([&](math::LogOp) { return std::log(in[0]); })
      .Case([&](math::TanhOp) { return std::tanh(in[0]); })
      .Case([&](math::ErfOp) { return std::erf(in[0]); })
      .Case([&](math::SqrtOp) { return std::sqrt(in[0]); })
      .Case([&](math::RsqrtOp) { return 1 / std::sqrt(in[0]); })
      .Default([&](Operation *other) {
        return in.size() == 2 ? evaluateInteger(other, in[0], in[1])
                              : evaluateInteger(other, 0, 0);
      });
}

/// Runs one block over matrices.
class BlockEvaluator {
public:
  BlockEvaluator(Block &block, const Matrices &inputs, int64_t rows)
      : rows(rows) {
    EXPECT_EQ(block.getNumArguments(), inputs.size() + 1);
    for (auto [argument, input] :
         llvm::zip(block.getArguments().drop_front(), inputs))
      set(argument, input);
    for (Operation &op : block)
      evaluate(&op);
  }

  const Matrix &get(Value value) const {
    return tensors.at(value.getAsOpaquePointer());
  }

private:
  void set(Value value, Matrix matrix) {
    tensors.emplace(value.getAsOpaquePointer(), std::move(matrix));
  }
  Matrix filled(Value value, double number) {
    auto type = cast<RankedTensorType>(value.getType());
    return Matrix(type.isDynamicDim(0) ? rows : type.getDimSize(0),
                  type.getDimSize(1), number);
  }
  void evaluate(Operation *op);
  void evaluate(linalg::GenericOp op);
  double evaluateBody(linalg::GenericOp op, int64_t i, int64_t j,
                      const Matrix &result);

  int64_t rows;
  std::map<const void *, Matrix> tensors;
  DenseMap<Value, double> scalars;
};

/// The element of `matrix` that a generic reads at (i, j).
double elementOf(const Matrix &matrix, AffineMap map, int64_t i, int64_t j) {
  bool readsRow = isa<AffineDimExpr>(map.getResult(0));
  bool readsColumn = isa<AffineDimExpr>(map.getResult(1));
  return matrix.at(readsRow ? i : 0, readsColumn ? j : 0);
}

double BlockEvaluator::evaluateBody(linalg::GenericOp op, int64_t i, int64_t j,
                                    const Matrix &result) {
  Block *body = op.getBody();
  for (OpOperand *operand : op.getDpsInputOperands())
    scalars[op.getMatchingBlockArgument(operand)] = elementOf(
        get(operand->get()), op.getMatchingIndexingMap(operand), i, j);
  AffineMap map = op.getIndexingMapsArray().back();
  scalars[body->getArguments().back()] = elementOf(result, map, i, j);
  for (Operation &inner : body->without_terminator()) {
    double value = 0;
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      value = index.getDim() == 0 ? i : j;
    } else if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
      value = get(extract.getTensor())
                  .at(scalars.at(extract.getIndices()[0]),
                      scalars.at(extract.getIndices()[1]));
    } else {
      value = evaluateScalar(
          &inner, llvm::map_to_vector(inner.getOperands(), [&](Value operand) {
            return scalars.at(operand);
          }));
    }
    scalars[inner.getResult(0)] = value;
  }
  return scalars.at(body->getTerminator()->getOperand(0));
}

void BlockEvaluator::evaluate(linalg::GenericOp op) {
  Matrix result = get(op.getDpsInits()[0]);
  AffineMap map = op.getIndexingMapsArray().back();
  int64_t columns = result.columns;
  for (Value input : op.getDpsInputs())
    columns = std::max(columns, get(input).columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double value = evaluateBody(op, i, j, result);
      result.at(isa<AffineDimExpr>(map.getResult(0)) ? i : 0,
                isa<AffineDimExpr>(map.getResult(1)) ? j : 0) = value;
    }
  set(op.getResult(0), std::move(result));
}

void BlockEvaluator::evaluate(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    scalars[constant] = valueOf(constant.getValue());
  } else if (isa<tensor::EmptyOp>(op)) {
    set(op->getResult(0), filled(op->getResult(0), std::nan("")));
  } else if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    set(fill.getResult(0),
        filled(fill.getResult(0), scalars.at(fill.getInputs()[0])));
  } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    evaluate(generic);
  } else {
    ADD_FAILURE() << "unknown op " << op->getName().getStringRef().str();
  }
}

} // namespace

RegionEvaluator::RegionEvaluator() : context(MLIRContext::Threading::DISABLED) {
  context.loadDialect<arith::ArithDialect, func::FuncDialect, gpt2::GPT2Dialect,
                      linalg::LinalgDialect, math::MathDialect,
                      tensor::TensorDialect>();
}

Matrices RegionEvaluator::run(const std::string &text, const Matrices &inputs,
                              int64_t rows) {
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << text;
    return {};
  }
  auto function = module->lookupSymbol<func::FuncOp>("k");
  for (Operation &op : function.getOps()) {
    if (!gpt2::isRowKernel(&op))
      continue;
    OpBuilder builder(&context);
    Region region;
    gpt2::RowBlock block = gpt2::outlineRowKernel(&op, builder, region);
    BlockEvaluator evaluator(region.front(), inputs, rows);
    Matrices results;
    for (Value value : block.yields)
      results.push_back(evaluator.get(value));
    return results;
  }
  ADD_FAILURE() << "no row kernel in " << text;
  return {};
}

} // namespace gpt2test
