// What every generated kernel may use: 16-bit storage types, packs of values
// that move as one access, NaN-aware extrema, reductions over the lanes of a
// row and programmatic dependent launch. Self-written because the toolkit's
// headers take NVRTC longer than the kernels do.
// SPDX-License-Identifier: Apache-2.0
#define DEVICE __device__ __forceinline__

// Storage only; arithmetic is in float.
struct half {
  unsigned short bits;
};
struct bf16 {
  unsigned short bits;
};

DEVICE float asFloat(unsigned bits) { return __uint_as_float(bits); }
DEVICE unsigned asUint(float value) { return __float_as_uint(value); }

DEVICE float toFloat(float value) { return value; }
DEVICE float toFloat(half value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}
DEVICE float toFloat(bf16 value) {
  return __uint_as_float((unsigned)value.bits << 16);
}

// Rounds to nearest even; overflow gives infinity.
template <class T> DEVICE T fromFloat(float value);
template <> DEVICE float fromFloat<float>(float value) { return value; }
template <> DEVICE half fromFloat<half>(float value) {
  half result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
}
template <> DEVICE bf16 fromFloat<bf16>(float value) {
  bf16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
}
template <class T> DEVICE float roundTo(float value) {
  return toFloat(fromFloat<T>(value));
}

// Two 16-bit values in one register, the first in the low half.
template <class T> DEVICE unsigned pack2(float low, float high);
template <> DEVICE unsigned pack2<half>(float low, float high) {
  unsigned result;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}
template <> DEVICE unsigned pack2<bf16>(float low, float high) {
  unsigned result;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}
template <class T> DEVICE float unpack2(unsigned pair, int which);
template <> DEVICE float unpack2<half>(unsigned pair, int which) {
  half value = {(unsigned short)(which ? pair >> 16 : pair)};
  return toFloat(value);
}
template <> DEVICE float unpack2<bf16>(unsigned pair, int which) {
  return __uint_as_float(which ? pair & 0xffff0000u : pair << 16);
}

// The larger of each two; NaN wins.
template <class T> DEVICE unsigned max2(unsigned a, unsigned b);
template <> DEVICE unsigned max2<half>(unsigned a, unsigned b) {
  unsigned result;
  asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
template <> DEVICE unsigned max2<bf16>(unsigned a, unsigned b) {
  unsigned result;
  asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}

// arith.maximumf and arith.minimumf: NaN wins, -0 is below +0.
DEVICE float maxNan(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
DEVICE float minNan(float a, float b) {
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}

// N consecutive values as they lie in memory, moved in pieces of up to 16
// bytes. N is 1, 2, 4 or 8; k must be a compile-time constant after unrolling.
template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T value[N];
  DEVICE T get(int k) const { return value[k]; }
  DEVICE void set(const T *from) {
#pragma unroll
    for (int k = 0; k < N; ++k)
      value[k] = from[k];
  }
};
template <class T, int N> struct alignas(2 * N) Pack16 {
  unsigned pair[N / 2];
  DEVICE float get(int k) const { return unpack2<T>(pair[k / 2], k & 1); }
  DEVICE float max() const {
    unsigned both = pair[0];
#pragma unroll
    for (int k = 1; k < N / 2; ++k)
      both = max2<T>(both, pair[k]);
    return maxNan(unpack2<T>(both, 0), unpack2<T>(both, 1));
  }
  DEVICE void set(const float *from) {
#pragma unroll
    for (int k = 0; k < N / 2; ++k)
      pair[k] = pack2<T>(from[2 * k], from[2 * k + 1]);
  }
};
template <class T> struct Pack16<T, 1> {
  T value;
  DEVICE float get(int) const { return toFloat(value); }
  DEVICE void set(const float *from) { value = fromFloat<T>(from[0]); }
};
template <int N> struct Pack<half, N> : Pack16<half, N> {};
template <int N> struct Pack<bf16, N> : Pack16<bf16, N> {};

// 2^x to about 2^-22.
DEVICE float exp2Approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// a / b to about 2^-22; 0 where b exceeds 2^126 and a is finite.
DEVICE float divideApprox(float a, float b) {
  float quotient;
  asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
  return quotient;
}

struct Add {
  template <class T> static DEVICE T of(T a, T b) { return a + b; }
};
struct Max {
  static DEVICE float of(float a, float b) { return maxNan(a, b); }
  static DEVICE int of(int a, int b) { return a > b ? a : b; }
};
struct Min {
  static DEVICE float of(float a, float b) { return minNan(a, b); }
  static DEVICE int of(int a, int b) { return a < b ? a : b; }
};

// Combines the values of each aligned group of L lanes (a power of two up to
// 32); every lane of the warp must call it and all of a group get one result.
template <class Op, int L, class T> DEVICE T reduceLanes(T value) {
#pragma unroll
  for (int step = L / 2; step; step >>= 1)
    value = Op::of(value, __shfl_xor_sync(~0u, value, step));
  return value;
}

// The same for groups of several warps; `shared` holds one value per warp of
// the block and is used once. Every thread of the block must call it.
template <class Op, int L, class T> DEVICE T reduceWarps(T value, T *shared) {
  value = reduceLanes<Op, 32>(value);
  if (threadIdx.x % 32 == 0)
    shared[threadIdx.x / 32] = value;
  __syncthreads();
  if constexpr (L == 1024)
    return reduceLanes<Op, 32>(shared[threadIdx.x % 32]);
  const T *group = shared + threadIdx.x / L * (L / 32);
  value = group[0];
#pragma unroll
  for (int i = 1; i < L / 32; ++i)
    value = Op::of(value, group[i]);
  return value;
}

// The launch's dynamic shared memory, aligned to 16 bytes.
DEVICE uint4 *dynamicShared() {
  extern __shared__ uint4 dynamicSharedMemory[];
  return dynamicSharedMemory;
}

// The value, of which the compiler is told nothing.
DEVICE int hidden(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

// The vector as it is, in a way that no compiler sees through: it does not keep
// what it has computed of it in registers. Blocks have one row of threads.
template <class Vector> DEVICE void hide(Vector &vector) {
  uint4 &words = reinterpret_cast<uint4 &>(vector);
  const unsigned zero = threadIdx.y;
  words.x ^= zero;
  words.y ^= zero;
  words.z ^= zero;
  words.w ^= zero;
}

// Starts to copy BYTES (16, 8 or 4) to shared memory, or zeros; they are there
// for this thread after its awaitCopies().
template <int BYTES>
DEVICE void copyAsync(void *to, const void *from, bool valid) {
  unsigned address = (unsigned)__cvta_generic_to_shared(to);
  int size = valid ? BYTES : 0;
  if constexpr (BYTES == 16) // past the first-level cache
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address),
                 "l"(from), "r"(size)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address),
                 "l"(from), "n"(BYTES), "r"(size)
                 : "memory");
}

