// matvec of one row: x times every row of a weight matrix.
// SPDX-License-Identifier: Apache-2.0
//
// At batch 1 a decode step is the time to read the weights, if they never stop
// arriving. So a warp copies its weights to shared memory, SLOTS rows ahead and
// before the kernel waits for its predecessor; a kernel leaves room on the
// multiprocessor for the next one, whose weights arrive while this one works.
// A lane copies what it will read itself, so a warp waits for no other.
//
// A block owns N / BLOCKS rows, a group of SPLIT warps every GROUPS-th of them,
// and each warp of a group its share of the columns. A sum is taken in an order
// that depends on the matrix alone: chains of VECTOR columns, then the lane's
// vectors, then lanes, then warps.
#ifndef GPT2_HOST_TENSOR_CORE

// Copies BYTES (16, 8 or 4) to shared memory while the thread goes on.
template <int BYTES> DEVICE void copyAhead(void *to, const void *from) {
  unsigned address = (unsigned)__cvta_generic_to_shared(to);
  if constexpr (BYTES == 16) // past the first-level cache
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address),
                 "l"(from)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address),
                 "l"(from), "n"(BYTES)
                 : "memory");
}
DEVICE void endCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all but the last PENDING groups of this thread's copies.
template <int PENDING> DEVICE void awaitCopiesBut() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

#endif

// W is [N, K] of type TW, x [K] of type TX.
template <class TW, class TX, int N, int K, int VECTOR, int WARPS, int BLOCKS,
          int SPLIT, int SLOTS>
struct OneRow {
  static constexpr int GROUPS = WARPS / SPLIT;
  static constexpr int ROWS_PER_BLOCK = (N + BLOCKS - 1) / BLOCKS;
  static constexpr int VECTORS = K / VECTOR;
  // Of a warp's share of a row.
  static constexpr int SHARE = (VECTORS + SPLIT - 1) / SPLIT;
  static constexpr int STEPS = (SHARE + 31) / 32;
  static constexpr int SLOT = SHARE * VECTOR;
  // Sums that are taken over the lanes at once.
  static constexpr int PASS = 4;

  const TW *next; // this lane's first vector of the row to read next
  TW *slots;      // and of the warp's slots
  int lane, part, group;
  int first;  // of the block's rows
  int count;  // rows of the block
  int mine;   // rows of the warp
  int toRead; // of these
  int left;   // vectors of the warp's share from this lane on

  DEVICE void start(const TW *weights, void *shared) {
    int warp = threadIdx.x / 32, block = blockIdx.x;
    lane = threadIdx.x % 32;
    part = warp % SPLIT;
    group = warp / SPLIT;
    first = (int)((long long)block * N / BLOCKS);
    count = (int)((long long)(block + 1) * N / BLOCKS) - first;
    toRead = mine = (count - group + GROUPS - 1) / GROUPS;
    left = min(SHARE, VECTORS - part * SHARE) - lane;
    next = weights + (long long)(first + group) * K +
           (part * SHARE + lane) * VECTOR;
    slots = (TW *)shared + warp * (SLOTS * SLOT) + lane * VECTOR;
#pragma unroll
    for (int i = 0; i < SLOTS; ++i)
      fetch(slots + i * SLOT);
  }

  // Whether this lane has a vector in step s; all lanes do but in the last one.
  DEVICE bool owns(int s) const {
    return (VECTORS % SPLIT == 0 && (s + 1) * 32 <= SHARE) || s * 32 < left;
  }

  // Starts to read the warp's next row, if there is one.
  DEVICE void fetch(TW *slot) {
    if (toRead > 0) {
#pragma unroll
      for (int s = 0; s < STEPS; ++s)
        if (owns(s)) {
          if constexpr (VECTOR * sizeof(TW) >= 4)
            copyAhead<VECTOR * sizeof(TW)>(slot + s * 32 * VECTOR,
                                           next + s * 32 * VECTOR);
          else
            slot[s * 32] = next[s * 32];
        }
    }
    --toRead;
    next += (long long)GROUPS * K;
    endCopies();
  }

  // This lane's share of a row. What the lane does not own is zero.
  template <class T> struct Share {
    Pack<T, VECTOR> step[STEPS];
  };
  template <class T> DEVICE Share<T> load(const T *from) const {
    Share<T> share;
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
      share.step[s] = Pack<T, VECTOR>{};
      if (owns(s))
        share.step[s] =
            *reinterpret_cast<const Pack<T, VECTOR> *>(from + s * 32 * VECTOR);
    }
    return share;
  }
  struct Values {
    float value[STEPS][VECTOR];
  };
  DEVICE Values loadX(const TX *x) const {
    Share<TX> share = load(x + (part * SHARE + lane) * VECTOR);
    Values values;
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
#pragma unroll
      for (int k = 0; k < VECTOR; ++k)
        values.value[s][k] = toFloat(share.step[s].get(k));
    return values;
  }

  // The warp's next row as soon as it has arrived; its slot is free again.
  DEVICE Share<TW> take(int &slot) {
    awaitCopiesBut<SLOTS - 1>();
    TW *place = slots + slot * SLOT;
    Share<TW> weights = load<TW>(place);
    fetch(place);
    slot = slot + 1 == SLOTS ? 0 : slot + 1;
    return weights;
  }

  DEVICE static float dot(const Share<TW> &weights, const Values &x) {
    float sum = 0.0f;
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
      float chain = 0.0f;
#pragma unroll
      for (int k = 0; k < VECTOR; ++k)
        chain = fmaf(toFloat(weights.step[s].get(k)), x.value[s][k], chain);
      sum += chain;
    }
    return sum;
  }

  // One of two values from each half of 2 * STEP lanes, added.
  template <int STEP> DEVICE float fold(float low, float high) const {
    bool upper = lane & STEP;
    float kept = upper ? high : low, given = upper ? low : high;
    return kept + __shfl_xor_sync(~0u, given, STEP);
  }

  // Leaves all sums of the block in `partials`; every thread must call it.
  DEVICE void multiply(const TX *x, float (&partials)[SPLIT][ROWS_PER_BLOCK]) {
    Values values = loadX(x);
    int slot = 0;
#pragma unroll 1
    for (int base = 0; base < mine; base += PASS) {
      float sums[PASS];
#pragma unroll
      for (int j = 0; j < PASS; ++j)
        sums[j] = base + j < mine ? dot(take(slot), values) : 0.0f;
      // Lanes 0, 8, 16 and 24 end up with one sum each.
      float sum = fold<8>(fold<16>(sums[0], sums[2]),
                          fold<16>(sums[1], sums[3]));
      sum = reduceLanes<Add, 8>(sum);
      int i = base + lane / 8;
      if (lane % 8 == 0 && i < mine)
        partials[part][group + i * GROUPS] = sum;
    }
    __syncthreads();
  }
};

// What the warps of a row found, in their order.
template <int SPLIT, int ROWS>
DEVICE float addParts(const float (&partials)[SPLIT][ROWS], int item) {
  float sum = partials[0][item];
#pragma unroll
  for (int i = 1; i < SPLIT; ++i)
    sum += partials[i][item];
  return sum;
}
