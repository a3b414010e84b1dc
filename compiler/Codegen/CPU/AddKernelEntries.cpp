//===- AddKernelEntries.cpp - Kernels as the runtime calls them -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::gpt2c {
#define GEN_PASS_DEF_ADDKERNELENTRIES
#include "compiler/Codegen/CPU/Passes.h.inc"
} // namespace mlir::gpt2c

using namespace mlir;
using namespace mlir::gpt2c;

/// A rank-2 memref is passed as two addresses, an offset, two sizes and two
/// strides.
static constexpr unsigned argumentsPerMemref = 7;

namespace {

struct AddKernelEntries : gpt2c::impl::AddKernelEntriesBase<AddKernelEntries> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal() && failed(rewrite(function)))
        return signalPassFailure();
  }

  LogicalResult rewrite(LLVM::LLVMFuncOp function) {
    Block &entry = function.getBody().front();
    unsigned numOld = entry.getNumArguments();
    if (numOld < 2 || (numOld - 2) % argumentsPerMemref != 0)
      return function.emitOpError(
          "does not take rank-2 memrefs and a row range");
    Location loc = function.getLoc();
    auto builder = OpBuilder::atBlockBegin(&entry);
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    Type i64 = builder.getI64Type();

    SmallVector<BlockArgument> added;
    for (Type type : {Type(pointer), i64, i64})
      added.push_back(entry.addArgument(type, loc));
    for (unsigned i = 0; i + 2 < numOld; i += argumentsPerMemref) {
      Value slot = LLVM::GEPOp::create(
          builder, loc, pointer, pointer, added[0],
          ArrayRef<LLVM::GEPArg>{int32_t(i / argumentsPerMemref)});
      Value address = LLVM::LoadOp::create(builder, loc, pointer, slot);
      entry.getArgument(i).replaceAllUsesWith(address);
      entry.getArgument(i + 1).replaceAllUsesWith(address);
      Value unread = LLVM::PoisonOp::create(builder, loc, i64);
      for (unsigned j = 2; j < argumentsPerMemref; ++j)
        entry.getArgument(i + j).replaceAllUsesWith(unread);
    }
    entry.getArgument(numOld - 2).replaceAllUsesWith(added[1]);
    entry.getArgument(numOld - 1).replaceAllUsesWith(added[2]);
    entry.eraseArguments(0, numOld);
    function.setArgAttrsAttr({});
    function.setFunctionType(LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(&getContext()), {pointer, i64, i64}));
    return success();
  }
};

} // namespace
