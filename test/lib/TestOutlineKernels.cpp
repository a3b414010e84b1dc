// test-outline-kernels: shows the regions of Decompose.h as functions.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::gpt2;

namespace {

/// Adds one function a kernel, or two for a matvec, and keeps the programs.
class OutlineKernels
    : public PassWrapper<OutlineKernels, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OutlineKernels)

  StringRef getArgument() const override { return "test-outline-kernels"; }
  StringRef getDescription() const override {
    return "Append the kernels of every gpt2 op as functions";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                math::MathDialect, tensor::TensorDialect>();
  }

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Operation &op : function.getOps())
        ops.push_back(&op);
    for (Operation *op : ops) {
      if (isRowKernel(op))
        outlineRow(op);
      else if (isMatvecKernel(op))
        outlineMatvec(op);
    }
  }

private:
  func::FuncOp addFunction(Operation *op, StringRef suffix) {
    auto builder = OpBuilder::atBlockEnd(getOperation().getBody());
    std::string name =
        (op->getName().stripDialect() + suffix + "_" + Twine(count)).str();
    auto function = func::FuncOp::create(builder, op->getLoc(), name,
                                         builder.getFunctionType({}, {}));
    function.setPrivate();
    return function;
  }

  void finish(func::FuncOp function, const RowBlock &result) {
    Block &block = function.getBody().front();
    auto builder = OpBuilder::atBlockEnd(&block);
    func::ReturnOp::create(builder, function.getLoc(), result.yields);
    function.setFunctionType(builder.getFunctionType(
        block.getArgumentTypes(), TypeRange(ValueRange(result.yields))));
  }

  void outlineRow(Operation *op) {
    OpBuilder builder(&getContext());
    func::FuncOp function = addFunction(op, "");
    finish(function, outlineRowKernel(op, builder, function.getBody()));
    ++count;
  }

  void outlineMatvec(Operation *op) {
    OpBuilder builder(&getContext());
    func::FuncOp before = addFunction(op, "_prologue");
    func::FuncOp after = addFunction(op, "_epilogue");
    MatvecKernel kernel =
        outlineMatvecKernel(op, builder, before.getBody(), after.getBody());
    finish(before, kernel.prologue);
    finish(after, kernel.epilogue);
    ++count;
  }

  int count = 0;
};

} // namespace

namespace mlir::gpt2c::test {
void registerOutlineKernelsPass() { PassRegistration<OutlineKernels>(); }
} // namespace mlir::gpt2c::test
