//===- NarrowCudaBiases.cpp - Biases in their matmul's type ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/Passes.h"
#include "dialects/Plan/PlanOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::gpt2c {
#define GEN_PASS_DEF_NARROWCUDABIASESPASS
#include "compiler/Conversion/Passes.h.inc"
} // namespace mlir::gpt2c

using namespace mlir;
using namespace mlir::gpt2c;

namespace {

Type elementOf(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getElementType();
}

struct NarrowCudaBiases
    : gpt2c::impl::NarrowCudaBiasesPassBase<NarrowCudaBiases> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    loads.clear();
    copies.clear();
    isTrained = llvm::any_of(module.getOps<plan::ProgramOp>(),
                             [](plan::ProgramOp program) {
                               return program.getRole() == plan::Role::Update;
                             });
    module.walk([&](plan::LoadWeightOp load) {
      if (auto ref = load.getDst().getDefiningOp<plan::GlobalRefOp>())
        loads[ref.getGlobalAttr().getAttr()] = load;
    });
    SymbolTable symbols(module);
    WalkResult result = module.walk([&](plan::MatmulOp matmul) {
      return WalkResult(narrow(matmul, symbols));
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    dropUnused(symbols);
  }

private:
  LogicalResult narrow(plan::MatmulOp matmul, SymbolTable &symbols);
  plan::GlobalOp copyOf(plan::LoadWeightOp load, plan::GlobalOp wide, Type type,
                        SymbolTable &symbols);
  void dropUnused(SymbolTable &symbols);

  bool isTrained = false;
  DenseMap<StringAttr, plan::LoadWeightOp> loads;
  /// In order of creation, so that equal modules give equal plans.
  llvm::MapVector<std::pair<StringAttr, Type>, plan::GlobalOp> copies;
};

LogicalResult NarrowCudaBiases::narrow(plan::MatmulOp matmul,
                                       SymbolTable &symbols) {
  Value bias = matmul.getBias();
  Type type = elementOf(matmul.getD());
  if (!bias || elementOf(bias) == type)
    return success();
  auto ref = bias.getDefiningOp<plan::GlobalRefOp>();
  plan::LoadWeightOp load =
      ref ? loads.lookup(ref.getGlobalAttr().getAttr()) : plan::LoadWeightOp();
  if (!load)
    return matmul.emitOpError("into ")
           << type << " needs a bias of that type, or one that is loaded from "
           << "the checkpoint";
  if (isTrained)
    return matmul.emitOpError("into ")
           << type << " needs a bias of that type: a copy that only init "
           << "writes would not follow the optimizer";
  auto wide = symbols.lookup<plan::GlobalOp>(ref.getGlobal());
  plan::GlobalOp copy = copyOf(load, wide, type, symbols);
  OpBuilder builder(matmul);
  auto refType = MemRefType::get(ref.getType().getShape(), type);
  matmul.getBiasMutable().assign(plan::GlobalRefOp::create(
      builder, matmul.getLoc(), refType, copy.getSymName()));
  if (ref.use_empty())
    ref.erase();
  return success();
}

/// The parameter `wide` in another type, with an instruction that loads it.
plan::GlobalOp NarrowCudaBiases::copyOf(plan::LoadWeightOp load,
                                        plan::GlobalOp wide, Type type,
                                        SymbolTable &symbols) {
  plan::GlobalOp &copy = copies[{wide.getSymNameAttr(), type}];
  if (copy)
    return copy;
  OpBuilder builder(&getContext());
  copy = wide.clone();
  std::string name;
  llvm::raw_string_ostream(name) << wide.getSymName() << '.' << type;
  copy.setSymName(name);
  copy.setType(MemRefType::get(wide.getMemRefType().getShape(), type));
  symbols.insert(copy, std::next(wide->getIterator()));
  builder.setInsertionPointAfter(load);
  Value dst = plan::GlobalRefOp::create(
      builder, load.getLoc(), copy.getMemRefType(), copy.getSymName());
  plan::LoadWeightOp::create(builder, load.getLoc(), load.getNames(), dst,
                             load.getRows(), load.getCols(),
                             load.getTranspose());
  ++numCopies;
  return copy;
}

void NarrowCudaBiases::dropUnused(SymbolTable &symbols) {
  DenseSet<StringAttr> used;
  getOperation().walk([&](plan::GlobalRefOp ref) {
    if (!llvm::all_of(ref->getUsers(), llvm::IsaPred<plan::LoadWeightOp>))
      used.insert(ref.getGlobalAttr().getAttr());
  });
  for (const auto &[key, copy] : copies) {
    StringAttr name = key.first;
    plan::LoadWeightOp load = loads.lookup(name);
    if (!load || used.contains(name))
      continue;
    auto ref = load.getDst().getDefiningOp<plan::GlobalRefOp>();
    load.erase();
    ref.erase();
    symbols.erase(symbols.lookup(name));
    loads.erase(name);
    ++numDropped;
  }
}

} // namespace
