//===- HeapHook.cpp - Counts what a test takes from the heap --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The executable's own malloc comes before glibc's for every library in the
// process, and hands on to the names under which glibc exports its own.
//
//===----------------------------------------------------------------------===//
#include "test/unit/Engine/HeapHook.h"

#include <atomic>
#include <cerrno>
#include <execinfo.h>
#include <malloc.h>
#include <unistd.h>

using namespace gpt2rt::test;

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
}

namespace {

constexpr int maxFrames = 48;

std::atomic<uint64_t> allocations;
std::atomic<int64_t> liveBytes;
std::atomic<bool> watching;
void *frames[maxFrames];
std::atomic<int> frameCount;

void *taken(void *pointer) {
  if (!pointer)
    return nullptr;
  ++allocations;
  liveBytes += static_cast<int64_t>(malloc_usable_size(pointer));
  // Off before backtrace(), which may allocate itself.
  if (watching.exchange(false))
    frameCount = backtrace(frames, maxFrames);
  return pointer;
}

void returned(void *pointer) {
  if (pointer)
    liveBytes -= static_cast<int64_t>(malloc_usable_size(pointer));
}

} // namespace

HeapCounts gpt2rt::test::heapCounts() {
  return {allocations.load(), liveBytes.load()};
}

void gpt2rt::test::watchHeap() {
  frameCount = 0;
  watching = true;
}

void gpt2rt::test::printFirstAllocation() {
  watching = false;
  backtrace_symbols_fd(frames, frameCount, STDERR_FILENO);
}

extern "C" {

void *malloc(size_t size) { return taken(__libc_malloc(size)); }

void *calloc(size_t count, size_t size) {
  return taken(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size) {
  auto oldBytes = static_cast<int64_t>(malloc_usable_size(old));
  void *pointer = __libc_realloc(old, size);
  // A failure keeps the old block; size 0 has freed it.
  if (pointer || size == 0)
    liveBytes -= oldBytes;
  return taken(pointer);
}

void *memalign(size_t alignment, size_t size) {
  return taken(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size) {
  return taken(__libc_memalign(alignment, size));
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  void *pointer = taken(__libc_memalign(alignment, size));
  if (!pointer)
    return ENOMEM;
  *out = pointer;
  return 0;
}

void free(void *pointer) {
  returned(pointer);
  __libc_free(pointer);
}

} // extern "C"
