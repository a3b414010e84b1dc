//===- HostThreads.h - Threads of a CUDA block as coroutines ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A thread runs until it waits for the others of its warp or block, so nothing
// here is concurrent. A block whose threads wait for one another for ever ends
// the program.
//
//===----------------------------------------------------------------------===//
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <ucontext.h>
#include <utility>
#include <vector>

struct Index {
  unsigned x = 0, y = 0, z = 0;
};
inline Index threadIdx, blockIdx, blockDim, gridDim;

/// A point that `size` threads reach before any leaves it.
struct HostBarrier {
  unsigned size = 0, count = 0, generation = 0;
  alignas(16) char exchange[32 * 64]; ///< What the lanes of a warp show.
  void sync();
  void leave(); ///< The others no longer wait for this thread.
  void openIfComplete();
};

struct HostThread {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  std::vector<std::function<void()>> copies; ///< Asynchronous, not awaited.
  bool done = false;
};

struct HostBlock {
  std::vector<HostThread> threads;
  std::vector<HostBarrier> warps;
  HostBarrier barrier;
  ucontext_t scheduler;
  std::function<void()> body;
  unsigned progress = 0; ///< Barriers opened and threads ended.
  /// Dynamic shared memory: as much as any GPU has, NaN at first.
  std::vector<uint64_t> shared;
};
inline HostBlock hostBlock;

inline HostBarrier &hostWarp() { return hostBlock.warps[threadIdx.x / 32]; }

inline void HostBarrier::openIfComplete() {
  if (count == 0 || count < size)
    return;
  count = 0;
  ++generation;
  ++hostBlock.progress;
}
inline void HostBarrier::sync() {
  unsigned mine = generation, thread = threadIdx.x;
  ++count;
  openIfComplete();
  while (generation == mine)
    swapcontext(&hostBlock.threads[thread].context, &hostBlock.scheduler);
}
inline void HostBarrier::leave() {
  --size;
  openIfComplete();
}

inline void __syncthreads() { hostBlock.barrier.sync(); }
inline void __syncwarp() { hostWarp().sync(); }

inline void hostThreadMain() {
  hostBlock.body();
  hostBlock.threads[threadIdx.x].done = true;
  hostBlock.barrier.leave();
  hostWarp().leave();
  ++hostBlock.progress;
}

inline void runHostBlock(unsigned size) {
  constexpr size_t stackBytes = 256 << 10;
  hostBlock.shared.assign(232448 / 8, ~uint64_t(0));
  hostBlock.threads.resize(size);
  hostBlock.warps.assign((size + 31) / 32, {});
  for (unsigned w = 0; w < hostBlock.warps.size(); ++w)
    hostBlock.warps[w].size = std::min(32u, size - 32 * w);
  hostBlock.barrier = {};
  hostBlock.barrier.size = size;
  for (HostThread &thread : hostBlock.threads) {
    if (!thread.stack)
      thread.stack.reset(new char[stackBytes]);
    thread.done = false;
    thread.copies.clear();
    getcontext(&thread.context);
    thread.context.uc_stack = {thread.stack.get(), 0, stackBytes};
    thread.context.uc_link = &hostBlock.scheduler;
    makecontext(&thread.context, hostThreadMain, 0);
  }
  for (bool running = true; running;) {
    running = false;
    unsigned before = hostBlock.progress;
    for (unsigned t = 0; t < size; ++t) {
      if (hostBlock.threads[t].done)
        continue;
      running = true;
      threadIdx = {t, 0, 0};
      swapcontext(&hostBlock.scheduler, &hostBlock.threads[t].context);
    }
    if (running && hostBlock.progress == before) {
      std::fprintf(stderr, "a CUDA block waits for ever\n");
      std::abort();
    }
  }
}

template <class... Args, size_t... I>
void callKernel(void (*kernel)(Args...), void **args,
                std::index_sequence<I...>) {
  kernel(*static_cast<Args *>(args[I])...);
}

/// `args` as cuLaunchKernel takes them: the address of every argument.
template <class... Args>
void hostLaunch(void (*kernel)(Args...), const unsigned *grid, unsigned block,
                void **args) {
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {block, 1, 1};
  hostBlock.body = [=] {
    callKernel(kernel, args, std::index_sequence_for<Args...>());
  };
  for (unsigned z = 0; z < grid[2]; ++z)
    for (unsigned y = 0; y < grid[1]; ++y)
      for (unsigned x = 0; x < grid[0]; ++x) {
        blockIdx = {x, y, z};
        runHostBlock(block);
      }
  // Libraries share this state, and the next one may outlive this one.
  hostBlock.body = nullptr;
  for (HostThread &thread : hostBlock.threads)
    thread.copies.clear();
}
