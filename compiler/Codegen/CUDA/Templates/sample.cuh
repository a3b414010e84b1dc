// sample: draws the next token of each row of logits.
// SPDX-License-Identifier: Apache-2.0
//
// The algorithm and its arithmetic are runtime/Device/SamplingParams.h and
// SamplingMath.h; integer weights make every sum below independent of its
// order, so the token equals the host's for equal logits.
//
// 8 blocks share a row while its largest logit is found, which is all that
// greedy decoding needs; the last one to arrive does the rest alone. It finds
// a "largest k" or "nucleus" threshold in two reads of the row: a histogram
// over distance from the largest logit (1024 bins, monotone in the logit),
// then the exact threshold among the few logits of one bin. Rows where that
// bin is crowded, such as constant ones, take 32 reads instead. The draw sums
// the kept weights by warp segments, then scans the segment that is hit.
//
// Limits: 1024 threads; VOCAB <= 2^18, so that the digits of a bin's weight stay
// below 2^32; static shared memory 25 KiB.

namespace sampling {
using namespace gpt2rt;

constexpr int THREADS = 1024;
constexpr int WARPS = THREADS / 32;
constexpr int BLOCKS = 8;
constexpr int BINS = 1024;       // one a thread
constexpr int CANDIDATES = 1024; // one a thread
constexpr float BINS_PER_UNIT = 32.0f;
constexpr unsigned ALL = 0xffffffffu;

struct Shared {
  // Counts, or weights in three digits of 14 bits so that no sum overflows.
  unsigned bins[3][BINS];
  uint64_t weights[CANDIDATES];
  unsigned keys[CANDIDATES];
  uint64_t sums[WARPS];
  uint64_t result, remainder;
  unsigned count;
};

DEVICE unsigned keyOf(float logit) {
  return orderedKey(__float_as_uint(logit));
}

// Order of (key, lowest index first) in one word.
DEVICE uint64_t ranked(unsigned key, int index) {
  return (uint64_t)key << 32 | (unsigned)~index;
}

DEVICE uint64_t shuffleDown(uint64_t value, int offset) {
  return __shfl_down_sync(ALL, value, offset);
}

DEVICE uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

// The sum (or maximum) of one value a thread, in every thread.
template <bool MAXIMUM>
DEVICE uint64_t reduceBlock(uint64_t value, Shared &shared) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  __syncthreads(); // shared.sums is free
#pragma unroll
  for (int offset = 16; offset; offset /= 2) {
    uint64_t other = shuffleDown(value, offset);
    value = MAXIMUM ? larger(value, other) : value + other;
  }
  if (lane == 0)
    shared.sums[warp] = value;
  __syncthreads();
  value = shared.sums[lane];
#pragma unroll
  for (int offset = 16; offset; offset /= 2) {
    uint64_t other = __shfl_xor_sync(ALL, value, offset);
    value = MAXIMUM ? larger(value, other) : value + other;
  }
  return value;
}

// The sum over all threads before this one.
DEVICE uint64_t scanBlock(uint64_t value, Shared &shared) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  uint64_t inclusive = value;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    uint64_t other = __shfl_up_sync(ALL, inclusive, offset);
    if (lane >= offset)
      inclusive += other;
  }
  __syncthreads();
  if (lane == 31)
    shared.sums[warp] = inclusive;
  __syncthreads();
  uint64_t before = lane < warp ? shared.sums[lane] : 0;
#pragma unroll
  for (int offset = 16; offset; offset /= 2)
    before += __shfl_xor_sync(ALL, before, offset);
  return before + inclusive - value;
}

// One row of logits and what has been decided about it.
struct Row {
  const float *logits;
  float largest;
  float scale;
  unsigned threshold; // keys below are dropped

  // Calls body(index, logit) for this thread's share of [0, VOCAB).
  template <class Body>
  DEVICE void forEach(Body body) const {
#pragma unroll 2
    for (int i = threadIdx.x * 4; i < VOCAB; i += THREADS * 4) {
      float4 four = *(const float4 *)(logits + i); // rows are padded
      body(i, four.x);
      if (i + 1 < VOCAB)
        body(i + 1, four.y);
      if (i + 2 < VOCAB)
        body(i + 2, four.z);
      if (i + 3 < VOCAB)
        body(i + 3, four.w);
    }
  }

  template <bool WEIGHTED>
  DEVICE uint64_t weight(float logit) const {
    if (!WEIGHTED)
      return 1;
    return keyOf(logit) >= threshold ? sampleWeight(logit, largest, scale) : 0;
  }

  // Never falls as the logit falls: rounding is monotone.
  DEVICE int bin(float logit) const {
    return (int)fminf((largest - logit) * BINS_PER_UNIT, float(BINS - 1));
  }
};

