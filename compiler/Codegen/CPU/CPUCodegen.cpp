//===- CPUCodegen.cpp - Machine code of a plan for the CPU ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/CPUCodegen.h"

#include "compiler/Codegen/CPU/NativeObject.h"
#include "compiler/Codegen/CPU/Passes.h"
#include "compiler/Codegen/CPU/SharedObject.h"
#include "dialects/Plan/PlanOps.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace mlir::gpt2c;

/// Elements that one call should at least compute: about 5 us of a cheap
/// kernel, what starting a parallel region costs.
static constexpr int64_t elementsGrain = 16384;

ArrayRef<StringRef> gpt2c::getCpuArchs() {
  static constexpr StringRef archs[] = {"x86-64-v3", "x86-64-v4"};
  return archs;
}

void gpt2c::registerCpuCodegen(DialectRegistry &registry) {
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

/// Rows of the widest tensor of a kernel that make one call worth its while, or
/// row blocks where it counts those.
static unsigned rowsGrainOf(plan::KernelOp kernel) {
  int64_t width = 1;
  auto widen = [&](ArrayRef<RankedTensorType> types) {
    for (RankedTensorType type : types)
      width = std::max(width, type.getDimSize(1));
  };
  widen(kernel.getInputTypes());
  widen(kernel.getOutputTypes());
  int64_t rowsPerUnit = 1;
  if (kernel.hasRowBlocks())
    rowsPerUnit =
        kernel.getConfigInt("rows") / kernel.getConfigInt("row_blocks");
  return std::max<int64_t>(1, elementsGrain / (width * rowsPerUnit));
}

/// A module with the kernels of `plan` alone, lowered to the LLVM dialect.
static FailureOr<OwningOpRef<ModuleOp>> lowerKernels(ModuleOp plan) {
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(plan.getLoc());
  OpBuilder builder(kernels->getBodyRegion());
  for (auto kernel : plan.getOps<plan::KernelOp>())
    builder.clone(*kernel);
  PassManager pm(plan.getContext());
  buildCpuKernelPipeline(pm);
  if (failed(pm.run(*kernels)))
    return failure();
  return kernels;
}

static FailureOr<CodeModule> compileModule(ModuleOp kernels, StringRef arch) {
  if (!llvm::is_contained(getCpuArchs(), arch))
    return kernels.emitError("unknown CPU architecture '")
           << arch << "': use " << llvm::join(getCpuArchs(), " or ");
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    return failure();
  auto object = compileToObject(*module, arch);
  if (!object)
    return kernels.emitError(llvm::toString(object.takeError()));
  llvm::Expected<std::string> linked = linkSharedObject(*object);
  if (!linked)
    return kernels.emitError(llvm::toString(linked.takeError()));
  return CodeModule{arch.str(), CodeFormat::Elf, std::move(*linked)};
}

FailureOr<CompiledCode> gpt2c::compileForCpu(ModuleOp plan,
                                             const CpuCodegenOptions &options) {
  CompiledCode code;
  for (auto kernel : plan.getOps<plan::KernelOp>()) {
    CompiledKernel &compiled = code.kernels.emplace_back();
    compiled.name = kernel.getSymName().str();
    compiled.rowsGrain = rowsGrainOf(kernel);
    for (unsigned i = 0; i < options.archs.size(); ++i)
      compiled.images.push_back(KernelImage{.module = i});
  }
  FailureOr<OwningOpRef<ModuleOp>> kernels = lowerKernels(plan);
  if (failed(kernels))
    return failure();
  for (StringRef arch : options.archs) {
    FailureOr<CodeModule> module = compileModule(**kernels, arch);
    if (failed(module))
      return failure();
    code.modules.push_back(std::move(*module));
  }
  return code;
}
