//===- KernelTable.cpp - One kernel for all equal ones
//----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/KernelTable.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::gpt2c;

/// The text that identifies a kernel. Locations are not printed.
static std::string identityOf(plan::KernelOp kernel) {
  StringAttr name = kernel.getSymNameAttr();
  kernel.setSymName("k");
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel->print(os, OpPrintingFlags().printGenericOpForm().useLocalScope());
  kernel.setSymNameAttr(name);
  return text;
}

KernelTable::KernelTable(ModuleOp module) : module(module), symbols(module) {
  for (auto kernel : module.getOps<plan::KernelOp>())
    byText.try_emplace(identityOf(kernel), kernel);
}

plan::KernelOp KernelTable::create(Location loc, StringRef kind,
                                   DictionaryAttr config) {
  OpBuilder builder(module.getContext());
  // Kernels stand before the programs that launch them.
  auto programs = module.getOps<plan::ProgramOp>();
  if (programs.empty())
    builder.setInsertionPointToEnd(module.getBody());
  else
    builder.setInsertionPoint(*programs.begin());
  return plan::KernelOp::create(builder, loc, "new kernel", kind, config);
}

plan::KernelOp KernelTable::intern(plan::KernelOp candidate,
                                   StringRef nameHint) {
  auto [entry, isNew] = byText.try_emplace(identityOf(candidate), candidate);
  if (!isNew) {
    candidate->erase();
    return entry->second;
  }
  candidate.setSymName(nameHint);
  symbols.insert(candidate);
  return candidate;
}

plan::KernelOp KernelTable::internTemplate(Location loc, StringRef kind,
                                           DictionaryAttr config) {
  return intern(create(loc, kind, config), kind);
}

std::string mlir::gpt2c::kernelNameHint(Operation *op) {
  SmallVector<StringRef> names;
  auto add = [&](Operation *part) {
    StringRef name = part->getName().stripDialect();
    if (names.empty() || names.back() != name)
      names.push_back(name);
  };
  if (op->getNumRegions() == 0)
    add(op);
  else
    for (Operation &part : op->getRegion(0).front().without_terminator())
      add(&part);
  // Long fusions read better cut than in full.
  constexpr size_t most = 5;
  names.truncate(std::min(names.size(), most));
  auto type = cast<ShapedType>(op->getResult(0).getType());
  return llvm::join(names, "_") + "_" +
         std::to_string(type.getRank() == 2 ? type.getDimSize(1) : 1);
}
