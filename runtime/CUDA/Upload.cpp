//===- Upload.cpp - Weights from the host to a GPU ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Upload.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

using namespace gpt2rt;
using namespace gpt2rt::cuda;

namespace {

// Small enough to pin quickly, large enough for the bus to run at full speed.
constexpr uint64_t stagingBytes = uint64_t(4) << 20;
// Conversion is bound by the host's memory, which a few cores saturate.
constexpr unsigned maxThreads = 8;
// Each thread fills one slot while the other one travels.
constexpr unsigned slotsPerThread = 2;

struct Task {
  const Upload *upload;
  uint64_t begin, end;
};

std::vector<Task> splitIntoTasks(std::span<const Upload> uploads,
                                 uint64_t slotBytes) {
  std::vector<Task> tasks;
  for (const Upload &upload : uploads) {
    uint64_t step = std::max<uint64_t>(slotBytes / upload.rowBytes, 1);
    for (uint64_t begin = 0; begin < upload.rows; begin += step)
      tasks.push_back({&upload, begin, std::min(begin + step, upload.rows)});
  }
  return tasks;
}

/// What the threads share.
struct Queue {
  Queue(const Context &context, std::span<const Task> tasks)
      : context(context), tasks(tasks) {}

  const Context &context;
  std::span<const Task> tasks;
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  Status error;

  void fail(Status status) {
    std::lock_guard<std::mutex> lock(mutex);
    if (error.ok())
      error = std::move(status);
    failed = true;
  }
};

/// One thread's staging slots. An event says when a slot is free again.
class Worker {
public:
  Worker(Queue &queue, std::byte *staging, uint64_t slotBytes)
      : queue(queue), staging(staging), slotBytes(slotBytes) {}

  Status run() {
    const Driver &driver = queue.context.driver();
    GPT2_RETURN_IF_ERROR(queue.context.enter());
    for (CUevent &event : events)
      GPT2_CU(driver, cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
    for (unsigned slot = 0;; slot = (slot + 1) % slotsPerThread) {
      size_t index = queue.next++;
      if (index >= queue.tasks.size() || queue.failed)
        break;
      // Of an event that was never recorded there is nothing to wait for.
      GPT2_CU(driver, cuEventSynchronize, events[slot]);
      GPT2_RETURN_IF_ERROR(send(queue.tasks[index], slot));
    }
    for (CUevent event : events)
      GPT2_CU(driver, cuEventSynchronize, event);
    return Status();
  }

  ~Worker() {
    for (CUevent event : events)
      if (event)
        (void)queue.context.driver().cuEventDestroy(event);
  }

private:
  Status send(const Task &task, unsigned slot) {
    const Driver &driver = queue.context.driver();
    const Upload &upload = *task.upload;
    std::byte *out = staging + slot * slotBytes;
    upload.fill(task.begin, task.end, out);
    GPT2_CU(driver, cuMemcpyHtoDAsync, upload.to + task.begin * upload.rowBytes,
            out, (task.end - task.begin) * upload.rowBytes,
            queue.context.stream());
    GPT2_CU(driver, cuEventRecord, events[slot], queue.context.stream());
    return Status();
  }

  Queue &queue;
  std::byte *staging;
  uint64_t slotBytes;
  CUevent events[slotsPerThread] = {};
};

} // namespace

Status cuda::uploadAll(const Context &context,
                       std::span<const Upload> uploads) {
  uint64_t slotBytes = stagingBytes;
  for (const Upload &upload : uploads)
    slotBytes = std::max(slotBytes, upload.rowBytes);
  std::vector<Task> tasks = splitIntoTasks(uploads, slotBytes);
  if (tasks.empty())
    return Status();
  auto threads = static_cast<unsigned>(std::min<size_t>(
      tasks.size(),
      std::clamp(std::thread::hardware_concurrency(), 1u, maxThreads)));
  GPT2_ASSIGN_OR_RETURN(
      PinnedMemory staging,
      PinnedMemory::allocate(context, threads * slotsPerThread * slotBytes));

  Queue queue(context, tasks);
  auto work = [&](unsigned thread) {
    Worker worker(queue, staging.data() + thread * slotsPerThread * slotBytes,
                  slotBytes);
    if (Status status = worker.run(); !status.ok())
      queue.fail(std::move(status));
  };
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < threads; ++i)
    pool.emplace_back(work, i);
  work(0);
  for (std::thread &thread : pool)
    thread.join();
  // Also after an error: staging must not be freed under a copy.
  Status finished = context.synchronize();
  return queue.error.ok() ? finished : queue.error;
}
