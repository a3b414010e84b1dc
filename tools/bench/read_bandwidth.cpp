//===- read_bandwidth.cpp - What reading weights once can reach -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Decoding one token reads every weight once, so its floor is the machine's
// read bandwidth. This program measures it as decoding would see it: a buffer
// of the weights' size on 2 MB pages, each thread summing its own half.
//
//   read-bandwidth [MIB [THREADS [PASSES]]]     prints GB/s: median and best
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <sys/mman.h>

namespace {

/// 64 bytes: one cache line, one AVX-512 register.
using Line = int64_t __attribute__((vector_size(64)));

/// Adds up [begin, end) with eight independent chains, enough loads in flight
/// for one core to be bound by memory.
__attribute__((target_clones("avx512f", "avx2", "default"))) void
sumLines(const Line *begin, const Line *end, int64_t *result) {
  Line sums[8] = {};
  for (; begin + 8 <= end; begin += 8)
    for (int i = 0; i < 8; ++i)
      sums[i] += begin[i];
  int64_t total = 0;
  for (const Line &sum : sums)
    for (int i = 0; i < 8; ++i)
      total += sum[i];
  *result = total;
}

/// Seconds that `threads` threads take to read the buffer once.
double readOnce(const Line *lines, size_t count, unsigned threads,
                int64_t *checksum) {
  std::vector<int64_t> sums(threads);
  std::vector<std::thread> workers;
  auto start = std::chrono::steady_clock::now();
  for (unsigned t = 0; t < threads; ++t)
    workers.emplace_back(sumLines, lines + count * t / threads,
                         lines + count * (t + 1) / threads, &sums[t]);
  for (std::thread &worker : workers)
    worker.join();
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  for (int64_t sum : sums)
    *checksum += sum;
  return elapsed.count();
}

long argument(int argc, char **argv, int index, long fallback) {
  long value = argc > index ? std::atol(argv[index]) : fallback;
  return value > 0 ? value : fallback;
}

} // namespace

int main(int argc, char **argv) {
  size_t bytes = static_cast<size_t>(argument(argc, argv, 1, 475)) << 20;
  auto threads = static_cast<unsigned>(argument(argc, argv, 2, 2));
  auto passes = static_cast<size_t>(argument(argc, argv, 3, 20));

  constexpr size_t hugePage = size_t(2) << 20;
  bytes = (bytes + hugePage - 1) / hugePage * hugePage;
  void *memory = std::aligned_alloc(hugePage, bytes);
  if (!memory) {
    std::fprintf(stderr, "read-bandwidth: no memory for %zu MiB\n",
                 bytes >> 20);
    return 1;
  }
  // Without huge pages the figure is that of small pages, lower by a few
  // percent: the program under test has the same choice.
  madvise(memory, bytes, MADV_HUGEPAGE);
  std::memset(memory, 1, bytes);

  const auto *lines = static_cast<const Line *>(memory);
  size_t count = bytes / sizeof(Line);
  int64_t checksum = 0;
  readOnce(lines, count, threads, &checksum);
  std::vector<double> rates;
  for (size_t pass = 0; pass < passes; ++pass)
    rates.push_back(static_cast<double>(bytes) / 1e9 /
                    readOnce(lines, count, threads, &checksum));
  std::sort(rates.begin(), rates.end());
  std::printf("{\"threads\": %u, \"mib\": %zu, \"median_gbps\": %.2f, "
              "\"best_gbps\": %.2f, \"checksum\": %lld}\n",
              threads, bytes >> 20, rates[passes / 2], rates.back(),
              static_cast<long long>(checksum));
  std::free(memory);
  return 0;
}
