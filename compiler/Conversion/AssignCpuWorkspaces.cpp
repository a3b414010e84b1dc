//===- AssignCpuWorkspaces.cpp - Scratch memory of CPU instructions
//---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/Passes.h"
#include "dialects/Plan/PlanOps.h"
#include "mlir/IR/Builders.h"
#include "runtime/Plan/CpuWorkspace.h"

namespace mlir::gpt2c {
#define GEN_PASS_DEF_ASSIGNCPUWORKSPACESPASS
#include "compiler/Conversion/Passes.h.inc"
} // namespace mlir::gpt2c

using namespace mlir;
using namespace mlir::gpt2c;

namespace {

int64_t dimension(Value buffer, unsigned i) {
  return cast<MemRefType>(buffer.getType()).getDimSize(i);
}

uint64_t workspaceBytes(plan::MatmulOp op) {
  return gpt2rt::cpu::matmulWorkspaceBytes(
      op.getM(), op.getK(), !op.getWeightKn(), op.getTransposeA());
}

uint64_t workspaceBytes(plan::AttentionOp op) {
  bool cached = bool(op.getKCache());
  uint64_t tokens = op.getTokens();
  uint64_t keys = cached ? dimension(op.getKCache(), 2) : tokens;
  return gpt2rt::cpu::attentionWorkspaceBytes(
      /*decode=*/cached && tokens == 1, op.getBatch(), op.getHeads(), tokens,
      keys);
}

uint64_t workspaceBytes(plan::AttentionGradOp op) {
  return gpt2rt::cpu::attentionGradWorkspaceBytes(
      op.getBatch(), op.getHeads(), op.getTokens(), op.getHeadSize());
}

struct AssignCpuWorkspaces
    : gpt2c::impl::AssignCpuWorkspacesPassBase<AssignCpuWorkspaces> {
  void runOnOperation() override {
    plan::ProgramOp program = getOperation();
    for (auto op : program.getBody().getOps<plan::MatmulOp>())
      assign(op);
    for (auto op : program.getBody().getOps<plan::AttentionOp>())
      assign(op);
    for (auto op : program.getBody().getOps<plan::AttentionGradOp>())
      assign(op);
  }

private:
  template <typename Op>
  void assign(Op op) {
    uint64_t bytes = workspaceBytes(op);
    if (bytes == 0 || op.getWorkspace())
      return;
    OpBuilder builder(op);
    auto type = MemRefType::get({int64_t(bytes)}, builder.getI8Type());
    Value workspace = plan::AllocOp::create(
        builder, op.getLoc(), type, plan::AllocKind::Workspace, IntegerAttr(),
        IntegerAttr(), IntegerAttr());
    op.getWorkspaceMutable().assign(workspace);
    ++numWorkspaces;
  }
};

} // namespace
