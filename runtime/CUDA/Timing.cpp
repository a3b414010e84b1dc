//===- Timing.cpp - Seconds of work on a stream ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Timing.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

using namespace gpt2rt;
using namespace gpt2rt::cuda;

namespace {

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

/// Puts pieces of work on the stream behind a closed gate, with an event
/// between any two, and returns the seconds of each.
template <typename Enqueue>
Result<std::vector<double>> timePieces(const Context &context, size_t count,
                                       Enqueue enqueue) {
  Events events(context.driver());
  Gate gate;
  GPT2_RETURN_IF_ERROR(gate.close(context));
  Status status = events.record(context.stream());
  for (size_t i = 0; i < count && status.ok(); ++i) {
    status = enqueue(i);
    if (status.ok())
      status = events.record(context.stream());
  }
  gate.open();
  // The gate must outlive the callback that looks at it.
  Status finished = context.synchronize();
  GPT2_RETURN_IF_ERROR(status);
  GPT2_RETURN_IF_ERROR(finished);
  std::vector<double> seconds;
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    GPT2_ASSIGN_OR_RETURN(double interval, events.interval(i));
    seconds.push_back(interval);
  }
  return seconds;
}

} // namespace

Result<std::vector<double>> cuda::timeSteps(const Context &context,
                                            const Steps &steps) {
  // A stream holds about a thousand pending operations; with three a step, a
  // longer batch behind a closed gate would never be enqueued.
  constexpr size_t batch = 128;
  std::vector<double> seconds;
  for (size_t begin = 0; begin < steps.size(); begin += batch) {
    size_t count = std::min(batch, steps.size() - begin);
    GPT2_ASSIGN_OR_RETURN(
        std::vector<double> part, timePieces(context, count, [&](size_t i) {
          return steps[begin + i]->enqueue(context, context.stream(),
                                           /*afterKernel=*/false);
        }));
    seconds.insert(seconds.end(), part.begin(), part.end());
  }
  return seconds;
}

Result<double> cuda::timeRepeated(const Context &context, Step &step,
                                  unsigned runs) {
  GPT2_ASSIGN_OR_RETURN(
      std::vector<double> seconds, timePieces(context, 1, [&](size_t) {
        Status status;
        for (unsigned i = 0; i < runs && status.ok(); ++i)
          status =
              step.enqueue(context, context.stream(), /*afterKernel=*/false);
        return status;
      }));
  return seconds.front() / runs;
}
