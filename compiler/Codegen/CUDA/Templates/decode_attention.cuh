// decode_attention: one new token a row attends to its cache, and joins it.
// SPDX-License-Identifier: Apache-2.0
//
// Latency is what counts: a decode step has one such kernel a layer, on its
// critical path, with little to read. A block serves one (head, row, chunk of
// 128 keys); LANES lanes share a key, 16 bytes each, so a warp holds its keys
// and values in registers, and reads all of them before it waits for the qkv
// product of this step. The new token's own key and value come from qkv and
// are appended by the block whose chunk they fall into.
//
// A softmax over a chunk leaves (sum of weighted values, maximum, denominator).
// Chunks are fixed and merged in order, so the result depends neither on the
// grid nor on the batch. Two ways lead there, with equal bits:
//  - CLUSTERS (sm_90 and sm_100, up to 8 chunks): the chunks of a (head, row)
//    are one thread block cluster; each writes its part into the shared memory
//    of the first, which merges after a cluster barrier.
//  - otherwise parts go to the workspace and the last block to arrive merges.
//    A wrapping atomic counts arrivals, so counters are zero again at the end.
//
// Limits: HEAD_SIZE <= 128; POSITIONS any; blockDim.x = 256, or 512 where a
// key takes a whole warp. Registers: 8 loads of keys and of values a thread at
// most (16-bit, head 64: 4 and 4).

#ifndef CLUSTERS
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200 && POSITIONS > 128 &&         \
    POSITIONS <= 1024
#define CLUSTERS 1
#else
#define CLUSTERS 0
#endif
#endif

namespace attention {

DEVICE constexpr int lanesPerKey() {
  int lanes = 4;
  while (lanes < 32 && lanes * V < HEAD_SIZE)
    lanes *= 2;
  return lanes;
}

constexpr int CHUNK = 128;
constexpr int CHUNKS = (POSITIONS + CHUNK - 1) / CHUNK;
constexpr int LANES = lanesPerKey();
constexpr int WARPS = LANES == 32 ? 16 : 8;
constexpr int KEYS_PER_WARP = CHUNK / WARPS;
constexpr int KEYS_PER_PASS = 32 / LANES;
constexpr int PASSES = KEYS_PER_WARP / KEYS_PER_PASS;
constexpr int ITEMS = (HEAD_SIZE + V * LANES - 1) / (V * LANES);
constexpr int PARTIAL = HEAD_SIZE + 2;

// Far below any score, yet finite: a difference of two is zero, not NaN.
constexpr float NO_SCORE = -1.0e30f;
// Softmax in powers of two.
constexpr float SCORE_SCALE = SCALE * 1.44269504f;

// Of a thread: `column(i)` is where its i-th vector lies in the head.
struct Place {
  int lane;   // among the lanes of a key
  int first;  // key of pass 0, within the chunk
  DEVICE int column(int item) const { return (lane + item * LANES) * V; }
  DEVICE bool inHead(int item) const { return column(item) < HEAD_SIZE; }
};

// Reads the keys and values of earlier tokens; the rest becomes zero.
DEVICE void loadCache(const DTYPE *keys, const DTYPE *values, Place place,
                      int base, int start, Vector (&k)[PASSES][ITEMS],
                      Vector (&v)[PASSES][ITEMS]) {
#pragma unroll
  for (int p = 0; p < PASSES; ++p) {
    int key = base + place.first + p * KEYS_PER_PASS;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      if (key < start && place.inHead(i)) {
        long at = long(key) * HEAD_SIZE + place.column(i);
        k[p][i] = loadVector(keys + at);
        v[p][i] = loadVector(values + at);
      } else {
        k[p][i] = v[p][i] = Vector{};
      }
    }
  }
}

// Takes the new token's key and value from qkv and writes them to the cache.
DEVICE void append(const DTYPE *newKey, DTYPE *keys, DTYPE *values, Place place,
                   int base, int start, Vector (&k)[PASSES][ITEMS],
                   Vector (&v)[PASSES][ITEMS]) {
#pragma unroll
  for (int p = 0; p < PASSES; ++p) {
    if (base + place.first + p * KEYS_PER_PASS != start)
      continue;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      if (!place.inHead(i))
        continue;
      long at = long(start) * HEAD_SIZE + place.column(i);
      k[p][i] = loadVector(newKey + place.column(i));
      v[p][i] = loadVector(newKey + WIDTH + place.column(i));
      storeVector(keys + at, k[p][i]);
      storeVector(values + at, v[p][i]);
    }
  }
}