template <bool WEIGHTED>
DEVICE void fillBins(const Row &row, Shared &shared) {
  constexpr int DIGITS = WEIGHTED ? 3 : 1;
  __syncthreads();
#pragma unroll
  for (int d = 0; d < DIGITS; ++d)
    shared.bins[d][threadIdx.x] = 0;
  if (threadIdx.x == 0)
    shared.count = 0;
  __syncthreads();
  row.forEach([&](int, float logit) {
    uint64_t weight = row.weight<WEIGHTED>(logit);
    int bin = row.bin(logit);
#pragma unroll
    for (int d = 0; d < DIGITS; ++d) {
      unsigned digit = unsigned(weight >> (14 * d)) & 0x3fffu;
      if (digit)
        atomicAdd(&shared.bins[d][bin], digit);
    }
  });
  __syncthreads();
}

// 32 reads of the row, one a bit: for rows with a crowded bin.
template <bool WEIGHTED>
DEVICE unsigned searchBits(const Row &row, uint64_t need, Shared &shared) {
  unsigned threshold = 0;
  for (int bit = 31; bit >= 0; --bit) {
    unsigned candidate = threshold | 1u << bit;
    uint64_t sum = 0;
    row.forEach([&](int, float logit) {
      if (keyOf(logit) >= candidate)
        sum += row.weight<WEIGHTED>(logit);
    });
    if (reduceBlock<false>(sum, shared) >= need)
      threshold = candidate;
  }
  return threshold;
}

// The largest key T such that the weights (or the number) of all keys >= T
// reach need(total), which the whole row does.
template <bool WEIGHTED, class Need>
DEVICE unsigned largestThreshold(const Row &row, Shared &shared, Need need) {
  fillBins<WEIGHTED>(row, shared);
  int thread = threadIdx.x;
  uint64_t own = shared.bins[0][thread];
  if (WEIGHTED)
    own += ((uint64_t)shared.bins[1][thread] << 14) +
           ((uint64_t)shared.bins[2][thread] << 28);
  uint64_t before = scanBlock(own, shared);
  if (thread == THREADS - 1)
    shared.remainder = before + own;
  __syncthreads();
  uint64_t wanted = need(shared.remainder);
  __syncthreads();
  if (before < wanted && before + own >= wanted) { // one thread: the bin's
    shared.result = thread;
    shared.remainder = wanted - before;
  }
  __syncthreads();
  int bin = int(shared.result);
  uint64_t missing = shared.remainder;

  row.forEach([&](int, float logit) {
    if (row.bin(logit) != bin)
      return;
    unsigned at = atomicAdd(&shared.count, 1u);
    if (at < CANDIDATES) {
      shared.keys[at] = keyOf(logit);
      shared.weights[at] = row.weight<WEIGHTED>(logit);
    }
  });
  __syncthreads();
  int count = int(shared.count);
  if (count > CANDIDATES)
    return searchBits<WEIGHTED>(row, wanted, shared);

  // The candidates lie in the list in any order; sums do not depend on it.
  uint64_t reached = 0;
  unsigned key = thread < count ? shared.keys[thread] : 0;
  if (thread < count)
    for (int i = 0; i < count; ++i)
      if (shared.keys[i] >= key)
        reached += shared.weights[i];
  bool fits = thread < count && reached >= missing;
  return unsigned(reduceBlock<true>(fits ? key : 0, shared));
}

// The first token, in order, whose running sum of kept weights exceeds a
// random part of the whole sum.
DEVICE int draw(const Row &row, uint64_t random, Shared &shared) {
  // A multiple of 128, so that lanes read 16 bytes.
  constexpr int SEGMENT = ((VOCAB + WARPS - 1) / WARPS + 127) / 128 * 128;
  constexpr int SHARE = (SEGMENT + THREADS - 1) / THREADS;
  int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  uint64_t sum = 0;
#pragma unroll 2
  for (int i = warp * SEGMENT + lane * 4; i < min((warp + 1) * SEGMENT, VOCAB);
       i += 128) {
    float4 four = *(const float4 *)(row.logits + i);
    sum += row.weight<true>(four.x);
    sum += i + 1 < VOCAB ? row.weight<true>(four.y) : 0;
    sum += i + 2 < VOCAB ? row.weight<true>(four.z) : 0;
    sum += i + 3 < VOCAB ? row.weight<true>(four.w) : 0;
  }
#pragma unroll
  for (int offset = 16; offset; offset /= 2)
    sum += __shfl_xor_sync(ALL, sum, offset);
  uint64_t before = scanBlock(lane == 0 ? sum : 0, shared);
  // `before` of lane 0 is the sum of earlier segments.
  if (thread == (WARPS - 1) * 32)
    shared.result = before + sum;
  __syncthreads();
  uint64_t target = multiplyHigh(random, shared.result);
  __syncthreads();
  if (lane == 0 && before <= target && target < before + sum) {
    shared.result = warp;
    shared.remainder = target - before;
  }
  __syncthreads();
  int first = int(shared.result) * SEGMENT + thread * SHARE;
  uint64_t missing = shared.remainder;

  uint64_t weights[SHARE], own = 0;
#pragma unroll
  for (int i = 0; i < SHARE; ++i) {
    bool inside = thread * SHARE + i < SEGMENT && first + i < VOCAB;
    weights[i] = inside ? row.weight<true>(row.logits[first + i]) : 0;
    own += weights[i];
  }
  before = scanBlock(own, shared);
  if (before <= missing && missing < before + own) { // one thread
    int index = first;
#pragma unroll
    for (int i = 0; i < SHARE; ++i) {
      before += weights[i];
      if (before <= missing)
        index = first + i + 1;
    }
    shared.result = unsigned(index);
  }
  __syncthreads();
  return int(shared.result);
}

