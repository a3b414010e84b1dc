//===- CudaPlans.cpp - Small plans for the CUDA target --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/unit/CUDA/CudaPlans.h"

#include "runtime/Plan/Operands.h"

using namespace gpt2rt;
using namespace gpt2rt::test;

fb::PlanT test::cudaPlan(const std::string &arch, bool keepsProducts) {
  fb::PlanT plan = generatePlan();
  plan.target = fb::Target::CUDA;
  plan.modules[0]->arch = arch;
  plan.modules[0]->format = fb::CodeFormat::Cubin;
  plan.kernels[0]->block_threads = 128;
  auto kernel = std::make_unique<fb::KernelT>(*plan.kernels[0]);
  kernel->name = "template_kernel";
  kernel->kind = "decode_attention";
  plan.kernels.push_back(std::move(kernel));

  std::string packed = packPlan(plan);
  const fb::Plan *table = fb::GetPlan(
      packed.data() +
      reinterpret_cast<const PlanHeader *>(packed.data())->flatbufferOffset);
  std::vector<Operand> operands;
  for (size_t p = 0; p < plan.programs.size(); ++p)
    for (size_t i = 0; i < plan.programs[p]->instructions.size(); ++i) {
      fb::OpUnion &op = plan.programs[p]->instructions[i]->op;
      if (op.type == fb::Op::Launch)
        op.AsLaunch()->programmatic = true;
      if (op.type == fb::Op::Matmul && keepsProducts)
        continue;
      if (op.type != fb::Op::Matmul && op.type != fb::Op::Attention &&
          op.type != fb::Op::CacheAppend && op.type != fb::Op::Sample)
        continue;
      operandsOf(*table->programs()->Get(p)->instructions()->Get(i), operands);
      fb::LaunchT launch;
      launch.kernel = 1;
      launch.rows = 1;
      launch.programmatic = true;
      for (const Operand &operand : operands) {
        launch.buffers.push_back(operand.buffer);
        launch.access.push_back(operand.access);
      }
      op.Set(std::move(launch));
    }
  return plan;
}
