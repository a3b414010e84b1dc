//===- Branches.cpp - Kernels that may run side by side -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Branches.h"

#include "runtime/Plan/Operands.h"

#include <algorithm>

using namespace gpt2rt;
using namespace gpt2rt::cuda;

namespace {

/// Bytes [begin, end) of an arena.
struct Range {
  uint32_t arena;
  uint64_t begin, end;
  bool isWritten;
};
using Ranges = std::vector<Range>;

bool conflicts(const Range &a, const Range &b) {
  return (a.isWritten || b.isWritten) && a.arena == b.arena &&
         a.begin < b.end && b.begin < a.end;
}

bool conflicts(const Ranges &a, const Ranges &b) {
  return std::any_of(a.begin(), a.end(), [&](const Range &x) {
    return std::any_of(b.begin(), b.end(),
                       [&](const Range &y) { return conflicts(x, y); });
  });
}

Ranges rangesOf(const Plan &plan, const fb::Instruction &instruction) {
  std::vector<Operand> operands;
  operandsOf(instruction, operands);
  Ranges ranges;
  for (const Operand &operand : operands) {
    const fb::Buffer &buffer = plan.buffer(operand.buffer);
    ranges.push_back({buffer.arena(), buffer.offset(),
                      buffer.offset() + buffer.bytes(), operand.writes()});
  }
  return ranges;
}

} // namespace

std::vector<int> cuda::findIndependentRuns(const Plan &plan,
                                           const fb::Program &program,
                                           size_t least) {
  std::vector<int> runs(program.instructions()->size(), -1);
  int count = 0;
  std::vector<Ranges> run; // of the kernels right before `i`
  auto close = [&](size_t end) {
    if (run.size() >= least)
      std::fill_n(runs.begin() + static_cast<ptrdiff_t>(end - run.size()),
                  run.size(), count++);
    run.clear();
  };
  for (size_t i = 0; i < runs.size(); ++i) {
    const fb::Instruction &instruction =
        *program.instructions()->Get(static_cast<flatbuffers::uoffset_t>(i));
    bool isKernel = instruction.op_type() == fb::Op::Launch;
    Ranges ranges = rangesOf(plan, instruction);
    if (!isKernel || std::any_of(run.begin(), run.end(), [&](const Ranges &r) {
          return conflicts(r, ranges);
        }))
      close(i);
    if (isKernel)
      run.push_back(std::move(ranges));
  }
  close(runs.size());
  return runs;
}

Result<Branches> Branches::open(const Context &context) {
  constexpr size_t count = 3;
  const Driver &driver = context.driver();
  Branches branches(context);
  for (size_t i = 0; i < count; ++i) {
    CUstream stream = nullptr;
    GPT2_CU(driver, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    branches.streams.push_back(stream);
  }
  return branches;
}

Branches::~Branches() {
  for (CUstream stream : streams)
    (void)context.driver().cuStreamDestroy(stream);
  for (CUevent event : events)
    (void)context.driver().cuEventDestroy(event);
}

Status Branches::join(CUstream from, CUstream to) {
  const Driver &driver = context.driver();
  CUevent event = nullptr;
  GPT2_CU(driver, cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  events.push_back(event);
  GPT2_CU(driver, cuEventRecord, event, from);
  GPT2_CU(driver, cuStreamWaitEvent, to, event, CU_EVENT_WAIT_DEFAULT);
  return Status();
}

Status Branches::enqueue(std::span<const std::unique_ptr<Step>> kernels,
                         bool afterKernel, bool isProgrammatic) {
  CUstream own = context.stream();
  for (CUstream stream : streams)
    GPT2_RETURN_IF_ERROR(join(own, stream));
  for (size_t i = 0; i < kernels.size(); ++i) {
    size_t branch = i % (streams.size() + 1);
    bool follows = i == 0 ? afterKernel : isProgrammatic && i != branch;
    GPT2_RETURN_IF_ERROR(kernels[i]->enqueue(
        context, branch == 0 ? own : streams[branch - 1], follows));
  }
  for (CUstream stream : streams)
    GPT2_RETURN_IF_ERROR(join(stream, own));
  return Status();
}
