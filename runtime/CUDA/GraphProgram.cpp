//===- GraphProgram.cpp - A program as a CUDA Graph -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/GraphProgram.h"

#include "runtime/CUDA/Branches.h"

#include <optional>
#include <span>
#include <utility>

using namespace gpt2rt;
using namespace gpt2rt::cuda;

namespace {

// Programmatic edges inside graphs are of CUDA 12.3.
constexpr int programmaticGraphs = 12030;

/// Runs of independent steps (Branches.h) side by side, the rest in a row.
/// `branches` may be null where there are none.
Status enqueueRuns(const Context &context, const Steps &steps,
                   const std::vector<int> &runs, Branches *branches) {
  bool isProgrammatic = context.driver().version >= programmaticGraphs;
  bool afterKernel = false;
  for (size_t begin = 0, end = 0; begin < steps.size(); begin = end) {
    end = begin + 1;
    if (runs[begin] < 0) {
      GPT2_RETURN_IF_ERROR(
          steps[begin]->enqueue(context, context.stream(), afterKernel));
      afterKernel = isProgrammatic && steps[begin]->isKernel();
      continue;
    }
    while (end < steps.size() && runs[end] == runs[begin])
      ++end;
    GPT2_RETURN_IF_ERROR(
        branches->enqueue(std::span(steps).subspan(begin, end - begin),
                          afterKernel, isProgrammatic));
    afterKernel = false;
  }
  return Status();
}

} // namespace

Status cuda::enqueueAll(const Context &context, const Steps &steps) {
  return enqueueRuns(context, steps, std::vector<int>(steps.size(), -1),
                     /*branches=*/nullptr);
}

Result<GraphProgram> GraphProgram::capture(const Context &context,
                                           const Steps &steps,
                                           const std::vector<int> &runs,
                                           const HostCopy *copy) {
  const Driver &driver = context.driver();
  CUstream stream = context.stream();
  // They are part of the capture until it ends.
  std::optional<Branches> branches;
  if (std::any_of(runs.begin(), runs.end(), [](int run) { return run >= 0; })) {
    GPT2_ASSIGN_OR_RETURN(Branches opened, Branches::open(context));
    branches.emplace(std::move(opened));
  }
  GPT2_CU(driver, cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  Status status =
      enqueueRuns(context, steps, runs, branches ? &*branches : nullptr);
  if (status.ok() && copy)
    status = toStatus(
        driver,
        driver.cuMemcpyDtoHAsync(copy->to, copy->from, copy->bytes, stream),
        "cuMemcpyDtoHAsync");
  // The capture must end even where something in it failed.
  CUgraph graph = nullptr;
  CUresult ended = driver.cuStreamEndCapture(stream, &graph);
  if (status.ok())
    status = toStatus(driver, ended, "cuStreamEndCapture");
  GraphProgram program(context);
  if (status.ok())
    status = toStatus(driver,
                      driver.cuGraphInstantiate(&program.executable, graph, 0),
                      "cuGraphInstantiate");
  if (status.ok())
    status = toStatus(driver, driver.cuGraphUpload(program.executable, stream),
                      "cuGraphUpload");
  if (graph)
    (void)driver.cuGraphDestroy(graph);
  if (!status.ok())
    return status;
  return program;
}

GraphProgram::GraphProgram(GraphProgram &&other) noexcept
    : context(other.context),
      executable(std::exchange(other.executable, nullptr)) {}

GraphProgram::~GraphProgram() {
  if (executable)
    (void)context.driver().cuGraphExecDestroy(executable);
}

Status GraphProgram::launch() const {
  GPT2_CU(context.driver(), cuGraphLaunch, executable, context.stream());
  return Status();
}
