//===- PlanSymbols.cpp - Checks across symbols
//------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A launch against its kernel's signature, references against their globals.
//
//===----------------------------------------------------------------------===//
#include "dialects/Plan/PlanOps.h"

using namespace mlir;
using namespace mlir::plan;

namespace {

/// Rows of a kernel's dynamic dimensions at a launch.
int64_t rowsOf(LaunchOp op, KernelOp kernel) {
  return kernel.hasRowBlocks() ? kernel.getConfigInt("rows") : op.getRows();
}

/// A kernel's tensor type with its dynamic dimension set to `rows` must have
/// the buffer's dtype and number of elements. Ranks may differ: a vector [C]
/// serves as 1xC, tokens [R] as ?x1.
LogicalResult checkArgument(LaunchOp op, StringRef what, unsigned index,
                            MemRefType buffer, RankedTensorType type,
                            int64_t rows) {
  int64_t elements = 1;
  for (int64_t size : type.getShape())
    elements *= ShapedType::isDynamic(size) ? rows : size;
  if (buffer.getElementType() == type.getElementType() &&
      buffer.getNumElements() == elements)
    return success();
  return op.emitOpError() << what << ' ' << index << " is " << shapeText(buffer)
                          << " but kernel @" << op.getKernel() << " takes "
                          << shapeText(type) << " at " << rows << " rows";
}

LogicalResult checkArguments(LaunchOp op, StringRef what, OperandRange buffers,
                             ArrayRef<RankedTensorType> types, int64_t rows) {
  if (buffers.size() != types.size())
    return op.emitOpError()
           << "has " << buffers.size() << ' ' << what << "s but kernel @"
           << op.getKernel() << " takes " << types.size();
  for (auto [i, buffer, type] : llvm::enumerate(buffers, types))
    if (failed(checkArgument(op, what, i, cast<MemRefType>(buffer.getType()),
                             type, rows)))
      return failure();
  return success();
}

/// What a launch must bring for the outputs: sums over columns are one a block.
SmallVector<RankedTensorType> outputBuffersOf(KernelOp kernel) {
  SmallVector<RankedTensorType> types = kernel.getOutputTypes();
  for (RankedTensorType &type : types)
    if (kernel.hasRowBlocks() && !type.isDynamicDim(0))
      type = RankedTensorType::get(
          {type.getDimSize(1), kernel.getConfigInt("row_blocks")},
          type.getElementType());
  return types;
}

bool isWellFormed(KernelOp kernel) {
  if (kernel.getBody().empty())
    return false;
  if (kernel.hasRowBlocks())
    return kernel.getConfig<IntegerAttr>("rows") &&
           kernel.getConfig<IntegerAttr>("row_blocks");
  return !kernel.isMatvec() || (!kernel.getEpilogue().empty() &&
                                kernel.getConfig<TypeAttr>("weight"));
}

} // namespace

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "there is no kernel @" << getKernel();
  if (!kernel.isRow() && !kernel.isMatvec())
    return success();
  // The verifier visits launches even where their kernel is broken.
  if (!isWellFormed(kernel))
    return success();
  if (kernel.hasRowBlocks() &&
      static_cast<int64_t>(getRows()) != kernel.getConfigInt("row_blocks"))
    return emitOpError() << "runs over " << getRows()
                         << " row blocks, but kernel @" << getKernel()
                         << " has " << kernel.getConfigInt("row_blocks");
  int64_t rows = rowsOf(*this, kernel);
  if (failed(checkArguments(*this, "input", getIns(), kernel.getInputTypes(),
                            rows)) ||
      failed(checkArguments(*this, "output", getOuts(), outputBuffersOf(kernel),
                            rows)))
    return failure();
  return success();
}

SmallVector<std::pair<unsigned, unsigned>> LaunchOp::getInPlaceOperands() {
  auto kernel =
      SymbolTable::lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel || !kernel.isRow())
    return {};
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  for (auto [o, output] : llvm::enumerate(kernel.getOutputTypes()))
    for (auto [i, input] : llvm::enumerate(kernel.getInputTypes()))
      if (input == output && output.isDynamicDim(0))
        pairs.emplace_back(i, getIns().size() + o);
  return pairs;
}

LogicalResult GlobalRefOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto global =
      symbols.lookupNearestSymbolFrom<GlobalOp>(*this, getGlobalAttr());
  if (!global)
    return emitOpError() << "there is no global @" << getGlobal();
  MemRefType whole = global.getMemRefType();
  auto view = cast<MemRefType>(getBuffer().getType());
  if (view.getElementType() == whole.getElementType() &&
      view.getRank() == whole.getRank() && view.getRank() > 0 &&
      view.getDimSize(0) <= whole.getDimSize(0) &&
      view.getShape().drop_front() == whole.getShape().drop_front())
    return success();
  return emitOpError() << shapeText(view) << " is not a prefix of @"
                       << getGlobal() << ", which is " << shapeText(whole);
}

LogicalResult ProgramOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getCountAttr())
    return success();
  auto global =
      symbols.lookupNearestSymbolFrom<GlobalOp>(*this, getCountAttr());
  if (global && global.getKind() == GlobalKind::State &&
      global.getMemRefType().getElementType().isInteger(32) &&
      global.getMemRefType().getNumElements() == 1)
    return success();
  return emitOpError() << "count @" << *getCount()
                       << " is not a state global of one i32";
}
