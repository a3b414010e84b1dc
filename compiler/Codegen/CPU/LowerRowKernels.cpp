//===- LowerRowKernels.cpp - plan.kernel bodies to loops ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Passes.h"
#include "compiler/Codegen/CPU/RowEmitter.h"
#include "dialects/Plan/PlanOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::gpt2c {
#define GEN_PASS_DEF_LOWERROWKERNELS
#include "compiler/Codegen/CPU/Passes.h.inc"
} // namespace mlir::gpt2c

using namespace mlir;
using namespace mlir::gpt2c;

namespace {

struct LowerRowKernels : gpt2c::impl::LowerRowKernelsBase<LowerRowKernels> {
  void runOnOperation() override {
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<plan::KernelOp>()))
      if (failed(lower(kernel)))
        return signalPassFailure();
  }

  LogicalResult lower(plan::KernelOp kernel) {
    if (!kernel.isRow())
      return kernel.emitOpError("has kind '")
             << kernel.getKind()
             << "', but the CPU target generates code for row kernels only";
    FailureOr<cpu::RowProgram> program =
        cpu::RowProgram::analyze(kernel.getBody().front());
    if (failed(program))
      return failure();
    OpBuilder builder(kernel);
    cpu::RowEmitter emitter(*program, blocksOf(kernel), builder);
    FailureOr<func::FuncOp> function =
        emitter.emit(kernel.getLoc(), kernel.getSymName());
    if (failed(function))
      return failure();
    count(*program, *function);
    kernel.erase();
    return success();
  }

  static std::optional<cpu::RowBlocks> blocksOf(plan::KernelOp kernel) {
    if (!kernel.hasRowBlocks())
      return std::nullopt;
    return cpu::RowBlocks{kernel.getConfigInt("rows"),
                          kernel.getConfigInt("row_blocks")};
  }

  void count(const cpu::RowProgram &program, func::FuncOp function) {
    ++numKernels;
    for (unsigned level = 0; level < program.getNumLevels(); ++level)
      numPasses += program.getWidths(level).size();
    for (auto temporary : function.getOps<memref::AllocaOp>()) {
      MemRefType type = temporary.getType();
      stackBytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
    }
  }
};

} // namespace
