//===- GPT2ToPlan.cpp - Programs over tensors to plan programs
//--------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/Passes.h"
#include "compiler/Conversion/ProgramLowering.h"

namespace mlir::gpt2c {
#define GEN_PASS_DEF_CONVERTGPT2TOPLANPASS
#include "compiler/Conversion/Passes.h.inc"
} // namespace mlir::gpt2c

using namespace mlir;
using namespace mlir::gpt2c;

namespace {

constexpr llvm::StringLiteral initName = "init";

plan::GlobalKind kindOf(gpt2::GlobalKind kind) {
  return *plan::symbolizeGlobalKind(gpt2::stringifyGlobalKind(kind));
}

/// Appends the instruction that fills one parameter.
void loadParameter(OpBuilder &builder, gpt2::GlobalOp global) {
  MemRefType type = bufferTypeOf(global.getType());
  Value dst = plan::GlobalRefOp::create(builder, global.getLoc(), type,
                                        global.getSymName());
  SmallVector<int64_t> source = global.getSourceShape();
  plan::LoadWeightOp::create(builder, global.getLoc(), *global.getNames(), dst,
                             source[0], source.size() == 2 ? source[1] : 0,
                             global.getTranspose());
}

/// Appends the instruction that zeroes a gradient or moment.
void clear(OpBuilder &builder, gpt2::GlobalOp global) {
  Value dst = plan::GlobalRefOp::create(builder, global.getLoc(),
                                        bufferTypeOf(global.getType()),
                                        global.getSymName());
  plan::FillOp::create(builder, global.getLoc(), dst,
                       builder.getF32FloatAttr(0));
}

/// What the plan is for, which the role of one of its programs says.
StringRef modeOf(ArrayRef<func::FuncOp> functions) {
  for (func::FuncOp function : functions) {
    gpt2::ProgramRole role = gpt2::getProgram(function).getRole();
    if (role == gpt2::ProgramRole::Accumulate)
      return "train";
    if (role == gpt2::ProgramRole::Eval)
      return "eval";
  }
  return "generate";
}

/// Tells matvec kernels the most rows that they get: what they reserve.
void setMatvecRows(ModuleOp module) {
  llvm::DenseMap<StringRef, int64_t> most;
  module.walk([&](plan::LaunchOp launch) {
    int64_t &rows = most[launch.getKernel()];
    rows = std::max<int64_t>(rows, launch.getRows());
  });
  Builder builder(module.getContext());
  for (auto kernel : module.getOps<plan::KernelOp>()) {
    if (!kernel.isMatvec())
      continue;
    NamedAttrList config(kernel.getConfigAttr());
    config.set("rows",
               builder.getI64IntegerAttr(most.lookup(kernel.getSymName())));
    kernel.setConfigAttr(config.getDictionary(module.getContext()));
  }
}

struct ConvertGPT2ToPlan
    : gpt2c::impl::ConvertGPT2ToPlanPassBase<ConvertGPT2ToPlan> {
  using ConvertGPT2ToPlanPassBase::ConvertGPT2ToPlanPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (failed(checkProgram(function)))
        return signalPassFailure();
    setModuleAttributes(module, functions);
    convertGlobals(module);
    KernelTable kernels(module);
    for (func::FuncOp function : functions) {
      ProgramLowering lowering(function, kernels, matvecRows, recordCosts);
      if (failed(lowering.run()))
        return signalPassFailure();
      numLaunches += lowering.getCounts().launches;
      numDirect += lowering.getCounts().directWrites;
      numCopies += lowering.getCounts().copies;
    }
    setMatvecRows(module);
    numKernels += kernels.size();
  }

private:
  LogicalResult checkProgram(func::FuncOp function) {
    if (!gpt2::getProgram(function))
      return function.emitOpError("has no gpt2.program attribute");
    if (!llvm::hasSingleElement(function.getBody()))
      return function.emitOpError("must be one block");
    if (function.getSymName() == initName)
      return function.emitOpError()
             << "'" << initName << "' is the name of the program that loads "
             << "parameters";
    return success();
  }

  void setModuleAttributes(ModuleOp module, ArrayRef<func::FuncOp> functions) {
    Builder builder(module.getContext());
    int64_t batch = 1;
    for (func::FuncOp function : functions)
      batch = std::max(batch, gpt2::getProgram(function).getBatch());
    module->setAttr(plan::targetAttrName,
                    plan::TargetAttr::get(module.getContext(), target));
    module->setAttr(plan::batchAttrName, builder.getI64IntegerAttr(batch));
    module->setAttr(plan::modeAttrName,
                    builder.getStringAttr(modeOf(functions)));
    auto precision = module->getAttrOfType<StringAttr>(gpt2::precisionAttrName);
    module->setAttr(plan::precisionAttrName,
                    precision ? precision : builder.getStringAttr("fp32"));
    module->removeAttr(gpt2::precisionAttrName);
    if (Attribute most = module->removeAttr(gpt2::maxAccumulationAttrName))
      module->setAttr(plan::maxAccumulationAttrName, most);
    if (Attribute model = module->removeAttr(gpt2::modelAttrName))
      module->setAttr(plan::modelAttrName, model);
  }

  /// Replaces gpt2 globals by plan globals and makes the `init` program.
  void convertGlobals(ModuleOp module) {
    OpBuilder builder(module.getContext());
    auto globals = llvm::to_vector(module.getOps<gpt2::GlobalOp>());
    builder.setInsertionPointToStart(module.getBody());
    for (gpt2::GlobalOp global : globals)
      plan::GlobalOp::create(builder, global.getLoc(), kindOf(global.getKind()),
                             global.getSymName(),
                             bufferTypeOf(global.getType()),
                             global.getNamesAttr(), global.getTranspose(),
                             /*offset=*/IntegerAttr());
    auto init = plan::ProgramOp::create(builder, module.getLoc(),
                                        plan::Role::Init, initName, /*batch=*/1,
                                        /*tokens=*/1, /*count=*/"");
    builder.setInsertionPointToStart(&init.getBody().front());
    for (gpt2::GlobalOp global : globals) {
      if (global.getKind() == gpt2::GlobalKind::Parameter)
        loadParameter(builder, global);
      if (global.getKind() == gpt2::GlobalKind::Gradient ||
          global.getKind() == gpt2::GlobalKind::Moment)
        clear(builder, global);
      global.erase();
    }
  }
};

} // namespace
