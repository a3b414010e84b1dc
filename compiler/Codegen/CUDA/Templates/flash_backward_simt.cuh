// flash_backward_query and flash_backward_key without tensor cores, for float.
// SPDX-License-Identifier: Apache-2.0
//
// Plain fp32 for the fp32 and tf32 precisions: every product is an fmaf. A
// block of 256 threads owns 32 rows of one head and walks over tiles of 32
// others, all in shared memory, laid out as in flash_simt.cuh. Thread (ty, tx)
// of 16 x 16 computes own rows 2ty, 2ty + 1 by others tx and tx + 16, then by
// columns 4tx + 64k..4tx + 64k + 3 of the results.

namespace attention {

template <class T>
struct Backward<T, 4> {
  static constexpr int OWN = 32, OTHER = 32, THREADS = 256;
  static constexpr int RESIDENT = 2; // blocks an SM
  static constexpr int STRIDE = PADDED + 4, P_STRIDE = OTHER + 4;
  static constexpr int BLOCKS = (PADDED + 63) / 64; // of 4 columns a thread
  static constexpr int TILE = OWN * STRIDE;
  static constexpr int RESULTS = OWNS_KEYS ? 2 : 1;

  struct Shared {
    T own[2][TILE], other[2][TILE];
    float factors[2][OWN * P_STRIDE]; // dS, then P
    // Of the queries of the two tiles.
    float2 statistics[OTHER];
    unsigned keys[OTHER];
  };

  static DEVICE float dot4(float4 a, float4 b, float c) {
    return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, c))));
  }

  // Products of own rows 2ty + i with others tx + 16 j.
  static DEVICE void multiply(float (&c)[2][2], const T *own, const T *other,
                              int ty, int tx) {
#pragma unroll
    for (int i = 0; i < 2; ++i)
      c[i][0] = c[i][1] = 0.0f;
#pragma unroll 2
    for (int d = 0; d < PADDED; d += 4)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float4 a = *(const float4 *)(own + (2 * ty + i) * STRIDE + d);
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float4 b = *(const float4 *)(other + (tx + 16 * j) * STRIDE + d);
          c[i][j] = dot4(a, b, c[i][j]);
        }
      }
  }

  // Leaves dS and the P that values saw in shared memory.
  static DEVICE void differentiate(Shared &s, int firstOwn, int firstOther,
                                   int ty, int tx) {
    float scores[2][2], gradients[2][2];
    multiply(scores, s.own[0], s.other[0], ty, tx);
    multiply(gradients, s.own[1], s.other[1], ty, tx);
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
        s.factors[0][own * P_STRIDE + other] =
            p * (gradients[i][j] * factor - s.statistics[at].y);
        s.factors[1][own * P_STRIDE + other] = p * factor;
      }
  }

  static DEVICE void accumulate(float (&sums)[2][BLOCKS][4],
                                const float *factors, const T *other, int ty,
                                int tx) {
#pragma unroll 4
    for (int k = 0; k < OTHER; ++k)
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) {
        int column = 4 * tx + 64 * b;
        if (column >= PADDED)
          continue;
        float4 value = *(const float4 *)(other + k * STRIDE + column);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float factor = factors[(2 * ty + i) * P_STRIDE + k];
          sums[i][b][0] = fmaf(factor, value.x, sums[i][b][0]);
          sums[i][b][1] = fmaf(factor, value.y, sums[i][b][1]);
          sums[i][b][2] = fmaf(factor, value.z, sums[i][b][2]);
          sums[i][b][3] = fmaf(factor, value.w, sums[i][b][3]);
        }
      }
  }

  static DEVICE void store(T *to, const float (&sums)[2][BLOCKS][4],
                           float scale, int firstOwn, int ty, int tx) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      int row = firstOwn + 2 * ty + i;
      if (row >= POSITIONS)
        continue;
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          int column = 4 * tx + 64 * b + e;
          if (column < HEAD_SIZE)
            to[row * 3L * WIDTH + column] =
                fromFloat<T>(sums[i][b][e] * scale);
        }
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
      accumulate(sums[0], s.factors[0], s.other[0], ty, tx);
      if constexpr (OWNS_KEYS)
        accumulate(sums[1], s.factors[1], s.other[1], ty, tx);
      __syncthreads();
    }
    store(g.result[0], sums[0], SCALE, first, ty, tx);
    if constexpr (OWNS_KEYS)
      store(g.result[1], sums[1], 1.0f, first, ty, tx);
  }
};

} // namespace attention
