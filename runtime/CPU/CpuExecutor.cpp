//===- CpuExecutor.cpp - Runs plans on the CPU ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Instructions become steps when the plan is loaded: addresses, kernels and
// library primitives are resolved once, and replaying a program is a walk over
// its steps.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/Step.h"
#include "runtime/Device/WeightLayout.h"

#include <chrono>
#include <cstring>
#include <fstream>
#include <malloc.h>
#include <omp.h>
#include <thread>
#include <unistd.h>

namespace gpt2rt {
namespace {

using namespace cpu;

// Rows of a parameter that one thread converts at a time: whole tiles of a
// transposition.
constexpr uint64_t weightRowsPerTask = 256;

class CpuExecutor : public Executor {
public:
  CpuExecutor(const Plan &plan, Arenas arenas, KernelLibrary kernels,
              const SimdKernels &simd, int threads)
      : plan(plan), arenas(std::move(arenas)), kernels(std::move(kernels)),
        simd(simd), threads(threads), matmuls(threads) {}

  Status prepare();
  Status bindWeights(const Checkpoint &checkpoint) override;
  Status bindRandomWeights(const RandomWeights &random) override;
  Status run(uint32_t program) override;
  Status write(uint32_t buffer, uint64_t offset, const void *data,
               uint64_t bytes) override;
  Status read(uint32_t buffer, uint64_t offset, void *data,
              uint64_t bytes) override;
  MemoryReport memory() const override;
  Result<std::vector<InstructionTime>> profile(uint32_t program) override;

private:
  using Steps = std::vector<std::unique_ptr<Step>>;

  StepOrError makeStep(const StepContext &context,
                       const fb::Instruction &instruction);
  Status finishInit();
  int64_t validTokens(uint32_t program) const;
  Status checkRange(uint32_t buffer, uint64_t offset, uint64_t bytes) const;