DEVICE void commitCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
DEVICE void awaitCopies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// A load of what is used once, past the caches; `volatile` keeps it ahead of a
// waitForPrevious() that follows.
template <class T, int N> DEVICE Pack<T, N> loadStreaming(const T *from) {
  constexpr int bytes = sizeof(Pack<T, N>);
  static_assert(bytes <= 16, "one access");
  Pack<T, N> result;
  if constexpr (bytes == 16) {
    uint4 &word = reinterpret_cast<uint4 &>(result);
    asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(from));
  } else if constexpr (bytes == 8) {
    uint2 &word = reinterpret_cast<uint2 &>(result);
    asm volatile("ld.global.cs.v2.u32 {%0, %1}, [%2];"
                 : "=r"(word.x), "=r"(word.y)
                 : "l"(from));
  } else if constexpr (bytes == 4) {
    asm volatile("ld.global.cs.u32 %0, [%1];"
                 : "=r"(reinterpret_cast<unsigned &>(result))
                 : "l"(from));
  } else {
    asm volatile("ld.global.cs.u16 %0, [%1];"
                 : "=h"(reinterpret_cast<unsigned short &>(result))
                 : "l"(from));
  }
  return result;
}

// Brings a row, of which lane i of `lanes` reads the vectors i, i + lanes, ...,
// to the second-level cache.
template <int VECTORS, class Vector>
DEVICE void prefetchRow(const Vector *row, int lane, int lanes) {
  constexpr int LINE = 128;
  for (int i = lane; i < (VECTORS * (int)sizeof(Vector) + LINE - 1) / LINE;
       i += lanes)
    asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)row +
                                                  i * LINE));
}

// All threads of the block copy `count` values to shared memory, 16 bytes at a
// time where that divides them.
template <class T, int COUNT> DEVICE void copyToShared(T *to, const T *from) {
  constexpr int N = COUNT * sizeof(T) % 16 == 0 ? 16 / sizeof(T) : 1;
  for (int i = threadIdx.x; i < COUNT / N; i += blockDim.x)
    ((Pack<T, N> *)to)[i] = ((const Pack<T, N> *)from)[i];
}

// Programmatic dependent launch: the next kernel may start once all blocks
// have called launchDependents; what it reads is there after its own
// waitForPrevious. Both do nothing before sm_90, where edges are full ones.
DEVICE void waitForPrevious() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
DEVICE void launchDependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
