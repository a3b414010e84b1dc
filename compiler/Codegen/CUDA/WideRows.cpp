//===- WideRows.cpp - What rows of logits would compare too often ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Softmax over a padded vocabulary compares the number of every column twice:
// with the vocabulary and with the row's label. Both are known for nearly all
// vectors, and comparisons are half as fast as sums. So columns below the bound
// get a loop of their own, a vector is asked whether it holds the label, and
// the largest 16-bit logit is found two at a time.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/RowEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::gpt2c;
using llvm::formatv;

static bool isColumnNumber(Value value) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  auto index = value.getDefiningOp<linalg::IndexOp>();
  return index && index.getDim() == 1;
}

/// Vectors from the first on whose columns all lie below the one constant that
/// column numbers are compared with; those comparisons are then assumed true.
/// 0 where there is no such constant, or several.
int64_t RowEmitter::assumeBound(ArrayRef<linalg::GenericOp> operations) {
  if (!layout.isWide())
    return 0;
  int64_t bound = 0;
  SmallVector<Operation *> comparisons;
  for (linalg::GenericOp op : operations)
    for (auto compare : op.getBody()->getOps<arith::CmpIOp>()) {
      APInt limit;
      if (compare.getPredicate() != arith::CmpIPredicate::slt ||
          !isColumnNumber(compare.getLhs()) ||
          !matchPattern(compare.getRhs(), m_ConstantInt(&limit)))
        continue;
      if (bound != 0 && bound != limit.getSExtValue())
        return 0;
      bound = limit.getSExtValue();
      comparisons.push_back(compare);
    }
  int64_t vectors = std::min(bound / int64_t(layout.vector), layout.vectors);
  if (keepsValues())
    vectors -= vectors % layout.lanes;
  if (vectors > 0)
    for (Operation *compare : comparisons)
      assumed[compare] = "true";
  return std::max<int64_t>(vectors, 0);
}

/// The test of columns against one number of the row.
static arith::CmpIOp findLabelTest(ArrayRef<Operation *> perElement,
                                   const ScalarPrinter &scalars) {
  for (Operation *inner : perElement) {
    auto compare = dyn_cast<arith::CmpIOp>(inner);
    if (compare && compare.getPredicate() == arith::CmpIPredicate::eq &&
        isColumnNumber(compare.getLhs()) &&
        !llvm::is_contained(perElement, compare.getRhs().getDefiningOp()) &&
        !scalars.text(compare.getRhs()).empty())
      return compare;
  }
  return {};
}

/// A sum that gets nothing where the test fails.
static bool addsOnlyWhere(arith::CmpIOp test, const Reduction &reduction) {
  auto select = reduction.value.getDefiningOp<arith::SelectOp>();
  return reduction.getCombinerName() == "Add" && select &&
         select.getCondition() == test.getResult() &&
         matchPattern(select.getFalseValue(), m_AnyZeroFloat());
}

/// The largest of 16-bit elements themselves: compared two at a time.
bool RowEmitter::emitPackMaximum(linalg::GenericOp op) {
  if (!program.isReduction(op) || op->getNumResults() != 1 ||
      layout.vector == 1)
    return false;
  Reduction reduction = program.getReduction(op, 0);
  Value value = reduction.value;
  if (auto select = value.getDefiningOp<arith::SelectOp>();
      select && assumed.lookup(select.getCondition().getDefiningOp()) == "true")
    value = select.getTrueValue();
  auto extend = value.getDefiningOp<arith::ExtFOp>();
  auto element =
      extend ? dyn_cast<BlockArgument>(extend.getIn()) : BlockArgument();
  if (!element || reduction.getCombinerName() != "Max")
    return false;
  Value input = op.getDpsInputs()[element.getArgNumber()];
  if (program.getForm(input) != Form::Element)
    return false;
  std::string sum = variables.lookup(op->getResult(0));
  os << formatv("{0} = Max::of({0}, {1}.max());\n", sum, reference(input));
  return true;
}

LogicalResult RowEmitter::emitWideElements(linalg::GenericOp op,
                                           ArrayRef<Operation *> perElement,
                                           ArrayRef<std::string> results) {
  if (emitPackMaximum(op))
    return success();
  arith::CmpIOp test = findLabelTest(perElement, scalars);
  if (!test)
    return emitElementLoop(op, perElement, results);
  std::string offset = scalars.freshName("o");
  // Modulo 2^32, which no column reaches.
  os << formatv("const unsigned {0} = (unsigned){1} - c * {2}u;\n", offset,
                scalars.text(test.getRhs()), layout.vector)
     << formatv("if ({0} < {1}) {{\n", offset, layout.vector);
  // What the other vectors need must not stay in registers for this one.
  if (layout.isStaged)
    for (Value input : program.getInputs())
      if (program.getForm(input) == Form::Element && !input.use_empty())
        os << formatv("hide({0});\n", reference(input));
  if (failed(emitElementLoop(op, perElement, results)))
    return failure();
  os << "}";
  if (program.isReduction(op) && op->getNumResults() == 1 &&
      addsOnlyWhere(test, program.getReduction(op, 0))) {
    os << "\n";
    return success();
  }
  os << " else {\n";
  assumed[test] = "false";
  LogicalResult emitted = emitElementLoop(op, perElement, results);
  assumed.erase(test);
  os << "}\n";
  return emitted;
}
