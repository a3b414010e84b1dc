//===- HeapHook.h - Counts what a test takes from the heap ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpt2rt::test {

/// What malloc, calloc, realloc, the aligned ones and so operator new have done
/// in this process, libraries included.
struct HeapCounts {
  uint64_t allocations = 0; ///< calls, balanced by a free or not
  int64_t liveBytes = 0;    ///< handed out and not freed
};
HeapCounts heapCounts();

/// From now on, the first allocation's stack is kept.
void watchHeap();
/// Prints that stack, if there was one, to stderr.
void printFirstAllocation();

} // namespace gpt2rt::test
