//===- Operands.cpp - What an instruction reads and writes ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Plan/Operands.h"

#include <algorithm>

using namespace gpt2rt;
using fb::Access;

namespace {

/// Appends operands; -1 is an absent one. Other negative numbers become indices
/// beyond every buffer, which the validator refuses.
class Collector {
public:
  explicit Collector(std::vector<Operand> &out) : out(out) {}

  Collector &add(Access access, const char *field, int64_t buffer) {
    if (buffer != -1)
      out.push_back({field, -1, static_cast<uint32_t>(buffer), access});
    return *this;
  }

  void visit(const fb::Launch &op) {
    // Equal lengths are the validator's first check on a launch.
    uint32_t count = std::min(op.buffers()->size(), op.access()->size());
    for (uint32_t i = 0; i < count; ++i)
      out.push_back({"buffers", static_cast<int32_t>(i), op.buffers()->Get(i),
                     static_cast<Access>(op.access()->Get(i))});
  }
  void visit(const fb::Matmul &op) {
    add(Access::Read, "a", op.a()).add(Access::Read, "weight", op.weight());
    add(Access::Read, "bias", op.bias());
    add(op.accumulate() ? Access::ReadWrite : Access::Write, "d", op.d());
    add(Access::Write, "workspace", op.workspace());
  }
  void visit(const fb::Attention &op) {
    add(Access::Read, "qkv", op.qkv()).add(Access::Write, "out", op.out());
    add(Access::Read, "k_cache", op.k_cache());
    add(Access::Read, "v_cache", op.v_cache());
    add(Access::Read, "starts", op.starts());
    add(Access::Read, "slot", op.slot()).add(Access::Read, "rng", op.rng());
    add(Access::Write, "lse", op.lse());
    add(Access::Write, "workspace", op.workspace());
  }
  void visit(const fb::AttentionGrad &op) {
    add(Access::Read, "qkv", op.qkv()).add(Access::Read, "out", op.out());
    add(Access::Read, "lse", op.lse()).add(Access::Read, "dout", op.dout());
    add(Access::Read, "rng", op.rng()).add(Access::Write, "dqkv", op.dqkv());
    add(Access::Write, "workspace", op.workspace());
  }
  void visit(const fb::EmbedGrad &op) {
    add(Access::Read, "dx", op.dx()).add(Access::Read, "tokens", op.tokens());
    add(Access::Read, "order", op.order());
    add(Access::ReadWrite, "dwte", op.dwte());
    add(Access::ReadWrite, "dwpe", op.dwpe());
  }
  void visit(const fb::CacheAppend &op) {
    add(Access::Read, "qkv", op.qkv());
    add(Access::Write, "k_cache", op.k_cache());
    add(Access::Write, "v_cache", op.v_cache());
    add(Access::Read, "starts", op.starts());
    add(Access::Read, "count", op.count()).add(Access::Read, "slot", op.slot());
  }
  void visit(const fb::Sample &op) {
    add(Access::Read, "logits", op.logits());
    add(Access::Read, "sampling", op.sampling());
    add(Access::Write, "tokens", op.tokens());
    add(Access::Write, "positions", op.positions());
    add(Access::Read, "starts", op.starts());
    add(Access::Read, "count", op.count()).add(Access::Read, "slot", op.slot());
    add(Access::Write, "workspace", op.workspace());
  }
  void visit(const fb::Copy &op) {
    add(Access::Read, "src", op.src()).add(Access::Write, "dst", op.dst());
  }
  void visit(const fb::Fill &op) { add(Access::Write, "dst", op.dst()); }
  void visit(const fb::LoadWeight &op) { add(Access::Write, "dst", op.dst()); }

private:
  std::vector<Operand> &out;
};

} // namespace

void gpt2rt::operandsOf(const fb::Instruction &instruction,
                        std::vector<Operand> &out) {
  out.clear();
  Collector collector(out);
  switch (instruction.op_type()) {
  case fb::Op::NONE:
    return;
  case fb::Op::Launch:
    return collector.visit(*instruction.op_as_Launch());
  case fb::Op::Matmul:
    return collector.visit(*instruction.op_as_Matmul());
  case fb::Op::Attention:
    return collector.visit(*instruction.op_as_Attention());
  case fb::Op::CacheAppend:
    return collector.visit(*instruction.op_as_CacheAppend());
  case fb::Op::Sample:
    return collector.visit(*instruction.op_as_Sample());
  case fb::Op::Copy:
    return collector.visit(*instruction.op_as_Copy());
  case fb::Op::Fill:
    return collector.visit(*instruction.op_as_Fill());
  case fb::Op::LoadWeight:
    return collector.visit(*instruction.op_as_LoadWeight());
  case fb::Op::AttentionGrad:
    return collector.visit(*instruction.op_as_AttentionGrad());
  case fb::Op::EmbedGrad:
    return collector.visit(*instruction.op_as_EmbedGrad());
  }
}

const char *gpt2rt::instructionName(fb::Op op) {
  switch (op) {
  case fb::Op::NONE:
    break;
  case fb::Op::Launch:
    return "launch";
  case fb::Op::Matmul:
    return "matmul";
  case fb::Op::Attention:
    return "attention";
  case fb::Op::CacheAppend:
    return "cache_append";
  case fb::Op::Sample:
    return "sample";
  case fb::Op::Copy:
    return "copy";
  case fb::Op::Fill:
    return "fill";
  case fb::Op::LoadWeight:
    return "load_weight";
  case fb::Op::AttentionGrad:
    return "attention_grad";
  case fb::Op::EmbedGrad:
    return "embed_grad";
  }
  return "none";
}