  const Plan &plan;
  Arenas arenas;
  KernelLibrary kernels;
  const SimdKernels &simd;
  int threads;
  OneDnnPool matmuls;
  std::vector<Steps> programs;
};

Status CpuExecutor::prepare() {
  omp_set_num_threads(threads);
  StepContext context = {plan, arenas, kernels, simd, matmuls, threads};
  for (const auto *program : *plan.root().programs()) {
    Steps steps;
    for (const auto *instruction : *program->instructions()) {
      // bindWeights() sees all loads of `init` at once.
      if (program->role() == fb::Role::Init &&
          instruction->op_type() == fb::Op::LoadWeight)
        continue;
      GPT2_ASSIGN_OR_RETURN(std::unique_ptr<Step> step,
                            makeStep(context, *instruction));
      steps.push_back(std::move(step));
    }
    programs.push_back(std::move(steps));
  }
  return Status();
}

StepOrError CpuExecutor::makeStep(const StepContext &context,
                                  const fb::Instruction &instruction) {
  switch (instruction.op_type()) {
  case fb::Op::Launch:
    return makeLaunchStep(context, *instruction.op_as_Launch());
  case fb::Op::Matmul:
    return makeMatmulStep(context, *instruction.op_as_Matmul());
  case fb::Op::Attention:
    return makeAttentionStep(context, *instruction.op_as_Attention());
  case fb::Op::AttentionGrad:
    return makeAttentionGradStep(context, *instruction.op_as_AttentionGrad());
  case fb::Op::EmbedGrad:
    return makeEmbedGradStep(context, *instruction.op_as_EmbedGrad());
  case fb::Op::CacheAppend:
    return makeCacheAppendStep(context, *instruction.op_as_CacheAppend());
  case fb::Op::Sample:
    return makeSampleStep(context, *instruction.op_as_Sample());
  case fb::Op::Copy:
    return makeCopyStep(context, *instruction.op_as_Copy());
  case fb::Op::Fill:
    return makeFillStep(context, *instruction.op_as_Fill());
  default:
    return internalError(fb::EnumNameOp(instruction.op_type()),
                         " outside the init program");
  }
}

// Runs `fill` over all rows of a parameter in pieces, on all threads.
template <typename Fill>
void forWeightRows(uint64_t rows, int threads, Fill fill) {
  auto tasks =
      static_cast<int64_t>((rows + weightRowsPerTask - 1) / weightRowsPerTask);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int64_t i = 0; i < tasks; ++i) {
    uint64_t begin = static_cast<uint64_t>(i) * weightRowsPerTask;
    fill(begin, std::min(begin + weightRowsPerTask, rows));
  }
}

Status CpuExecutor::bindWeights(const Checkpoint &checkpoint) {
  GPT2_ASSIGN_OR_RETURN(std::vector<WeightLayout> layouts,
                        resolveWeights(plan, checkpoint));
  for (const WeightLayout &layout : layouts) {
    std::byte *out = arenas.address(plan.buffer(layout.buffer()));
    forWeightRows(layout.rows(), threads, [&](uint64_t begin, uint64_t end) {
      layout.convert(begin, end, out + begin * layout.rowBytes());
    });
  }
  return finishInit();
}

Status CpuExecutor::bindRandomWeights(const RandomWeights &random) {
  std::optional<uint32_t> init = plan.findProgram("init");
  if (!init)
    return Status();
  for (const auto *instruction : *plan.program(*init).instructions()) {
    const fb::LoadWeight *load = instruction->op_as_LoadWeight();
    if (!load)
      continue;
    const fb::Buffer &buffer = plan.buffer(load->dst());
    RowShape shape = rowShape(buffer);
    uint64_t rowBytes = buffer.bytes() / shape.rows;
    std::byte *out = arenas.address(buffer);
    forWeightRows(shape.rows, threads, [&](uint64_t begin, uint64_t end) {
      fillRandomRows(plan, *load, random.seed, begin, end,
                     out + begin * rowBytes);
    });
  }
  return finishInit();
}

// What `init` does beside loading: gradients and moments become zero.
Status CpuExecutor::finishInit() {
  std::optional<uint32_t> init = plan.findProgram("init");
  return init ? run(*init) : Status();
}

int64_t CpuExecutor::validTokens(uint32_t program) const {
  int32_t slot = plan.program(program).count_slot();
  if (slot < 0)
    return -1;
  const fb::Buffer &buffer = plan.buffer(static_cast<uint32_t>(slot));
  int32_t count;
  std::memcpy(&count, arenas.address(buffer), sizeof(count));
  return std::max(count, 1);
}

Status CpuExecutor::run(uint32_t program) {
  int64_t count = validTokens(program);
  for (const auto &step : programs[program])
    GPT2_RETURN_IF_ERROR(step->run(count));
  return Status();
}

Status CpuExecutor::checkRange(uint32_t buffer, uint64_t offset,
                               uint64_t bytes) const {
  uint64_t size = plan.buffer(buffer).bytes();
  if (offset > size || bytes > size - offset)
    return outOfRange("bytes [", offset, ", ", offset, " + ", bytes,
                      ") of buffer '", plan.bufferName(buffer), "', which has ",
                      size);
  return Status();
}

Status CpuExecutor::write(uint32_t buffer, uint64_t offset, const void *data,
                          uint64_t bytes) {
  GPT2_RETURN_IF_ERROR(checkRange(buffer, offset, bytes));
  std::memcpy(arenas.address(plan.buffer(buffer)) + offset, data, bytes);
  return Status();
}

Status CpuExecutor::read(uint32_t buffer, uint64_t offset, void *data,
                         uint64_t bytes) {
  GPT2_RETURN_IF_ERROR(checkRange(buffer, offset, bytes));
  std::memcpy(data, arenas.address(plan.buffer(buffer)) + offset, bytes);
  return Status();
}

// What this process holds beside the arenas: resident memory that is neither
// mapped file nor arena cannot be told apart, so the heap stands for it.
MemoryReport CpuExecutor::memory() const {
  struct mallinfo2 heap = mallinfo2();
  return {arenas.use(), heap.uordblks + heap.hblkhd};
}

std::string describe(const Plan &plan, const fb::Instruction &instruction) {
  std::string what = fb::EnumNameOp(instruction.op_type());
  if (const fb::Launch *launch = instruction.op_as_Launch())
    return what + " " +
           plan.root().kernels()->Get(launch->kernel())->name()->str();
  if (const fb::Matmul *matmul = instruction.op_as_Matmul())
    return strCat(what, " ", matmul->m(), "x", matmul->n(), "x", matmul->k());
  return what;
}

Result<std::vector<InstructionTime>> CpuExecutor::profile(uint32_t program) {
  using Clock = std::chrono::steady_clock;
  std::vector<InstructionTime> times;
  int64_t count = validTokens(program);
  const auto &instructions = *plan.program(program).instructions();
  for (size_t i = 0; i < programs[program].size(); ++i) {
    auto start = Clock::now();
    GPT2_RETURN_IF_ERROR(programs[program][i]->run(count));
    double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    auto index = static_cast<flatbuffers::uoffset_t>(i);
    times.push_back({describe(plan, *instructions[index]), seconds});
  }
  return times;
}

} // namespace

Result<std::unique_ptr<Executor>>
createCpuExecutor(const Plan &plan, const ExecutorOptions &options) {
  if (plan.root().target() != fb::Target::CPU)
    return failedPrecondition("the plan is for ",
                              fb::EnumNameTarget(plan.root().target()),
                              ", not for the CPU");
  const SimdKernels *simd = selectSimdKernels();
  if (!simd)
    return failedPrecondition(
        "this CPU lacks AVX2 and FMA (x86-64-v3), the least that CPU plans "
        "run on");
  GPT2_ASSIGN_OR_RETURN(KernelLibrary kernels, KernelLibrary::load(plan));
  GPT2_ASSIGN_OR_RETURN(Arenas arenas, Arenas::allocate(plan));
  int threads =
      options.threads > 0
          ? options.threads
          : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  auto executor = std::make_unique<CpuExecutor>(
      plan, std::move(arenas), std::move(kernels), *simd, threads);
  GPT2_RETURN_IF_ERROR(executor->prepare());
  return std::unique_ptr<Executor>(std::move(executor));
}

} // namespace gpt2rt
