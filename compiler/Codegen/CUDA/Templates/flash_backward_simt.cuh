// flash_backward_query and flash_backward_key without tensor cores, for float.
// SPDX-License-Identifier: Apache-2.0
//
// For precision fp32. A block owns 32 rows of one head and walks over tiles of
// 32 others (flash_simt_tiles.cuh).

namespace attention {

template <class T>
struct Backward<T, false> {
  static constexpr int OWN = 32, OTHER = SIMT_OTHER, THREADS = SIMT_THREADS;
  static constexpr int RESIDENT = 2; // blocks an SM
  static constexpr int STRIDE = SIMT_STRIDE, BLOCKS = SIMT_BLOCKS;
  static constexpr int TILE = OWN * STRIDE;
  static constexpr int RESULTS = OWNS_KEYS ? 2 : 1;

  struct Shared {
    T own[2][TILE], other[2][TILE];
    float factors[2][OWN * SIMT_FACTOR_STRIDE]; // dS, then P
    // Of the queries of the two tiles.
    float2 statistics[OTHER];
    unsigned keys[OTHER];
  };

  // Leaves dS and the P that values saw in shared memory.
  static DEVICE void differentiate(Shared &s, int firstOwn, int firstOther,
                                   int ty, int tx) {
    float scores[2][2], gradients[2][2];
    multiplySimt(scores, s.own[0], s.other[0], ty, tx);
    multiplySimt(gradients, s.own[1], s.other[1], ty, tx);
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        int own = 2 * ty + i, other = tx + 16 * j;
        int at = OWNS_KEYS ? other : own; // the query's place in its tile
        int query = (OWNS_KEYS ? firstOther : firstOwn) + at;
        int key = OWNS_KEYS ? firstOwn + own : firstOther + other;
        float p = key > query || query >= POSITIONS
                      ? 0.0f
                      : exp2f(fmaf(scores[i][j], SCORE_SCALE,
                                   -s.statistics[at].x));
        float factor = dropoutFactor(s.keys[at], key);
        s.factors[0][own * SIMT_FACTOR_STRIDE + other] =
            p * (gradients[i][j] * factor - s.statistics[at].y);
        s.factors[1][own * SIMT_FACTOR_STRIDE + other] = p * factor;
      }
  }

  static DEVICE void store(T *to, float (&sums)[2][BLOCKS][4], float scale,
                           int firstOwn, int ty, int tx) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      int row = firstOwn + 2 * ty + i;
      if (row >= POSITIONS)
        continue;
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          sums[i][b][e] *= scale;
      storeSimt(to + row * 3L * WIDTH, sums[i], tx);
    }
  }

  // Statistics of the queries from `first` on.
  static DEVICE void loadStatistics(Shared &s, const Gradients &g, int first) {
    int query = first + threadIdx.x;
    if (threadIdx.x >= OTHER)
      return;
    if (OWNS_KEYS)
      s.statistics[threadIdx.x] =
          g.statistics[long(min(query, int(POSITIONS) - 1)) * HEADS];
    s.keys[threadIdx.x] = queryKey(g.sample, query, g.head);
  }

  static DEVICE void run(const Gradients &g) {
    Shared &s = *(Shared *)dynamicShared();
    int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
    int first = (OWNS_KEYS ? blockIdx.x : gridDim.x - 1 - blockIdx.x) * OWN;
    int begin = OWNS_KEYS ? first / OTHER : 0;
    int last = OWNS_KEYS ? POSITIONS : min(first + OWN, int(POSITIONS));
    int end = (last + OTHER - 1) / OTHER;
#pragma unroll
    for (int i = 0; i < 2; ++i)
      copyTile<OWN, STRIDE, THREADS>(s.own[i], g.own[i], g.ownStride[i], first,
                                     POSITIONS);
    if (!OWNS_KEYS) {
      makeStatistics<OWN, THREADS>(g, first, s.statistics);
      loadStatistics(s, g, first);
    }
    float sums[RESULTS][2][BLOCKS][4] = {};
    for (int tile = begin; tile < end; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        copyTile<OTHER, STRIDE, THREADS>(s.other[i], g.other[i],
                                         g.otherStride[i], tile * OTHER,
                                         POSITIONS);
      if (OWNS_KEYS)
        loadStatistics(s, g, tile * OTHER);
      commitCopies();
      awaitCopies();
      __syncthreads();
      differentiate(s, first, tile * OTHER, ty, tx);
      __syncwarp(); // a row's factors are read by the warp that wrote them
      accumulateSimt(sums[0], s.factors[0], s.other[0], ty, tx);
      if constexpr (OWNS_KEYS)
        accumulateSimt(sums[1], s.factors[1], s.other[1], ty, tx);
      __syncthreads();
    }
    store(g.result[0], sums[0], SCALE, first, ty, tx);
    if constexpr (OWNS_KEYS)
      store(g.result[1], sums[1], 1.0f, first, ty, tx);
  }
};

} // namespace attention
