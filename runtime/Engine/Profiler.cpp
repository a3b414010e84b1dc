//===- Profiler.cpp - Where a plan's time goes ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/Engine/Profiler.h"

#include "runtime/Device/InstructionTimes.h"
#include "runtime/Engine/StateFill.h"
#include "runtime/Plan/Operands.h"

#include <algorithm>
#include <chrono>
#include <map>

using namespace gpt2rt;

namespace {

/// What an op did, in the order of a program.
struct OpTime {
  std::string what;
  const fb::Cost *op = nullptr;
  bool isMatmul = false, isRow = false;
  double seconds = 0, flops = 0, bytes = 0;
};

/// Whether it launches a kernel that works row by row.
bool isRowKernel(const Plan &plan, const fb::Instruction &instruction) {
  const fb::Launch *launch = instruction.op_as_Launch();
  return launch &&
         plan.root().kernels()->Get(launch->kernel())->kind()->string_view() ==
             "row";
}

/// Bytes that an instruction reads and writes, where the compiler says nothing.
double bytesOf(const Plan &plan, const fb::Instruction &instruction) {
  std::vector<Operand> operands;
  operandsOf(instruction, operands);
  double bytes = 0;
  for (const Operand &operand : operands)
    bytes += double(plan.buffer(operand.buffer).bytes()) *
             (operand.reads() + operand.writes());
  return bytes;
}

class Profiler {
public:
  Profiler(const Plan &plan, Executor &executor, unsigned repeats)
      : plan(plan), executor(executor), repeats(repeats) {}

  Result<ProgramProfile> run(uint32_t program);

private:
  Result<std::vector<InstructionTime>> time(uint32_t program);
  Result<double> replay(uint32_t program);
  std::vector<OpTime> ops(const fb::Program &program,
                          const std::vector<InstructionTime> &times) const;

  const Plan &plan;
  Executor &executor;
  unsigned repeats;
};

Result<std::vector<InstructionTime>> Profiler::time(uint32_t program) {
  std::vector<std::vector<double>> all;
  std::vector<InstructionTime> times;
  for (unsigned i = 0; i <= repeats; ++i) {
    GPT2_ASSIGN_OR_RETURN(times, executor.profile(program));
    all.resize(times.size());
    for (size_t at = 0; i > 0 && at < times.size(); ++at)
      all[at].push_back(times[at].seconds);
  }
  for (size_t at = 0; at < times.size(); ++at)
    times[at].seconds = median(std::move(all[at]));
  return times;
}

Result<double> Profiler::replay(uint32_t program) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  for (unsigned i = 0; i <= repeats; ++i) {
    auto start = Clock::now();
    GPT2_RETURN_IF_ERROR(executor.run(program));
    if (i > 0)
      seconds.push_back(
          std::chrono::duration<double>(Clock::now() - start).count());
  }
  return median(std::move(seconds));
}

std::vector<OpTime>
Profiler::ops(const fb::Program &program,
              const std::vector<InstructionTime> &times) const {
  std::vector<OpTime> result;
  const auto &instructions = *program.instructions();
  for (size_t i = 0; i < times.size(); ++i) {
    const auto &instruction =
        *instructions[static_cast<flatbuffers::uoffset_t>(i)];
    const fb::Matmul *matmul = instruction.op_as_Matmul();
    int32_t cost = instruction.cost();
    // What has no cost belongs to the op before it, if that has one.
    bool begins = cost >= 0 || result.empty() || !result.back().op;
    if (begins)
      result.push_back({});
    OpTime &op = result.back();
    op.what += (begins ? "" : " + ") + times[i].what;
    op.seconds += times[i].seconds;
    op.isMatmul |= matmul != nullptr;
    op.isRow |= isRowKernel(plan, instruction);
    if (cost >= 0) {
      op.op = plan.root().costs()->Get(static_cast<uint32_t>(cost));
      op.flops = double(op.op->flops());
      op.bytes = double(op.op->bytes());
    } else if (!op.op) {
      op.bytes += bytesOf(plan, instruction);
      if (matmul)
        op.flops += 2.0 * matmul->m() * matmul->n() * matmul->k();
    }
  }
  return result;
}

Result<ProgramProfile> Profiler::run(uint32_t program) {
  ProgramProfile profile;
  profile.program = &plan.program(program);
  GPT2_ASSIGN_OR_RETURN(profile.replay, replay(program));
  GPT2_ASSIGN_OR_RETURN(std::vector<InstructionTime> times, time(program));
  std::map<std::pair<const fb::Cost *, std::string>, ProfileGroup> groups;
  for (OpTime &op : ops(*profile.program, times)) {
    ProfileGroup &group = groups[{op.op, op.what}];
    group.what = op.what;
    group.op = op.op;
    group.isMatmul = op.isMatmul;
    group.isRow = op.isRow;
    ++group.count;
    group.seconds += op.seconds;
    group.flops += op.flops;
    group.bytes += op.bytes;
    profile.seconds += op.seconds;
  }
  for (auto &[key, group] : groups)
    profile.groups.push_back(std::move(group));
  std::stable_sort(profile.groups.begin(), profile.groups.end(),
                   [](const ProfileGroup &a, const ProfileGroup &b) {
                     return a.seconds > b.seconds;
                   });
  return profile;
}

} // namespace

double ProfileGroup::floor(const DeviceRates &rates) const {
  if (rates.flops <= 0 || rates.bytes <= 0)
    return 0;
  return std::max(flops / rates.flops, bytes / rates.bytes);
}

Result<std::vector<ProgramProfile>>
gpt2rt::profilePlan(const Plan &plan, Executor &executor, unsigned repeats) {
  GPT2_RETURN_IF_ERROR(fillState(plan, executor));
  Profiler profiler(plan, executor, repeats);
  std::vector<ProgramProfile> profiles;
  for (uint32_t i = 0; i < plan.root().programs()->size(); ++i)
    if (plan.program(i).role() != fb::Role::Init) {
      GPT2_ASSIGN_OR_RETURN(ProgramProfile profile, profiler.run(i));
      profiles.push_back(std::move(profile));
    }
  return profiles;
}

DeviceRates gpt2rt::reachedRates(const std::vector<ProgramProfile> &profiles) {
  auto rate = [&](double ProfileGroup::*work, bool ProfileGroup::*isCounted) {
    double done = 0, seconds = 0;
    for (const ProgramProfile &profile : profiles)
      for (const ProfileGroup &group : profile.groups)
        if (group.*isCounted) {
          done += group.*work;
          seconds += group.seconds;
        }
    return seconds > 0 ? done / seconds : 0;
  };
  return {rate(&ProfileGroup::flops, &ProfileGroup::isMatmul),
          rate(&ProfileGroup::bytes, &ProfileGroup::isRow)};
}
