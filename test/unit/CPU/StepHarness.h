//===- StepHarness.h - Runs single instructions of the CPU target *- C++ -*-==//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CPU/Step.h"
#include "runtime/Support/Convert.h"
#include "test/unit/Plan/TestPlans.h"

#include <gtest/gtest.h>
#include <vector>

namespace gpt2rt::cpu {

/// A plan with buffers and one program to put instructions into. Values are
/// doubles, rounded to the buffer's type.
class StepHarness {
public:
  StepHarness() {
    program = std::make_unique<fb::ProgramT>();
    program->name = "steps";
    program->role = fb::Role::Update; // which may write everything
  }

  uint32_t add(DType type, std::vector<uint64_t> shape) {
    auto buffer = std::make_unique<fb::BufferT>();
    buffer->name = "step" + std::to_string(plan.buffers.size());
    buffer->dtype = static_cast<fb::DType>(type);
    buffer->bytes = sizeOf(type);
    for (uint64_t size : shape)
      buffer->bytes *= size;
    buffer->shape = std::move(shape);
    buffer->arena = static_cast<uint32_t>(fb::ArenaKind::State);
    uint64_t &end = plan.arenas[buffer->arena]->bytes;
    buffer->offset = (end + 63) / 64 * 64;
    end = buffer->offset + buffer->bytes;
    plan.buffers.push_back(std::move(buffer));
    return static_cast<uint32_t>(plan.buffers.size() - 1);
  }
  uint32_t addWorkspace(uint64_t bytes) {
    return bytes ? add(DType::U8, {bytes}) : 0;
  }

  template <typename OpT>
  void instruction(OpT op) {
    auto instruction = std::make_unique<fb::InstructionT>();
    instruction->op.Set(std::move(op));
    program->instructions.push_back(std::move(instruction));
  }

  /// The buffer that says how many rows of the program are valid.
  void follow(uint32_t count) {
    program->count_slot = static_cast<int32_t>(count);
  }

  /// After the last add() and instruction(), before the rest.
  void build() {
    plan.programs.push_back(std::move(program));
    parsed = std::make_unique<Result<Plan>>(test::parsePlan(plan));
    ASSERT_TRUE(parsed->ok()) << parsed->status().message();
    arenas = std::make_unique<Result<Arenas>>(Arenas::allocate(**parsed));
    ASSERT_TRUE(arenas->ok()) << arenas->status().message();
  }

  /// Prepares the instructions as an executor does.
  void prepare(int threads) {
    steps.clear();
    matmuls = std::make_unique<OneDnnPool>(threads);
    StepContext context = {**parsed, **arenas, kernels, *selectSimdKernels(),
                           *matmuls, threads};
    const fb::Program &program =
        (*parsed)->program(*(*parsed)->findProgram("steps"));
    for (const fb::Instruction *instruction : *program.instructions()) {
      StepOrError step = make(context, *instruction);
      ASSERT_TRUE(step.ok()) << step.status().message();
      steps.push_back(std::move(*step));
    }
  }

  /// Runs what was prepared, in order, with so many valid rows (-1: all).
  Status replay(int64_t count = -1) {
    for (const auto &step : steps)
      GPT2_RETURN_IF_ERROR(step->run(count));
    return Status();
  }

  void run(int threads, int64_t count = -1) {
    ASSERT_NO_FATAL_FAILURE(prepare(threads));
    Status status = replay(count);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  void set(uint32_t buffer, const std::vector<double> &values) {
    for (size_t i = 0; i < values.size(); ++i) {
      auto value = static_cast<float>(values[i]);
      if (typeOf(buffer) == DType::BF16)
        at<uint16_t>(buffer)[i] = floatToBFloat16(value);
      else if (typeOf(buffer) == DType::I32)
        at<int32_t>(buffer)[i] = static_cast<int32_t>(values[i]);
      else
        at<float>(buffer)[i] = value;
    }
  }

  std::vector<double> get(uint32_t buffer) const {
    std::vector<double> values(plan.buffers[buffer]->bytes /
                               sizeOf(typeOf(buffer)));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = typeOf(buffer) == DType::BF16
                      ? bfloat16ToFloat(at<uint16_t>(buffer)[i])
                      : at<float>(buffer)[i];
    return values;
  }

private:
  static StepOrError make(const StepContext &context,
                          const fb::Instruction &instruction) {
    switch (instruction.op_type()) {
    case fb::Op::Matmul:
      return makeMatmulStep(context, *instruction.op_as_Matmul());
    case fb::Op::Attention:
      return makeAttentionStep(context, *instruction.op_as_Attention());
    case fb::Op::AttentionGrad:
      return makeAttentionGradStep(context, *instruction.op_as_AttentionGrad());
    default:
      return makeEmbedGradStep(context, *instruction.op_as_EmbedGrad());
    }
  }

  DType typeOf(uint32_t buffer) const {
    return static_cast<DType>(plan.buffers[buffer]->dtype);
  }
  template <typename T>
  T *at(uint32_t buffer) const {
    return reinterpret_cast<T *>((*arenas)->address((*parsed)->buffer(buffer)));
  }

  fb::PlanT plan = test::trainPlan();
  std::unique_ptr<fb::ProgramT> program;
  std::unique_ptr<Result<Plan>> parsed;
  std::unique_ptr<Result<Arenas>> arenas;
  KernelLibrary kernels;
  std::unique_ptr<OneDnnPool> matmuls;
  std::vector<std::unique_ptr<Step>> steps;
};

} // namespace gpt2rt::cpu
