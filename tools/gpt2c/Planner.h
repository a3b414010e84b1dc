//===- Planner.h - From a command line to a planned module ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Pipelines/Stages.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/Timing.h"
#include "tools/gpt2c/CommandLine.h"
#include "tools/gpt2c/Messages.h"

#include <array>

namespace mlir::gpt2c {

/// Bytes of each arena of a planned module.
struct MemoryUse {
  std::array<uint64_t, plan::getMaxEnumValForArenaKind() + 1> arenas = {};

  static MemoryUse of(ModuleOp planned);
  uint64_t operator[](plan::ArenaKind kind) const {
    return arenas[static_cast<unsigned>(kind)];
  }
  uint64_t total() const;
};

/// A module with planned memory, and how it came to fit.
struct PlannedModule {
  OwningOpRef<ModuleOp> module;
  MemoryUse memory;
  RematMode remat = RematMode::None;
  bool lean = false;      ///< stored as lean-storage does
  int64_t headChunks = 1; ///< parts of the LM head
  double workAdded = 0;   ///< share of the program's work that is done again
  bool fits = true;       ///< in the memory budget, if there is one
};

/// The compiler's options that a command line asks for.
CompileOptions compileOptions(const CommandLine &line);

/// Runs the stages up to planned memory; several times, where a command line
/// has a memory budget.
class Planner {
public:
  Planner(MLIRContext &context, Progress &progress,
          const DiagnosticPrinter &diagnostics, TimingManager &timing)
      : context(context), progress(progress), diagnostics(diagnostics),
        timing(timing) {}

  /// The model as the gpt2 dialect.
  gpt2rt::Result<OwningOpRef<ModuleOp>> import(const CommandLine &line);

  /// The cheapest plan within the line's budget, or with `least` the smallest
  /// one at once. Where none fits, `fits` is false.
  gpt2rt::Result<PlannedModule> plan(const CommandLine &line,
                                     bool least = false);

private:
  class Search;

  gpt2rt::Result<PlannedModule> plan(const CommandLine &line,
                                     const CompileOptions &options, bool least);

  gpt2rt::Status runStages(ModuleOp module, ArrayRef<Stage> stages,
                           const CompileOptions &options);
  /// Runs the last stages on a copy of `module`.
  gpt2rt::Result<PlannedModule> finish(ModuleOp module,
                                       const CompileOptions &options);

  MLIRContext &context;
  Progress &progress;
  const DiagnosticPrinter &diagnostics;
  TimingManager &timing;
};

} // namespace mlir::gpt2c
