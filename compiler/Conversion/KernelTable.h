//===- KernelTable.h - One kernel for all equal ones ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Plan/PlanOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::gpt2c {

/// The kernels of a module. Two kernels are the same if they print the same
/// but for their name: same kind, config and regions.
class KernelTable {
public:
  explicit KernelTable(ModuleOp module);

  /// A new kernel with empty regions, to be filled and given to intern().
  plan::KernelOp create(Location loc, StringRef kind, DictionaryAttr config);

  /// The kernel that equals `candidate`: an older one, in which case the
  /// candidate is erased, or itself, named after `nameHint`.
  plan::KernelOp intern(plan::KernelOp candidate, StringRef nameHint);

  /// A kernel without regions: a template with its parameters.
  plan::KernelOp internTemplate(Location loc, StringRef kind,
                                DictionaryAttr config);

  size_t size() const { return byText.size(); }

private:
  ModuleOp module;
  SymbolTable symbols;
  llvm::StringMap<plan::KernelOp> byText;
};

/// A kernel's name from the ops it does: "add_layer_norm_768".
std::string kernelNameHint(Operation *op);

} // namespace mlir::gpt2c
