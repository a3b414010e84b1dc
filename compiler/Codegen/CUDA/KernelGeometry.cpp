//===- KernelGeometry.cpp - How a kernel is launched ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/KernelGeometry.h"
#include "compiler/Codegen/CUDA/KernelTemplate.h"
#include "compiler/Codegen/CUDA/MatvecEmitter.h"
#include "compiler/Codegen/CUDA/RowLayout.h"
#include "dialects/Plan/PlanOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpt2c;

/// Rows times vectors a row must fit the index of the flat layout.
static constexpr int64_t maxVectors = int64_t(1) << 31;

static FailureOr<KernelGeometry> rowGeometry(plan::KernelOp kernel,
                                             int64_t rows) {
  FailureOr<RowProgram> program = RowProgram::analyze(kernel.getBody().front());
  if (failed(program))
    return failure();
  RowLayout layout = chooseRowLayout(*program);
  if (rows > maxVectors / layout.vectors)
    return kernel.emitOpError("cannot run over ")
           << rows << " rows of " << program->getColumns() << " columns";
  KernelGeometry geometry;
  geometry.blockThreads = layout.blockThreads;
  geometry.dynamicSharedBytes = layout.sharedBytes;
  if (program->hasColumnSums() != kernel.hasRowBlocks())
    return kernel.emitOpError("needs rows and row_blocks in its config where, "
                              "and only where, it adds up rows");
  geometry.gridX =
      kernel.hasRowBlocks() ? rows
      : layout.kind == RowLayout::Flat
          ? llvm::divideCeil(rows * layout.vectors, layout.blockThreads)
          : llvm::divideCeil(rows, layout.rowsPerBlock());
  return geometry;
}

static FailureOr<KernelGeometry> matvecGeometry(plan::KernelOp kernel,
                                                int64_t rows) {
  int64_t most = kernel.getConfigInt("rows");
  if (most > MatvecShape::maxRows)
    return kernel.emitOpError("a matvec takes at most ")
           << MatvecShape::maxRows << " rows, not " << most;
  if (rows > most)
    return kernel.emitOpError("a matvec kernel of at most ")
           << most << " rows cannot run over " << rows;
  KernelGeometry geometry;
  geometry.dynamicSharedBytes = matvecSharedBytes(kernel);
  if (OneRowShape::serves(kernel)) {
    OneRowShape shape(kernel);
    geometry.blockThreads = OneRowShape::warps * 32;
    geometry.dynamicSharedBytes += shape.ringBytes;
    geometry.gridX = shape.blocks;
    return geometry;
  }
  MatvecShape shape(kernel.getWeightType());
  geometry.blockThreads = MatvecShape::warps * 32;
  geometry.gridX = shape.blocks();
  return geometry;
}

FailureOr<KernelGeometry> gpt2c::geometryFor(plan::KernelOp kernel,
                                             int64_t rows) {
  if (rows < 1) {
    kernel.emitOpError("needs at least one row to run over");
    return failure();
  }
  if (kernel.isRow())
    return rowGeometry(kernel, rows);
  if (kernel.isMatvec())
    return matvecGeometry(kernel, rows);
  const KernelTemplate *kernelTemplate = findKernelTemplate(kernel.getKind());
  if (!kernelTemplate)
    return kernel.emitOpError("no CUDA template is called '")
           << kernel.getKind() << "'";
  auto error = [&](const llvm::Twine &message) { kernel.emitOpError(message); };
  if (failed(checkConfigKeys(*kernelTemplate, kernel.getConfigAttr(), error)))
    return failure();
  return kernelTemplate->geometry(kernel.getConfigAttr(), rows, error);
}

int64_t gpt2c::rowUnit(plan::KernelOp kernel) {
  DictionaryAttr config = kernel.getConfigAttr();
  for (llvm::StringRef key : {"row_blocks", "positions"})
    if (int64_t rows = configInt(config, key); rows > 0)
      return rows;
  return 1;
}
