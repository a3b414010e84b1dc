//===- Stages.h - The compiler's stages in order ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/CompiledCode.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/Plan/PlanDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::gpt2c {

/// What the stages after import depend on.
struct CompileOptions {
  plan::Target target = plan::Target::CPU;
  Precision precision = Precision::FP32;
  /// Whether the module is the forward half of training.
  bool training = false;
  bool lean = false;      ///< no 16-bit weights, 16-bit gradients: lean-storage
  int64_t headChunks = 1; ///< parts of the rows in the LM head
  RematMode remat = RematMode::None;
  int64_t rematBudget = 0; ///< bytes of live activations, for RematMode::Auto
  std::string rematCosts;  ///< a table of measured times: a path, h200 or none
  /// CPU: "x86-64-v3", "x86-64-v4"; CUDA: "sm_80", ..., lowest first.
  std::vector<std::string> archs;
  unsigned threads = 1;
};

/// A group of passes with a name for progress and messages. The module is
/// verified after each pass, so between stages too.
struct Stage {
  llvm::StringLiteral name;
  void (*addPasses)(OpPassManager &pm, const CompileOptions &options);
};

/// From the gpt2 dialect as imported to a plan module with planned memory. The
/// first ones do not depend on what is rematerialized, so that a search for a
/// memory budget runs only the rest again.
ArrayRef<Stage> getStages();
ArrayRef<Stage> getFirstStages();
ArrayRef<Stage> getLastStages();

/// How rematerialize is run.
RematerializeOptions rematerializeOptions(const CompileOptions &options);

/// Machine code for every kernel of a plan module. Errors are diagnostics.
FailureOr<CompiledCode> generateCode(ModuleOp module,
                                     const CompileOptions &options);

} // namespace mlir::gpt2c
