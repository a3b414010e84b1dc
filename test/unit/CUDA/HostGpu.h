//===- HostGpu.h - Runs the text of template kernels on the host *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Stands in for Templates/preamble.cuh and for what NVRTC builds in. The
// threads of a block are fibers on one host thread, so blocks of 1024 threads
// with many barriers are cheap; blocks run one after another. Warp
// instructions (shuffles, ldmatrix, mma) follow the layouts of the PTX manual.
// host_kernel.py writes the translation units that include this.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <utility>
#include <vector>

#define DEVICE inline
#define __global__
#define __launch_bounds__(...)
#define __shared__ static

namespace gpt2host {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};
inline Index threadIdx, blockIdx, blockDim, gridDim;
struct alignas(16) float4 {
  float x, y, z, w;
};

/// Threads that meet: done once all that are still running have come.
struct Barrier {
  int running = 0, arrived = 0, round = 0;
  void openIfComplete() {
    if (running > 0 && arrived >= running) {
      arrived = 0;
      ++round;
    }
  }
};

struct Block {
  static constexpr int maxThreads = 1024;
  ucontext_t scheduler;
  std::vector<ucontext_t> fibers;
  std::vector<std::vector<char>> stacks;
  std::vector<bool> done;
  Barrier all, warps[maxThreads / 32];
  unsigned words[maxThreads][8]; // what lanes show to each other
  const void *addresses[maxThreads];
  alignas(128) unsigned char shared[232448];
  std::function<void()> body;
};
inline Block block;

inline unsigned warpBase() { return threadIdx.x / 32 * 32; }
inline unsigned laneOf() { return threadIdx.x % 32; }

inline void meet(Barrier &barrier) {
  int round = barrier.round;
  ++barrier.arrived;
  barrier.openIfComplete();
  while (barrier.round == round)
    swapcontext(&block.fibers[threadIdx.x], &block.scheduler);
}

inline void __syncthreads() { meet(block.all); }
inline void __syncwarp() { meet(block.warps[threadIdx.x / 32]); }

/// `value` of another lane; its own where there is no such lane.
template <class T>
T exchange(T value, int from) {
  static_assert(sizeof(T) <= sizeof(block.words[0]));
  std::memcpy(block.words[threadIdx.x], &value, sizeof(T));
  __syncwarp();
  T result = value;
  if (from >= 0 && from < 32)
    std::memcpy(&result, block.words[warpBase() + from], sizeof(T));
  __syncwarp();
  return result;
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return exchange(value, int(laneOf()) ^ mask);
}
template <class T>
T __shfl_down_sync(unsigned, T value, int by) {
  return exchange(value, int(laneOf()) + by);
}
template <class T>
T __shfl_up_sync(unsigned, T value, int by) {
  return exchange(value, int(laneOf()) - by);
}

inline void requireAligned(const void *address, size_t bytes) {
  if (reinterpret_cast<uintptr_t>(address) % bytes == 0)
    return;
  std::fprintf(stderr, "access of %zu bytes at %p\n", bytes, address);
  std::abort();
}

inline float exp2Approx(float x) { return std::exp2(x); }
inline unsigned char *dynamicShared() { return block.shared; }

/// ldmatrix.x4: lane 8m + r gives the address of row r of 8x8 matrix m.
inline void loadMatrices(unsigned (&result)[4], const void *row, bool trans) {
  requireAligned(row, 16);
  block.addresses[threadIdx.x] = row;
  __syncwarp();
  unsigned lane = laneOf();
  for (unsigned m = 0; m < 4; ++m) {
    unsigned short pair[2];
    for (unsigned i = 0; i < 2; ++i) {
      unsigned r = trans ? lane % 4 * 2 + i : lane / 4;
      unsigned column = trans ? lane / 4 : lane % 4 * 2 + i;
      const void *from = block.addresses[warpBase() + m * 8 + r];
      pair[i] = static_cast<const unsigned short *>(from)[column];
    }
    result[m] = pair[0] | unsigned(pair[1]) << 16;
  }
  __syncwarp();
}

