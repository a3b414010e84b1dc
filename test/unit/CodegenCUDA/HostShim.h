//===- HostShim.h - Runs the text of CUDA kernels on the host ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Stands in for Templates/preamble.cuh and tensor_core.cuh and for what NVRTC
// builds in when g++ compiles the emitted text: the same names, threads of a
// block as coroutines, blocks one after another. Slow; for a few rows.
//
//===----------------------------------------------------------------------===//
#include "test/unit/CodegenCUDA/HostThreads.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#define DEVICE inline
#define __global__
#define __launch_bounds__(...)
#define __shared__ static
#define GPT2_HOST_TENSOR_CORE

struct uint4 {
  unsigned x, y, z, w;
};
struct uint2 {
  unsigned x, y;
};
struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
using std::max;
using std::min;

inline void waitForPrevious() {}
inline void launchDependents() {}

inline float asFloat(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline unsigned asUint(float value) {
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
inline float toFloat(bf16 value) { return asFloat(value.bits << 16); }
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
  unsigned bits = asUint(value);
  if (value != value)
    return {0x7fff};
  return {(unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
template <class T>
float roundTo(float value) {
  return toFloat(fromFloat<T>(value));
}

template <class T>
struct Scalar {
  using type = T;
  static T read(T value) { return value; }
  static T write(T value) { return value; }
};
template <class T>
struct Scalar16 {
  using type = float;
  static float read(T value) { return toFloat(value); }
  static T write(float value) { return fromFloat<T>(value); }
};
template <>
struct Scalar<half> : Scalar16<half> {};
template <>
struct Scalar<bf16> : Scalar16<bf16> {};

float maxNan(float a, float b);

template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T value[N];
  typename Scalar<T>::type get(int k) const {
    return Scalar<T>::read(value[k]);
  }
  float max() const {
    float result = get(0);
    for (int k = 1; k < N; ++k)
      result = maxNan(result, get(k));
    return result;
  }
  void set(const typename Scalar<T>::type *from) {
    for (int k = 0; k < N; ++k)
      value[k] = Scalar<T>::write(from[k]);
  }
};

inline float maxNan(float a, float b) {
  return a != a || b != b ? NAN : a > b || (a == b && !std::signbit(a)) ? a : b;
}
inline float minNan(float a, float b) {
  return a != a || b != b ? NAN : a < b || (a == b && std::signbit(a)) ? a : b;
}
struct Add {
  template <class T>
  static T of(T a, T b) {
    return a + b;
  }
};
struct Max {
  static float of(float a, float b) { return maxNan(a, b); }
  static int of(int a, int b) { return std::max(a, b); }
};
struct Min {
  static float of(float a, float b) { return minNan(a, b); }
  static int of(int a, int b) { return std::min(a, b); }
};

inline unsigned __float_as_uint(float value) { return asUint(value); }
inline void __threadfence() {}
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
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline float __int_as_float(int bits) { return asFloat(bits); }
inline float exp2Approx(float x) { return std::exp2(x); }
inline float divideApprox(float a, float b) { return a / b; }
template <int VECTORS, class Vector>
void prefetchRow(const Vector *, int, int) {}

/// What another lane gave; the own value where there is no such lane.
template <class T>
T fromLane(T value, unsigned lane) {
  auto *values = reinterpret_cast<T *>(hostWarp().exchange);
  values[threadIdx.x % 32] = value;
  hostWarp().sync();
  if (lane < 32)
    value = values[lane];
  hostWarp().sync();
  return value;
}
template <class T>
T __shfl_xor_sync(unsigned, T value, unsigned step) {
  return fromLane(value, threadIdx.x % 32 ^ step);
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned step) {
  return fromLane(value, threadIdx.x % 32 + step);
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned step) {
  return fromLane(value, threadIdx.x % 32 - step);
}
inline unsigned __ballot_sync(unsigned, bool bit) {
  auto *bits = reinterpret_cast<bool *>(hostWarp().exchange);
  bits[threadIdx.x % 32] = bit;
  hostWarp().sync();
  unsigned mask = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    mask |= unsigned(bits[lane]) << lane;
  hostWarp().sync();
  return mask;
}
template <class Op, int L, class T>
T reduceLanes(T value) {
  for (int step = L / 2; step; step /= 2)
    value = Op::of(value, __shfl_xor_sync(~0u, value, step));
  return value;
}
template <class Op, int L, class T>
T reduceWarps(T value, T *shared) {
  value = reduceLanes<Op, 32>(value);
  if (threadIdx.x % 32 == 0)
    shared[threadIdx.x / 32] = value;
  __syncthreads();
  const T *group = shared + threadIdx.x / L * (L / 32);
  value = group[0];
  for (int i = 1; i < L / 32; ++i)
    value = Op::of(value, group[i]);
  return value;
}

template <class T, int COUNT>
void copyToShared(T *to, const T *from) {
  for (int i = threadIdx.x; i < COUNT; i += blockDim.x)
    to[i] = from[i];
}
/// Templates/matvec.cuh: copies happen when they are awaited; a null ends a
/// group.
template <int BYTES>
void copyAhead(void *to, const void *from) {
  hostBlock.threads[threadIdx.x].copies.push_back(
      [=] { std::memcpy(to, from, BYTES); });
}
inline void endCopies() {
  hostBlock.threads[threadIdx.x].copies.push_back(nullptr);
}
template <int PENDING>
void awaitCopiesBut() {
  auto &copies = hostBlock.threads[threadIdx.x].copies;
  auto groups = std::count(copies.begin(), copies.end(), nullptr);
  while (groups > PENDING) {
    if (copies.front())
      copies.front()();
    else
      --groups;
    copies.erase(copies.begin());
  }
}
inline void prefetchLine(const void *) {}

template <class T, int N>
Pack<T, N> loadStreaming(const T *from) {
  return *reinterpret_cast<const Pack<T, N> *>(from);
}
inline uint4 *dynamicShared() {
  return reinterpret_cast<uint4 *>(hostBlock.shared.data());
}

template <class T>
unsigned pack2(float low, float high) {
  return fromFloat<T>(low).bits | unsigned(fromFloat<T>(high).bits) << 16;
}

#include "test/unit/CodegenCUDA/HostTensorCore.h"

// The text of sampling has a type of this name, long long as everywhere on
// CUDA; here it would be another one than the host's.
#define uint64_t cuda_uint64_t