// Softmax over the keys of a warp. sum and accumulator end up in every group
// of lanes.
DEVICE void attendWarp(const DTYPE *query, Place place, int base, int start,
                       const Vector (&k)[PASSES][ITEMS],
                       const Vector (&v)[PASSES][ITEMS], float &largest,
                       float &sum, float (&accumulator)[ITEMS][V]) {
  float q[ITEMS][V];
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    Vector raw{};
    if (place.inHead(i))
      raw = loadVector(query + place.column(i));
#pragma unroll
    for (int e = 0; e < V; ++e)
      q[i][e] = raw.get(e);
  }
  float score[PASSES];
  largest = NO_SCORE;
#pragma unroll
  for (int p = 0; p < PASSES; ++p) {
    float dot = 0.0f;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
#pragma unroll
      for (int e = 0; e < V; ++e)
        dot = fmaf(k[p][i].get(e), q[i][e], dot);
#pragma unroll
    for (int offset = 1; offset < LANES; offset *= 2)
      dot += __shfl_xor_sync(0xffffffffu, dot, offset);
    bool visible = base + place.first + p * KEYS_PER_PASS <= start;
    score[p] = visible ? dot * SCORE_SCALE : NO_SCORE;
    largest = fmaxf(largest, score[p]);
  }
#pragma unroll
  for (int offset = LANES; offset < 32; offset *= 2)
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));

  sum = 0.0f;
#pragma unroll
  for (int i = 0; i < ITEMS; ++i)
#pragma unroll
    for (int e = 0; e < V; ++e)
      accumulator[i][e] = 0.0f;
#pragma unroll
  for (int p = 0; p < PASSES; ++p) {
    bool visible = base + place.first + p * KEYS_PER_PASS <= start;
    float weight = visible ? exp2Approx(score[p] - largest) : 0.0f;
    sum += weight;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
#pragma unroll
      for (int e = 0; e < V; ++e)
        accumulator[i][e] = fmaf(weight, v[p][i].get(e), accumulator[i][e]);
  }
#pragma unroll
  for (int offset = LANES; offset < 32; offset *= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
#pragma unroll
      for (int e = 0; e < V; ++e)
        accumulator[i][e] +=
            __shfl_xor_sync(0xffffffffu, accumulator[i][e], offset);
  }
}

// One chunk's (or warp's) part of a column of the result.
struct Part {
  float value, largest, sum;
};

// Parts 0..count-1 of one (head, row), merged in order.
template <class Read>
DEVICE Part merge(int count, Read read) {
  Part total = {0.0f, NO_SCORE, 0.0f};
#pragma unroll 8
  for (int c = 0; c < count; ++c)
    total.largest = fmaxf(total.largest, read(c, HEAD_SIZE));
#pragma unroll 8
  for (int c = 0; c < count; ++c) {
    float weight = exp2Approx(read(c, HEAD_SIZE) - total.largest);
    total.value = fmaf(weight, read(c, threadIdx.x), total.value);
    total.sum = fmaf(weight, read(c, HEAD_SIZE + 1), total.sum);
  }
  return total;
}

#if CLUSTERS
DEVICE void arriveAtCluster() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}
DEVICE void awaitCluster() {
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
// Writes to where `place` is in the shared memory of the cluster's first block.
DEVICE void storeInFirst(float *place, float value) {
  unsigned here = (unsigned)__cvta_generic_to_shared(place), there;
  asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(here));
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there), "f"(value)
               : "memory");
}
#endif

