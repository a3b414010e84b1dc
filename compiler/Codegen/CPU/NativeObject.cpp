//===- NativeObject.cpp - LLVM IR to an x86-64 object file ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/NativeObject.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

using namespace llvm;

static constexpr StringLiteral targetTriple = "x86_64-unknown-linux-gnu";

/// The X86 back end by name, not the host's: a plan may be compiled elsewhere.
static Expected<std::unique_ptr<TargetMachine>> createMachine(StringRef arch) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  Triple triple(targetTriple);
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError("LLVM cannot generate code for " + targetTriple +
                             ": " + error);
  // No contraction: a multiply-add fuses only where the kernel says math.fma.
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Strict;
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, arch, /*Features=*/"", options, Reloc::PIC_,
      /*CM=*/std::nullopt, CodeGenOptLevel::Aggressive));
}

/// Loops are vectors already, so nothing may vectorise, unroll or turn them
/// into library calls: that would cost compile time, and a call to memcpy
/// would be a symbol from outside.
static void optimize(Module &module, TargetMachine &machine) {
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = false;
  PassBuilder builder(&machine, tuning);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  TargetLibraryInfoImpl noLibrary(Triple(module.getTargetTriple()));
  noLibrary.disableAllFunctions();
  functions.registerPass([&] { return TargetLibraryAnalysis(noLibrary); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3)
      .run(module, modules);
}

Expected<SmallVector<char, 0>> mlir::gpt2c::compileToObject(Module &module,
                                                            StringRef arch) {
  Expected<std::unique_ptr<TargetMachine>> machine = createMachine(arch);
  if (!machine)
    return machine.takeError();
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  module.setPICLevel(PICLevel::BigPIC);
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.setDoesNotThrow();
    function.addFnAttr("target-cpu", arch);
    // LLVM prefers 256-bit vectors on this level; the loops here are wide.
    if (arch == "x86-64-v4") {
      function.addFnAttr("prefer-vector-width", "512");
      function.addFnAttr("min-legal-vector-width", "512");
    }
  }
  optimize(module, **machine);

  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      CodeGenFileType::ObjectFile))
    return createStringError("LLVM cannot write object files for " + arch);
  passes.run(module);
  return object;
}
