//===- GraphProgram.cpp - A program as a CUDA Graph -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/GraphProgram.h"

#include "runtime/CUDA/Branches.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <span>
#include <thread>
#include <utility>

using namespace gpt2rt;
using namespace gpt2rt::cuda;

namespace {

// Programmatic edges inside graphs are of CUDA 12.3.
constexpr int programmaticGraphs = 12030;

/// Events that are destroyed with their owner.
class Events {
public:
  explicit Events(const Driver &driver) : driver(driver) {}
  Events(const Events &) = delete;
  Events &operator=(const Events &) = delete;
  ~Events() {
    for (CUevent event : events)
      (void)driver.cuEventDestroy(event);
  }
  Status record(CUstream stream) {
    CUevent event = nullptr;
    GPT2_CU(driver, cuEventCreate, &event, CU_EVENT_DEFAULT);
    events.push_back(event);
    GPT2_CU(driver, cuEventRecord, event, stream);
    return Status();
  }
  /// Seconds between event i and i + 1.
  Result<double> interval(size_t i) const {
    float milliseconds = 0;
    GPT2_RETURN_IF_ERROR(toStatus(
        driver,
        driver.eventElapsedTime(&milliseconds, events[i], events[i + 1]),
        "cuEventElapsedTime"));
    return milliseconds * 1e-3;
  }
  size_t size() const { return events.size(); }

private:
  const Driver &driver;
  std::vector<CUevent> events;
};

/// Holds the stream back until open(), so that what is enqueued meanwhile runs
/// with no gap left by the host. It opens by itself after a while: enqueueing
/// may wait for the stream, as when a kernel is loaded at its first use.
class Gate {
public:
  Status close(const Context &context) {
    GPT2_CU(context.driver(), cuLaunchHostFunc, context.stream(), wait, this);
    return Status();
  }
  void open() { isOpen = true; }
  ~Gate() { open(); }

private:
  static void CUDA_CB wait(void *self) {
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (!static_cast<Gate *>(self)->isOpen &&
           std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
  }
  std::atomic<bool> isOpen = false;
};

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

Result<std::vector<double>> cuda::timeSteps(const Context &context,
                                            const Steps &steps) {
  // A stream holds about a thousand pending operations; with three a step, a
  // longer batch behind a closed gate would never be enqueued.
  constexpr size_t batch = 128;
  std::vector<double> seconds;
  for (size_t begin = 0; begin < steps.size(); begin += batch) {
    size_t end = std::min(begin + batch, steps.size());
    Events events(context.driver());
    Gate gate;
    GPT2_RETURN_IF_ERROR(gate.close(context));
    Status status = events.record(context.stream());
    for (size_t i = begin; i < end && status.ok(); ++i) {
      status =
          steps[i]->enqueue(context, context.stream(), /*afterKernel=*/false);
      if (status.ok())
        status = events.record(context.stream());
    }
    gate.open();
    // The gate must outlive the callback that looks at it.
    Status finished = context.synchronize();
    GPT2_RETURN_IF_ERROR(status);
    GPT2_RETURN_IF_ERROR(finished);
    for (size_t i = 0; i + 1 < events.size(); ++i) {
      GPT2_ASSIGN_OR_RETURN(double interval, events.interval(i));
      seconds.push_back(interval);
    }
  }
  return seconds;
}
