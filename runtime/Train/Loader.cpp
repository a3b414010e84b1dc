//===- Loader.cpp - Micro-batches, prepared ahead -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/Loader.h"

#include <algorithm>
#include <chrono>

using namespace gpt2rt;

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Loader::Loader(Dataset &data, SampleOrder order, const LoaderOptions &options)
    : data(data), order(std::move(order)), options(options),
      position(options.firstSample), places(options.vocab + size_t(1)),
      ring(options.depth) {
  size_t most = size_t(options.batch) * options.lengths.back();
  for (Slot &slot : ring)
    for (auto *list :
         {&slot.batch.inputs, &slot.batch.targets, &slot.batch.order})
      list->reserve(most);
  thread = std::thread([this] { work(); });
}

Loader::~Loader() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  freed.notify_all();
  thread.join();
}

void Loader::work() {
  for (bool ok = true; ok;) {
    Slot *slot;
    {
      std::unique_lock lock(mutex);
      freed.wait(lock, [&] { return stopping || made - taken < ring.size(); });
      if (stopping)
        return;
      slot = &ring[made % ring.size()];
    }
    auto start = Clock::now();
    slot->status = prepare(slot->batch);
    ok = slot->status.ok();
    double seconds = secondsSince(start);
    {
      std::lock_guard lock(mutex);
      busySeconds += seconds;
      rows += slot->batch.inputs.size();
      ++made;
    }
    filled.notify_one();
  }
}

/// Labels of the step that begins at a position: known before its first
/// micro-batch runs, so that every label of the step weighs the same.
uint64_t Loader::countStep(uint64_t first) {
  uint64_t sum = 0, samples = options.accumulate * options.batch;
  for (uint64_t i = 0; i < samples && first + i < options.endSample; ++i)
    sum += data.scoredTokens(order.at(first + i));
  return sum;
}

/// Finds the next samples: fewer than a micro-batch has, where they end.
void Loader::findSamples() {
  samples.clear();
  for (uint32_t row = 0; row < options.batch; ++row, ++position)
    if (position < options.endSample)
      samples.push_back(order.at(position));
}

Status Loader::prepare(MicroBatch &batch) {
  if (prepared++ % options.accumulate == 0)
    stepScored = countStep(position);
  findSamples();
  batch.stepScored = stepScored;
  batch.scored = 0;
  uint64_t longest = 0;
  for (uint64_t sample : samples) {
    batch.scored += data.scoredTokens(sample);
    longest = std::max(longest, data.scoredTokens(sample));
  }
  size_t tokens = *std::lower_bound(options.lengths.begin(),
                                    options.lengths.end() - 1, longest);
  batch.inputs.assign(options.batch * tokens, 0);
  batch.targets.assign(options.batch * tokens, ignoredTarget);
  std::span<int32_t> inputs = batch.inputs, targets = batch.targets;
  for (size_t row = 0; row < samples.size(); ++row)
    GPT2_RETURN_IF_ERROR(data.fill(samples[row],
                                   inputs.subspan(row * tokens, tokens),
                                   targets.subspan(row * tokens, tokens)));
  sortRows(batch);
  return {};
}

/// A counting sort: data sets have checked that ids lie below vocab.
void Loader::sortRows(MicroBatch &batch) {
  batch.order.resize(batch.inputs.size());
  std::fill(places.begin(), places.end(), 0);
  for (int32_t token : batch.inputs)
    ++places[static_cast<size_t>(token) + 1];
  for (size_t i = 1; i < places.size(); ++i)
    places[i] += places[i - 1];
  for (size_t row = 0; row < batch.inputs.size(); ++row) {
    auto place = places[static_cast<size_t>(batch.inputs[row])]++;
    batch.order[static_cast<size_t>(place)] = static_cast<int32_t>(row);
  }
}

Result<const MicroBatch *> Loader::next() {
  auto start = Clock::now();
  std::unique_lock lock(mutex);
  if (std::exchange(holding, false)) {
    ++taken;
    freed.notify_one();
  }
  filled.wait(lock, [&] { return made > taken; });
  waitSeconds += secondsSince(start);
  const Slot &slot = ring[taken % ring.size()];
  if (!slot.status.ok())
    return slot.status; // and stays there: the thread has ended
  holding = true;
  return &slot.batch;
}

double Loader::rowsPerSecond() {
  std::lock_guard lock(mutex);
  return busySeconds > 0 ? double(rows) / busySeconds : 0;
}
