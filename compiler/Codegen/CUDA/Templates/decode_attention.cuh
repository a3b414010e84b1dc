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
// A softmax over a chunk leaves (sum of weighted values, maximum, denominator)
// in the workspace; the last block of a (head, row) to arrive merges the
// chunks in order. Chunks are fixed and merged in order, so the result depends
// neither on the grid nor on the batch. A wrapping atomic counts arrivals, so
// counters are zero again at the end.
//
// Limits: HEAD_SIZE <= 128; POSITIONS any; blockDim.x = 256, or 512 where a
// key takes a whole warp. Registers: 8 loads of keys and of values a thread at
// most (16-bit, head 64: 4 and 4).

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

// Chunks 0..count-1 of one (head, row), merged in order; threads below
// HEAD_SIZE. The reads bypass L1, which other blocks do not write.
DEVICE float mergeChunks(const float *partials, int count, int column) {
  float largest = NO_SCORE;
  for (int c = 0; c < count; ++c)
    largest = fmaxf(largest, __ldcg(partials + c * PARTIAL + HEAD_SIZE));
  float value = 0.0f, sum = 0.0f;
#pragma unroll 8
  for (int c = 0; c < count; ++c) {
    const float *partial = partials + c * PARTIAL;
    float weight = exp2Approx(__ldcg(partial + HEAD_SIZE) - largest);
    value = fmaf(weight, __ldcg(partial + column), value);
    sum = fmaf(weight, __ldcg(partial + HEAD_SIZE + 1), sum);
  }
  return value / sum;
}

} // namespace attention

extern "C" __global__ void __launch_bounds__(attention::WARPS * 32)
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

  float value = 0.0f, total = 0.0f, top = NO_SCORE;
  if (thread < HEAD_SIZE) {
#pragma unroll
    for (int w = 0; w < WARPS; ++w)
      top = fmaxf(top, partial[w][HEAD_SIZE]);
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
      float weight = exp2Approx(partial[w][HEAD_SIZE] - top);
      value = fmaf(weight, partial[w][thread], value);
      total = fmaf(weight, partial[w][HEAD_SIZE + 1], total);
    }
  }
  DTYPE *result = out + long(row) * WIDTH + head * HEAD_SIZE;
  if (active == 1) {
    if (thread < HEAD_SIZE)
      result[thread] = fromFloat<DTYPE>(value / total);
    return;
  }

  float *partials = workspace + (long(row) * HEADS + head) * CHUNKS * PARTIAL;
  if (thread < HEAD_SIZE) {
    partials[chunk * PARTIAL + thread] = value;
    if (thread == 0) {
      partials[chunk * PARTIAL + HEAD_SIZE] = top;
      partials[chunk * PARTIAL + HEAD_SIZE + 1] = total;
    }
    __threadfence();
  }
  __syncthreads();
  __shared__ bool last;
  if (thread == 0) {
    // Wraps to zero at the last arrival.
    last = atomicInc(counters + row * HEADS + head, active - 1) == active - 1;
    __threadfence();
  }
  __syncthreads();
  if (last && thread < HEAD_SIZE)
    result[thread] =
        fromFloat<DTYPE>(mergeChunks(partials, active, thread));
}
