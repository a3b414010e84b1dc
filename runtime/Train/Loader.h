//===- Loader.h - Micro-batches, prepared ahead -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A thread fills a ring of micro-batches, so that a step finds its data ready.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Train/Dataset.h"
#include "runtime/Train/SampleOrder.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace gpt2rt {

/// What one run of `accumulate` or `validate` reads: batch * T rows each, of
/// the smallest length T among the plan's that holds all samples.
struct MicroBatch {
  std::vector<int32_t> inputs;
  std::vector<int32_t> targets;
  /// The rows sorted stably by token: in this order the gradient of the
  /// embedding is summed.
  std::vector<int32_t> order;
  uint64_t scored = 0;     ///< labels in this micro-batch
  uint64_t stepScored = 0; ///< labels in all micro-batches of its step
};

struct LoaderOptions {
  uint32_t batch = 1;                  ///< sequences of a micro-batch
  std::vector<uint32_t> lengths = {1}; ///< that they may have, ascending
  uint32_t vocab = 0;
  uint64_t accumulate = 1; ///< micro-batches of a step
  /// Positions in the order of samples. Rows past the end are padding.
  uint64_t firstSample = 0, endSample = UINT64_MAX;
  uint32_t depth = 4; ///< micro-batches held ready
};

class Loader {
public:
  /// Starts the thread. The data set must not be used elsewhere meanwhile.
  Loader(Dataset &data, SampleOrder order, const LoaderOptions &options);
  ~Loader();
  Loader(const Loader &) = delete;
  Loader &operator=(const Loader &) = delete;

  /// The next micro-batch, good until the call after. An error of the data set
  /// comes here, in its place in the order.
  Result<const MicroBatch *> next();

  /// Seconds that next() has waited since this was last asked.
  double takeWaitSeconds() { return std::exchange(waitSeconds, 0); }
  /// Rows prepared a second of the thread's work.
  double rowsPerSecond();

private:
  struct Slot {
    MicroBatch batch;
    Status status;
  };

  void work();
  Status prepare(MicroBatch &batch);
  void findSamples();
  void sortRows(MicroBatch &batch);
  uint64_t countStep(uint64_t first);

  Dataset &data;
  SampleOrder order;
  LoaderOptions options;
  // The thread's own.
  uint64_t position;
  uint64_t prepared = 0; // micro-batches
  uint64_t stepScored = 0;
  std::vector<uint64_t> samples; // of the micro-batch in work
  std::vector<int32_t> places;   // of the counting sort, by token
  // Shared.
  std::mutex mutex;
  std::condition_variable filled, freed;
  std::vector<Slot> ring;
  uint64_t made = 0, taken = 0;
  bool stopping = false;
  double busySeconds = 0;
  uint64_t rows = 0; // in which the thread was busy so long
  // The caller's.
  double waitSeconds = 0;
  bool holding = false; // a slot that the last next() gave out

  std::thread thread;
};

} // namespace gpt2rt
