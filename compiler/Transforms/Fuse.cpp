// fuse: forms the regions that become one kernel.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/FusionRegion.h"
#include "compiler/Transforms/Passes.h"

#include "dialects/GPT2/GPT2Ops.h"

#include "mlir/IR/Remarks.h"

namespace mlir::gpt2c {
#define GEN_PASS_DEF_FUSE
#include "compiler/Transforms/Passes.h.inc"
} // namespace mlir::gpt2c

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;

namespace {

class FusePass : public gpt2c::impl::FuseBase<FusePass> {
public:
  using gpt2c::impl::FuseBase<FusePass>::FuseBase;
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (getProgram(function))
        fuse(function);
  }

private:
  /// What was formed in one program.
  struct Counts {
    int64_t rowRegions = 0, matvecRegions = 0, fusedOps = 0;
    int64_t prologueOps = 0, epilogueOps = 0;
  };

  void fuse(func::FuncOp function);
  void report(func::FuncOp function);
  void formMatvec(LinearOp linear);
  void growPrologue(FusionRegion &region, LinearOp linear);
  void growEpilogue(FusionRegion &region, LinearOp linear);
  void formRow(Operation *first);
  void build(FusionRegion &region, FusedKind kind);

  remark::RemarkOpts remarkOf(StringRef name) {
    return remark::RemarkOpts::name(name).category("fuse").function(program);
  }
  /// Says why `op` is not part of the region that `of` is in.
  void missed(Operation *op, Operation *of, StringRef reason) {
    remark::missed(op->getLoc(), remarkOf("stayed-outside"))
        << remark::add("'{0}' {1}, so it is not fused with '{2}'",
                       op->getName().getStringRef().str(), reason.str(),
                       of->getName().getStringRef().str());
  }

  StringRef program; ///< name of the function at hand, for remarks
  Counts counts;
};

void FusePass::fuse(func::FuncOp function) {
  program = function.getName();
  counts = {};
  if (matvecRows > 0)
    for (auto linear : llvm::to_vector(function.getOps<LinearOp>()))
      formMatvec(linear);
  Block &block = function.getBody().front();
  SmallVector<Operation *> candidates;
  for (auto op : block.getOps<DecomposeOpInterface>())
    candidates.push_back(op);
  for (Operation *op : candidates)
    if (op->getBlock() == &block) // not yet in a region
      formRow(op);
  report(function);
}

void FusePass::report(func::FuncOp function) {
  numRowRegions += counts.rowRegions;
  numMatvecRegions += counts.matvecRegions;
  numFusedOps += counts.fusedOps;
  numPrologueOps += counts.prologueOps;
  numEpilogueOps += counts.epilogueOps;
  remark::analysis(function.getLoc(), remarkOf("regions"))
      << remark::metric("row-regions", counts.rowRegions)
      << remark::metric("matvec-regions", counts.matvecRegions)
      << remark::metric("ops-fused", counts.fusedOps)
      << remark::metric("prologue-ops", counts.prologueOps)
      << remark::metric("epilogue-ops", counts.epilogueOps);
}

void FusePass::build(FusionRegion &region, FusedKind kind) {
  FusedOp fused = region.build(kind);
  counts.fusedOps += region.size();
  std::string text = (stringifyFusedKind(kind) + " region of").str();
  for (Operation &op : fused.getBody().front().without_terminator())
    text += (" " + op.getName().stripDialect()).str();
  remark::passed(fused.getLoc(), remarkOf("region-formed")) << text;
}

/// Extends a linear upwards and downwards as far as the template allows.
void FusePass::formMatvec(LinearOp linear) {
  if (getRowCount(linear) > matvecRows) {
    remark::missed(linear.getLoc(), remarkOf("too-many-rows"))
        << remark::add("'gpt2.linear' of {0} rows exceeds matvec-rows={1}",
                       getRowCount(linear), int64_t(matvecRows));
    return;
  }
  FusionRegion region(linear);
  growPrologue(region, linear);
  growEpilogue(region, linear);
  if (region.size() == 1)
    return;
  build(region, FusedKind::Matvec);
  ++counts.matvecRegions;
}

void FusePass::growPrologue(FusionRegion &region, LinearOp linear) {
  SmallVector<Value> operands = {linear.getX()};
  while (!operands.empty()) {
    Operation *op = operands.pop_back_val().getDefiningOp();
    if (!op || region.contains(op) || !isa<CostOpInterface>(op))
      continue;
    std::string reason = region.whyNotPrologue(op, linear);
    if (!reason.empty()) {
      missed(op, linear, reason);
      continue;
    }
    region.add(op);
    ++counts.prologueOps;
    llvm::append_range(operands, op->getOperands());
  }
}

void FusePass::growEpilogue(FusionRegion &region, LinearOp linear) {
  SmallVector<Operation *> epilogue = {linear};
  while (!epilogue.empty()) {
    for (Operation *op : epilogue.pop_back_val()->getUsers()) {
      if (region.contains(op) || !isa<CostOpInterface>(op))
        continue;
      std::string reason = region.whyNotEpilogue(op, linear);
      if (!reason.empty()) {
        missed(op, linear, reason);
        continue;
      }
      region.add(op);
      ++counts.epilogueOps;
      epilogue.push_back(op);
    }
  }
}

/// Grows a region from `first` until no neighbour can join.
void FusePass::formRow(Operation *first) {
  FusionRegion region(first);
  bool grew = true;
  while (grew) {
    grew = false;
    for (Operation *op : region.neighbors()) {
      if (!region.whyNotRow(op, maxInputs).empty())
        continue;
      region.add(op);
      grew = true;
    }
  }
  for (Operation *op : region.neighbors())
    missed(op, first, region.whyNotRow(op, maxInputs));
  if (region.size() == 1)
    return;
  build(region, FusedKind::Row);
  ++counts.rowRegions;
}

} // namespace