// Brings the chunks' parts together; threads below HEAD_SIZE of one block get
// `done` and the total, all others are through.
DEVICE Part combineChunks(Part part, int chunk, int active, float *partials,
                          unsigned *counter, bool &done) {
  int thread = threadIdx.x;
#if CLUSTERS
  __shared__ float chunks[CHUNKS][PARTIAL];
  awaitCluster(); // the first block has started
  if (thread < HEAD_SIZE)
    storeInFirst(&chunks[chunk][thread], part.value);
  if (thread == 0) {
    storeInFirst(&chunks[chunk][HEAD_SIZE], part.largest);
    storeInFirst(&chunks[chunk][HEAD_SIZE + 1], part.sum);
  }
  arriveAtCluster();
  done = chunk == 0;
  if (!done)
    return part;
  awaitCluster();
  if (thread >= HEAD_SIZE)
    return part;
  return merge(active, [&](int c, int at) { return chunks[c][at]; });
#else
  done = true;
  if (active == 1)
    return part;
  if (thread < HEAD_SIZE)
    partials[chunk * PARTIAL + thread] = part.value;
  if (thread == 0) {
    partials[chunk * PARTIAL + HEAD_SIZE] = part.largest;
    partials[chunk * PARTIAL + HEAD_SIZE + 1] = part.sum;
  }
  __threadfence();
  __syncthreads();
  __shared__ bool last;
  if (thread == 0) {
    // Wraps to zero at the last arrival.
    last = atomicInc(counter, active - 1) == active - 1;
    __threadfence();
  }
  __syncthreads();
  done = last;
  if (!done || thread >= HEAD_SIZE)
    return part;
  // Past L1, which other blocks do not write.
  return merge(active, [&](int c, int at) {
    return __ldcg(partials + c * PARTIAL + at);
  });
#endif
}

} // namespace attention

#if CLUSTERS
#define CLUSTER_SHAPE __cluster_dims__(1, 1, attention::CHUNKS)
#else
#define CLUSTER_SHAPE
#endif

extern "C" __global__ void CLUSTER_SHAPE
__launch_bounds__(attention::WARPS * 32, 16 / attention::WARPS)
    KERNEL_NAME(const DTYPE *qkv, const int *starts, DTYPE *kCache,
                DTYPE *vCache, DTYPE *out, float *workspace,
                unsigned *counters, int rows) {
  using namespace attention;
  launchDependents();
  int head = blockIdx.x, row = blockIdx.y, chunk = blockIdx.z;
  int start = clampPosition(starts[row]);
  int active = start / CHUNK + 1;
  // Blocks of later chunks leave; one of the others always waits.
  if (chunk >= active)
    return;
#if CLUSTERS
  arriveAtCluster();
#endif

  int thread = threadIdx.x, warp = thread / 32, inWarp = thread % 32;
  int base = chunk * CHUNK;
  Place place = {inWarp % LANES, warp * KEYS_PER_WARP + inWarp / LANES};
  long cacheRow = (long(row) * HEADS + head) * POSITIONS * HEAD_SIZE;
  DTYPE *keys = kCache + cacheRow, *values = vCache + cacheRow;
  Vector k[PASSES][ITEMS], v[PASSES][ITEMS];
  loadCache(keys, values, place, base, start, k, v);

  waitForPrevious();
  const DTYPE *query = qkv + long(row) * 3 * WIDTH + head * HEAD_SIZE;
  append(query + WIDTH, keys, values, place, base, start, k, v);

  float largest, sum, accumulator[ITEMS][V];
  attendWarp(query, place, base, start, k, v, largest, sum, accumulator);

  __shared__ float partial[WARPS][PARTIAL];
  if (inWarp < LANES) {
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
#pragma unroll
      for (int e = 0; e < V; ++e)
        if (place.inHead(i))
          partial[warp][place.column(i) + e] = accumulator[i][e];
    if (inWarp == 0) {
      partial[warp][HEAD_SIZE] = largest;
      partial[warp][HEAD_SIZE + 1] = sum;
    }
  }
  __syncthreads();

  Part part = {0.0f, NO_SCORE, 0.0f};
  if (thread < HEAD_SIZE)
    part = merge(WARPS, [&](int w, int at) { return partial[w][at]; });
  bool done;
  Part total = combineChunks(
      part, chunk, active,
      workspace + (long(row) * HEADS + head) * CHUNKS * PARTIAL,
      counters + row * HEADS + head, done);
  if (done && thread < HEAD_SIZE)
    out[long(row) * WIDTH + head * HEAD_SIZE + thread] =
        fromFloat<DTYPE>(total.value / total.sum);
}
