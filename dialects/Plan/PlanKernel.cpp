//===- PlanKernel.cpp - The normal form of kernels
//--------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Plan/PlanOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::plan;

namespace {

RankedTensorType tensorTypeOf(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

YieldOp yieldOf(Region &region) {
  return cast<YieldOp>(region.front().getTerminator());
}

/// One value a row (and column): dynamic rows, static columns.
bool isFull(RankedTensorType type) {
  return type && type.getRank() == 2 && type.isDynamicDim(0) &&
         !type.isDynamicDim(1);
}

bool isKernelInput(RankedTensorType type) {
  return type && type.getRank() == 2 && !type.isDynamicDim(1);
}

/// One sum a column: partial sums of row blocks, whose number is in `config`.
bool isColumnSum(KernelOp kernel, Value value) {
  RankedTensorType type = tensorTypeOf(value);
  return kernel.hasRowBlocks() && type && type.getRank() == 2 &&
         type.getDimSize(0) == 1 && !type.isDynamicDim(1);
}

/// Block arguments are `index`, then what `accept` takes.
LogicalResult checkArguments(KernelOp op, Region &region) {
  Block &block = region.front();
  if (block.getNumArguments() == 0 || !block.getArgument(0).getType().isIndex())
    return op.emitOpError("the first block argument must be the number of "
                          "rows, an index");
  for (BlockArgument arg : block.getArguments().drop_front())
    if (!isKernelInput(tensorTypeOf(arg)))
      return op.emitOpError() << "input type " << arg.getType()
                              << " is not a tensor of rank 2 with static "
                                 "columns";
  return success();
}

/// A generic runs over (rows, columns); dimension 0 is never a reduction here.
LogicalResult checkGeneric(linalg::GenericOp op) {
  SmallVector<utils::IteratorType> loops = op.getIteratorTypesArray();
  if (loops.size() != 2)
    return op.emitOpError("a kernel's loops are (rows, columns), not ")
           << loops.size() << " loops";
  return success();
}

LogicalResult checkBodyOps(KernelOp kernel, Region &region) {
  for (Operation &op : region.front().without_terminator()) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (failed(checkGeneric(generic)))
        return failure();
      continue;
    }
    if (isa<linalg::FillOp, tensor::EmptyOp, tensor::CastOp>(op) ||
        isa<arith::ArithDialect>(op.getDialect()))
      continue;
    return op.emitOpError("does not belong in a kernel's normal form");
  }
  for (Value value : yieldOf(region).getValues())
    if (!isFull(tensorTypeOf(value)) && !isColumnSum(kernel, value))
      return kernel.emitOpError()
             << "output type " << value.getType()
             << " is not a tensor of dynamic rows and static columns";
  return success();
}

LogicalResult checkMatvec(KernelOp op) {
  auto weight = op.getConfig<TypeAttr>("weight");
  auto type = weight ? dyn_cast<RankedTensorType>(weight.getValue())
                     : RankedTensorType();
  if (!type || type.getRank() != 2 || !type.hasStaticShape())
    return op.emitOpError("config of a matvec needs weight = "
                          "tensor<NxKxT>");
  auto rows = op.getConfig<IntegerAttr>("rows");
  if (!rows || rows.getInt() < 1)
    return op.emitOpError("config of a matvec needs an integer rows >= 1");
  ValueRange x = yieldOf(op.getBody()).getValues();
  if (x.size() != 1 || tensorTypeOf(x[0]).getDimSize(1) != type.getDimSize(1))
    return op.emitOpError() << "the prologue must yield one tensor with K = "
                            << type.getDimSize(1) << " columns";
  Block &epilogue = op.getEpilogue().front();
  auto accumulator =
      RankedTensorType::get({ShapedType::kDynamic, type.getDimSize(0)},
                            Float32Type::get(op.getContext()));
  if (epilogue.getNumArguments() < 2 ||
      epilogue.getArgument(1).getType() != accumulator)
    return op.emitOpError() << "the epilogue's second argument must be the "
                               "accumulators, "
                            << accumulator;
  return success();
}

LogicalResult checkRowBlocks(KernelOp op) {
  if (!op.hasRowBlocks())
    return success();
  auto rows = op.getConfig<IntegerAttr>("rows");
  auto blocks = op.getConfig<IntegerAttr>("row_blocks");
  if (rows && blocks && blocks.getInt() > 0 && rows.getInt() >= blocks.getInt())
    return success();
  return op.emitOpError("config of a kernel with row_blocks needs integers "
                        "1 <= row_blocks <= rows");
}

} // namespace

LogicalResult KernelOp::verify() {
  if (getKind().empty())
    return emitOpError("kind must not be empty");
  bool wantsBody = isRow() || isMatvec(), wantsEpilogue = isMatvec();
  if (getBody().empty() == wantsBody)
    return emitOpError() << "kind '" << getKind()
                         << (wantsBody ? "' needs a body" : "' has no body");
  if (getEpilogue().empty() == wantsEpilogue)
    return emitOpError() << "kind '" << getKind()
                         << (wantsEpilogue ? "' needs an epilogue"
                                           : "' has no epilogue");
  return checkRowBlocks(*this);
}

LogicalResult KernelOp::verifyRegions() {
  for (Region *region : {&getBody(), &getEpilogue()}) {
    if (region->empty())
      continue;
    if (!region->front().mightHaveTerminator() ||
        !isa<YieldOp>(region->front().back()))
      return emitOpError("regions end in plan.yield");
    if (failed(checkArguments(*this, *region)) ||
        failed(checkBodyOps(*this, *region)))
      return failure();
    if (yieldOf(*region).getValues().empty())
      return emitOpError("a region yields nothing");
  }
  return isMatvec() ? checkMatvec(*this) : success();
}

RankedTensorType KernelOp::getWeightType() {
  return cast<RankedTensorType>(getConfig<TypeAttr>("weight").getValue());
}

SmallVector<RankedTensorType> KernelOp::getInputTypes() {
  SmallVector<RankedTensorType> types;
  auto append = [&](Region &region, unsigned skip) {
    for (BlockArgument arg : region.front().getArguments().drop_front(skip))
      types.push_back(tensorTypeOf(arg));
  };
  if (!getBody().empty())
    append(getBody(), 1);
  if (isMatvec()) {
    types.push_back(getWeightType());
    append(getEpilogue(), 2);
  }
  return types;
}

SmallVector<RankedTensorType> KernelOp::getOutputTypes() {
  SmallVector<RankedTensorType> types;
  Region &last = isMatvec() ? getEpilogue() : getBody();
  if (!last.empty())
    for (Value value : yieldOf(last).getValues())
      types.push_back(tensorTypeOf(value));
  return types;
}
