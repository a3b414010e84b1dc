// Syntax, folding and helpers of the gpt2 ops.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/GPT2Ops.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::gpt2;

#define GET_OP_CLASSES
#include "dialects/GPT2/GPT2Ops.cpp.inc"

static int64_t dimensionOf(Value value, unsigned dimension) {
  return cast<RankedTensorType>(value.getType()).getDimSize(dimension);
}

int64_t gpt2::getRowCount(Operation *op) {
  if (auto fused = dyn_cast<FusedOp>(op))
    return getRowCount(&fused.getBody().front().front());
  for (Value result : op->getResults())
    if (!isColumnResult(result))
      return dimensionOf(result, 0);
  for (OpOperand &use : op->getOpOperands())
    if (getOperandForm(use) == OperandForm::Row)
      return dimensionOf(use.get(), 0);
  llvm_unreachable("an op with column results only sums rows");
}

bool gpt2::isColumnResult(Value value) {
  auto op = value.getDefiningOp<DecomposeOpInterface>();
  return op && op.isColumnResult(cast<OpResult>(value).getResultNumber());
}

int64_t gpt2::getRowBlocks(Operation *op) {
  if (auto fused = dyn_cast<FusedOp>(op)) {
    for (auto inner : fused.getBody().getOps<DecomposeOpInterface>())
      if (int64_t blocks = getRowBlocks(inner))
        return blocks;
    return 0;
  }
  for (Value result : op->getResults())
    if (isColumnResult(result))
      return dimensionOf(result, 1);
  return 0;
}

OperandForm gpt2::getOperandForm(OpOperand &use) {
  unsigned number = use.getOperandNumber();
  if (auto op = dyn_cast<DecomposeOpInterface>(use.getOwner()))
    return op.getOperandForm(number);
  OperandForm linear[] = {OperandForm::Row, OperandForm::Table,
                          OperandForm::Column};
  return linear[number];
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

SmallVector<int64_t> GlobalOp::getSourceShape() {
  if (getSource())
    return llvm::to_vector(*getSource());
  SmallVector<int64_t> shape(getTensorType().getShape());
  if (getTranspose())
    std::reverse(shape.begin(), shape.end());
  return shape;
}

void ReadOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getGlobal());
}

namespace {
/// Writing back what was read changes nothing where no other write of the
/// global comes in between.
struct DropUnchangedWrite : OpRewritePattern<WriteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(WriteOp write,
                                PatternRewriter &rewriter) const override {
    auto read = write.getValue().getDefiningOp<ReadOp>();
    if (!read || read.getGlobal() != write.getGlobal())
      return failure();
    for (auto other : write->getBlock()->getOps<WriteOp>())
      if (other != write && other.getGlobal() == write.getGlobal())
        return failure();
    rewriter.eraseOp(write);
    return success();
  }
};
} // namespace

void WriteOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<DropUnchangedWrite>(context);
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

/// Whether every value of `from` is a value of `to`.
static bool isLosslessCast(Type from, Type to) {
  return from == to || to.isF32();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getX().getType() == getResult().getType())
    return getX();
  auto inner = getX().getDefiningOp<CastOp>();
  if (!inner || !isLosslessCast(getElementTypeOrSelf(inner.getX()),
                                getElementTypeOrSelf(getX())))
    return {};
  getXMutable().assign(inner.getX());
  return getResult();
}

// Nothing is dropped, and what is kept is multiplied by 1.
OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return getProbability().isZero() ? getX() : Value();
}

LogicalResult WeightGradOp::inferReturnTypes(
    MLIRContext *, std::optional<Location>, ValueRange operands, DictionaryAttr,
    OpaqueProperties, RegionRange, SmallVectorImpl<Type> &types) {
  if (operands.size() == 3)
    types.push_back(operands[2].getType());
  else
    types.push_back(RankedTensorType::get(
        {dimensionOf(operands[0], 1), dimensionOf(operands[1], 1)},
        getElementTypeOrSelf(operands[0])));
  return success();
}

LogicalResult ColumnFinishOp::inferReturnTypes(MLIRContext *context,
                                               std::optional<Location>,
                                               ValueRange operands,
                                               DictionaryAttr, OpaqueProperties,
                                               RegionRange,
                                               SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get({dimensionOf(operands[0], 0)},
                                        Float32Type::get(context)));
  return success();
}

namespace {
/// Attention that drops nothing needs no random numbers.
template <typename OpT>
struct DropZeroDropout : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    if (!op.getRng() || !op.getDropout()->isZero())
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getRngMutable().clear();
      op.removeDropoutAttr();
      op.removeDropoutIdAttr();
    });
    return success();
  }
};
} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<DropZeroDropout<AttentionOp>>(context);
}

void AttentionGradOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  patterns.add<DropZeroDropout<AttentionGradOp>>(context);
}

// One row has count 1.
OpFoldResult SelectRowOp::fold(FoldAdaptor) {
  return getX().getType() == getResult().getType() ? getX() : Value();
}

//===----------------------------------------------------------------------===//
// Fused regions
//===----------------------------------------------------------------------===//

MatvecParts gpt2::splitMatvec(FusedOp op) {
  MatvecParts parts;
  for (Operation &inner : op.getBody().front().without_terminator()) {
    if (auto linear = dyn_cast<LinearOp>(inner))
      parts.linear = linear;
  }
  // Ops are in program order, so whoever uses the linear's result or an
  // epilogue's follows them.
  DenseSet<Value> after(parts.linear->result_begin(),
                        parts.linear->result_end());
  for (Operation &inner : op.getBody().front().without_terminator()) {
    if (&inner == parts.linear)
      continue;
    bool follows = llvm::any_of(inner.getOperands(), [&](Value operand) {
      return after.contains(operand);
    });
    if (follows)
      after.insert(inner.result_begin(), inner.result_end());
    (follows ? parts.epilogue : parts.prologue).push_back(&inner);
  }
  return parts;
}

// gpt2.fused KIND (%arg = %input : type, ...) attrs -> types { body }
ParseResult FusedOp::parse(OpAsmParser &parser, OperationState &result) {
  std::string kindName;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeywordOrString(&kindName))
    return failure();
  std::optional<FusedKind> kind = symbolizeFusedKind(kindName);
  if (!kind)
    return parser.emitError(loc, "expected 'row' or 'matvec'");
  result.addAttribute(getKindAttrName(result.name),
                      FusedKindAttr::get(parser.getContext(), *kind));

  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  loc = parser.getCurrentLocation();
  auto parseInput = [&]() -> ParseResult {
    if (parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
        parser.parseOperand(operands.emplace_back()) ||
        parser.parseColonType(types.emplace_back()))
      return failure();
    arguments.back().type = types.back();
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseInput) ||
      parser.resolveOperands(operands, types, loc, result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseArrowTypeList(result.types))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void FusedOp::print(OpAsmPrinter &printer) {
  printer << ' ' << stringifyFusedKind(getKind()) << " (";
  llvm::interleaveComma(llvm::zip_equal(getBody().getArguments(), getInputs()),
                        printer, [&](auto pair) {
                          auto [argument, input] = pair;
                          printer << argument << " = " << input << " : "
                                  << input.getType();
                        });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getKindAttrName()});
  printer.printArrowTypeList(getOutputs().getTypes());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}