inline float bitsToFloat(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline unsigned floatToBits(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

struct half {
  unsigned short bits;
};
struct bf16 {
  unsigned short bits;
};
inline float toFloat(float value) { return value; }
inline float toFloat(half value) {
  _Float16 number;
  std::memcpy(&number, &value, 2);
  return number;
}
inline float toFloat(bf16 value) {
  return bitsToFloat(unsigned(value.bits) << 16);
}
template <class T>
T fromFloat(float value);
template <>
inline float fromFloat<float>(float value) {
  return value;
}
template <>
inline half fromFloat<half>(float value) {
  _Float16 number = value;
  half result;
  std::memcpy(&result, &number, 2);
  return result;
}
template <>
inline bf16 fromFloat<bf16>(float value) {
  unsigned bits = floatToBits(value);
  if (value != value)
    return {0x7fff};
  return {(unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
template <class T>
unsigned pack2(float low, float high) {
  return fromFloat<T>(low).bits | unsigned(fromFloat<T>(high).bits) << 16;
}

/// mma.m16n8k16, A row by row and B column by column.
template <class T>
void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  unsigned *own = block.words[threadIdx.x];
  std::copy(a, a + 4, own);
  own[4] = b0;
  own[5] = b1;
  __syncwarp();
  auto element = [](unsigned lane, unsigned word, unsigned k) {
    unsigned pair = block.words[warpBase() + lane][word];
    return toFloat(T{(unsigned short)(k % 2 ? pair >> 16 : pair)});
  };
  unsigned lane = laneOf();
  for (unsigned i = 0; i < 4; ++i) {
    unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    float sum = 0;
    for (unsigned k = 0; k < 16; ++k)
      sum += element(row % 8 * 4 + k % 8 / 2, row / 8 + k / 8 * 2, k) *
             element(column * 4 + k % 8 / 2, 4 + k / 8, k);
    c[i] += sum;
  }
  __syncwarp();
}

template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T value[N];
  float get(int k) const { return toFloat(value[k]); }
};

inline float __uint_as_float(unsigned bits) { return bitsToFloat(bits); }
inline float __int_as_float(int bits) { return bitsToFloat(unsigned(bits)); }
inline unsigned __float_as_uint(float value) { return floatToBits(value); }
inline void __threadfence() {}
inline void waitForPrevious() {}
inline void launchDependents() {}
inline unsigned atomicInc(unsigned *place, unsigned limit) {
  return std::exchange(*place, *place >= limit ? 0 : *place + 1);
}
inline unsigned atomicAdd(unsigned *place, unsigned value) {
  return std::exchange(*place, *place + value);
}
template <class T>
T __ldcg(const T *from) {
  return *from;
}

inline void runFiber() {
  block.body();
  unsigned thread = threadIdx.x;
  block.done[thread] = true;
  // Those that wait must not wait for a thread that has left.
  for (Barrier *barrier : {&block.all, &block.warps[thread / 32]}) {
    --barrier->running;
    barrier->openIfComplete();
  }
  swapcontext(&block.fibers[thread], &block.scheduler);
}

inline void runBlock(unsigned threads) {
  block.all = {int(threads)};
  for (unsigned w = 0; w < threads / 32; ++w)
    block.warps[w] = {32};
  block.done.assign(threads, false);
  block.fibers.resize(threads);
  block.stacks.resize(std::max<size_t>(block.stacks.size(), threads),
                      std::vector<char>(96 << 10));
  std::memset(block.shared, 0xff, sizeof(block.shared));
  for (unsigned t = 0; t < threads; ++t) {
    getcontext(&block.fibers[t]);
    block.fibers[t].uc_stack.ss_sp = block.stacks[t].data();
    block.fibers[t].uc_stack.ss_size = block.stacks[t].size();
    block.fibers[t].uc_link = nullptr;
    makecontext(&block.fibers[t], runFiber, 0);
  }
  for (unsigned left = threads; left > 0;) {
    left = 0;
    for (unsigned t = 0; t < threads; ++t) {
      if (block.done[t])
        continue;
      ++left;
      threadIdx.x = t;
      swapcontext(&block.scheduler, &block.fibers[t]);
    }
  }
}

template <class... Args, size_t... I>
void call(void (*kernel)(Args...), void **args, std::index_sequence<I...>) {
  kernel(*static_cast<Args *>(args[I])...);
}

/// `args` as cuLaunchKernel takes them: the address of every argument.
template <class... Args>
void launch(void (*kernel)(Args...), const unsigned *grid, unsigned threads,
            void **args) {
  block.body = [=] { call(kernel, args, std::index_sequence_for<Args...>()); };
  blockDim.x = threads;
  gridDim = {grid[0], grid[1], grid[2]};
  for (unsigned z = 0; z < grid[2]; ++z)
    for (unsigned y = 0; y < grid[1]; ++y)
      for (unsigned x = 0; x < grid[0]; ++x) {
        blockIdx = {x, y, z};
        runBlock(threads);
      }
}

} // namespace gpt2host