// The largest key of this block's part of the row, and its first index.
DEVICE uint64_t largestOfPart(const float *logits) {
  // A multiple of 4 logits.
  constexpr int PART = ((VOCAB + BLOCKS - 1) / BLOCKS + 3) / 4 * 4;
  int first = blockIdx.x * PART, limit = min(first + PART, VOCAB);
  uint64_t best = 0;
#pragma unroll
  for (int step = 0; step < PART; step += THREADS * 4) {
    int i = first + step + threadIdx.x * 4;
    if (i >= limit)
      continue;
    float4 four = *(const float4 *)(logits + i);
    best = larger(best, ranked(keyOf(four.x), i));
    if (i + 1 < limit)
      best = larger(best, ranked(keyOf(four.y), i + 1));
    if (i + 2 < limit)
      best = larger(best, ranked(keyOf(four.z), i + 2));
    if (i + 3 < limit)
      best = larger(best, ranked(keyOf(four.w), i + 3));
  }
  return best;
}

// A row of the `sampling` slot (runtime/Device/SamplingParams.h).
struct Params {
  float temperature;
  int topK;
  float topP;
  unsigned seedLow, seedHigh;
};

DEVICE Params readParams(const int *words) {
  return {__int_as_float(words[0]), words[1], __int_as_float(words[2]),
          (unsigned)words[3], (unsigned)words[4]};
}

DEVICE int choose(const float *logits, uint64_t best, const Params &params,
                  unsigned position, Shared &shared) {
  unsigned largestKey = unsigned(best >> 32);
  int largestIndex = int(~unsigned(best));
  if (largestKey <= keyOfMinusInfinity || largestKey >= keyOfInfinity)
    return invalidToken;
  if (params.temperature == 0.0f || params.topK == 1)
    return largestIndex;

  Row row = {logits, logits[largestIndex], samplingScale(params.temperature),
             0};
  if (params.topK > 0 && params.topK < VOCAB)
    row.threshold = largestThreshold<false>(
        row, shared, [&](uint64_t) { return uint64_t(params.topK); });
  if (params.topP < 1.0f) {
    unsigned nucleus = largestThreshold<true>(row, shared, [&](uint64_t total) {
      return nucleusWeight(total, params.topP);
    });
    row.threshold = max(row.threshold, nucleus);
  }
  uint64_t random = philoxDraw(position, params.seedLow, params.seedHigh);
  return draw(row, random, shared);
}

} // namespace sampling

#if PREFILL
extern "C" __global__ void __launch_bounds__(1024, 1)
    KERNEL_NAME(const float *logits, const int *params, const int *starts,
                const int *count, const int *slot, int *tokens, int *positions,
                unsigned long long *workspace, unsigned *counters, int rows) {
#else
extern "C" __global__ void __launch_bounds__(1024, 1)
    KERNEL_NAME(const float *logits, const int *params, const int *starts,
                int *tokens, int *positions, unsigned long long *workspace,
                unsigned *counters, int rows) {
#endif
  using namespace sampling;
  __shared__ Shared shared;
  __shared__ bool last;
  launchDependents();
  int row = blockIdx.y;
#if PREFILL
  int owner = slot[0] + row, advance = count[0];
#else
  int owner = row, advance = 1;
#endif
  // The host or an earlier program wrote these, so they need not be waited for.
  int position = min(starts[row] + advance, POSITIONS_LIMIT - 1);
  Params own = readParams(params + owner * 8);
  waitForPrevious();
  const float *rowLogits = logits + long(row) * PADDED_VOCAB;
  uint64_t best = reduceBlock<true>(largestOfPart(rowLogits), shared);
  uint64_t *parts = workspace + row * BLOCKS;
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = best;
    __threadfence();
    // Wraps to zero at the last arrival.
    last = atomicInc(counters + row, BLOCKS - 1) == BLOCKS - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last)
    return;

  best = __ldcg(parts);
#pragma unroll
  for (int i = 1; i < BLOCKS; ++i)
    best = larger(best, __ldcg(parts + i));
  int token = choose(rowLogits, best, own, position, shared);
  if (threadIdx.x == 0) {
    tokens[owner] = token;
    positions[owner] = position;
  }
}
