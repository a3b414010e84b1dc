// flash_backward_query and flash_backward_key on tensor cores.
// SPDX-License-Identifier: Apache-2.0
//
// A block of 4 warps owns 128 queries (64 where the head is wide or tf32) or 64
// keys as fragments in registers. Tiles of 64 other rows pass through two
// stages of shared memory; a warp takes a tile in chunks, each small enough that
// scores, dP and the sums fit its registers. Own rows are rows of the
// accumulators in both kernels, so P and dS go from one product to the next
// without leaving the registers: where keys are owned, those are P^T and dS^T.
//
// In tf32 rows take twice the registers: other rows of more than 64 columns
// pass by in tiles of 32, and heads wider than 80 have blocks of 2 warps that
// leave their 32 own rows in shared memory and load them for every chunk.
// Every warp rounds what it loads.
// Floor for gpt2 at 64 x 1024 tokens on an H200: three products (queries) and
// four (keys) of 52 GFLOP each, 0.31 and 0.42 ms at 495 TFLOP/s; what either
// reads and writes is 1.2 GB, 0.25 ms at 4.8 TB/s. With one row tile a warp
// every 1024 multiplications take 256 bytes from shared memory, two cycles
// where the tensor cores need one: 0.63 and 0.83 ms are what this form could
// reach, and the registers do not hold two tiles with their sums. Measured:
// 1.23 and 1.63 ms.

namespace attention {

template <class T>
struct Backward<T, true> {
  static constexpr bool LONG = sizeof(T) == 4; // tf32
  // The registers do not hold two tf32 rows this wide and their sums.
  static constexpr bool SHARED_OWN = LONG && PADDED > 80;
  // Row tiles a warp. Two share each load of what passes by; where keys are
  // owned, a third block on an SM does more than that.
  static constexpr int M = !LONG && !OWNS_KEYS && PADDED <= 64 ? 2 : 1;
  static constexpr int RESIDENT = !LONG && OWNS_KEYS && PADDED <= 64 ? 3 : 2;
  static constexpr bool CROWDED =
      LONG        ? !OWNS_KEYS || PADDED > 64
      : OWNS_KEYS ? PADDED <= 64 || PADDED > 96
                  : DROPS && PADDED <= 64;
  static constexpr int CHUNK = CROWDED ? 16 : 32;
  static constexpr int WARPS = SHARED_OWN ? 2 : 4, THREADS = 32 * WARPS;
  static constexpr int WARP_ROWS = 16 * M, OWN = WARPS * WARP_ROWS;
  // As many as shared memory takes on every GPU.
  static constexpr int OTHER = SHARED_OWN           ? 16
                               : LONG && PADDED > 64 ? 32
                                                     : 64;
  static constexpr int N = CHUNK / 8;
  static constexpr int TILE = OTHER * TILE_STRIDE; // elements
  static constexpr int RESULTS = OWNS_KEYS ? 2 : 1;

  // Of the other rows in a stage, where those are queries; else of the own.
  struct Statistics {
    float2 of[OWNS_KEYS ? OTHER : OWN]; // log-sum-exp, D
    unsigned key[OTHER];                // dropout's
  };

  unsigned own[2][SHARED_OWN ? 1 : STEPS][M][4];
  const T *ownRows; // the warp's of own[0] in shared memory, OWN before own[1]
  float sums[RESULTS][M][HEAD_TILES][4];
  // Of the own rows, where those are queries.
  float lse[M][2], delta[M][2];
  unsigned queryKeys[M][2];
  int row; // the warp's first

  // Starts the copies of tile number `tile`.
  static DEVICE void copyOther(T *stage, Statistics *statistics,
                               const Gradients &g, int tile) {
    int first = tile * OTHER;
#pragma unroll
    for (int i = 0; i < 2; ++i)
      copyTile<OTHER, TILE_STRIDE, THREADS>(stage + i * TILE, g.other[i],
                                            g.otherStride[i], first,
                                            POSITIONS);
    if constexpr (OWNS_KEYS) {
      // A query past the end has zero rows, which add nothing.
      int i = threadIdx.x;
      bool valid = first + i < POSITIONS;
      if (i < OTHER) {
        copyAsync<8>(statistics->of + i,
                     g.statistics + long(valid ? first + i : 0) * HEADS,
                     valid);
        if constexpr (DROPS)
          statistics->key[i] = queryKey(g.sample, first + i, g.head);
      }
    }
    commitCopies();
  }

  // The own rows' statistics, from shared memory.
  DEVICE void loadStatistics(const Gradients &g, const Statistics &statistics,
                             int first) {
#pragma unroll
    for (int i = 0; i < 2 * M; ++i) {
      const int m = i / 2, r = i % 2;
      int at = row + 16 * m + threadIdx.x % 32 / 4 + 8 * r;
      lse[m][r] = statistics.of[at - first].x;
      delta[m][r] = statistics.of[at - first].y;
      queryKeys[m][r] = queryKey(g.sample, at, g.head);
    }
  }

  // The place of accumulator element (m, n, e) in the tile of scores.
  struct Place {
    int own, column; // row of the warp's own, column of the chunk
  };
  static DEVICE Place placeOf(int m, int n, int e) {
    int lane = threadIdx.x % 32;
    return {16 * m + lane / 4 + e / 2 * 8, n * 8 + lane % 4 * 2 + e % 2};
  }

  // Scores to probabilities, for other rows from `first` on, whose statistics
  // are `of`.
  DEVICE void exponentiate(float (&p)[M][N][4], const float2 *of, int first) {
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int m = 0; m < M; ++m)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          float sum = OWNS_KEYS ? of[placeOf(m, n, e).column].x : lse[m][e / 2];
          p[m][n][e] = exp2Approx(fmaf(p[m][n][e], SCORE_SCALE, -sum));
        }
    bool masked = OWNS_KEYS ? first < row + WARP_ROWS - 1
                            : first + CHUNK - 1 > row;
    if (!masked)
      return;
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int m = 0; m < M; ++m)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          int own = row + placeOf(m, n, e).own;
          int other = first + placeOf(m, n, e).column;
          if (OWNS_KEYS ? own > other : other > own)
            p[m][n][e] = 0.0f;
        }
  }

  // dP to dS, and P to what values were multiplied by.
  DEVICE void differentiate(float (&p)[M][N][4], float (&ds)[M][N][4],
                            const float2 *of, const unsigned *keys,
                            int first) {
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int m = 0; m < M; ++m)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          Place place = placeOf(m, n, e);
          float d = OWNS_KEYS ? of[place.column].y : delta[m][e / 2];
          float gradient = ds[m][n][e], probability = p[m][n][e];
          if constexpr (DROPS) {
            float factor = OWNS_KEYS
                               ? dropoutFactor(keys[place.column],
                                               row + place.own)
                               : dropoutFactor(queryKeys[m][e / 2],
                                               first + place.column);
            gradient *= factor;
            p[m][n][e] *= factor;
          }
          ds[m][n][e] = probability * (gradient - d);
        }
  }

  // c = own[i] * other^T.
  DEVICE void multiplyOwn(float (&c)[M][N][4], int i, const T *other) {
    if constexpr (SHARED_OWN)
      multiplyShared(c, ownRows + i * OWN * TILE_STRIDE, other);
    else
      multiplyRows(c, own[i], other);
  }

  DEVICE void addChunk(const T *stage, const Statistics &statistics, int first,
                       int offset) {
    const T *other = stage + offset * TILE_STRIDE;
    float p[M][N][4], ds[M][N][4];
    multiplyOwn(p, 0, other);
    multiplyOwn(ds, 1, other + TILE);
    exponentiate(p, statistics.of + offset, first);
    differentiate(p, ds, statistics.of + offset, statistics.key + offset,
                  first);
#pragma unroll
    for (int step = 0; step < CHUNK / STEP; ++step) {
      unsigned a[M][4];
      packColumns<T>(a, ds, step);
      multiplyColumns(sums[0], a, other, step * STEP);
      if constexpr (OWNS_KEYS) {
        packColumns<T>(a, p, step);
        multiplyColumns(sums[1], a, other + TILE, step * STEP);
      }
    }
  }

  DEVICE void addTile(const T *stage, const Statistics &statistics, int tile) {
#pragma unroll 1
    for (int offset = 0; offset < OTHER; offset += CHUNK) {
      int first = tile * OTHER + offset;
      // Keys behind all of the queries add nothing.
      bool hidden =
          OWNS_KEYS ? first + CHUNK <= row : first >= row + WARP_ROWS;
      if (!hidden)
        addChunk(stage, statistics, first, offset);
    }
  }

  DEVICE void store(const Gradients &g) {
    float scales[2][2] = {{SCALE, SCALE}, {1.0f, 1.0f}};
#pragma unroll
    for (int i = 0; i < RESULTS; ++i)
#pragma unroll
      for (int m = 0; m < M; ++m)
        storeRows(g.result[i], 3L * WIDTH, row + 16 * m, int(POSITIONS),
                  sums[i][m], scales[i]);
  }

  // Own rows from `first` on, which take the stages' place until they are in
  // registers or stay behind them, and sums of zero.
  DEVICE void begin(const Gradients &g, T *stages, Statistics *statistics,
                    int first) {
    static_assert(SHARED_OWN || OWN <= 2 * OTHER, "own rows fit the stages");
    T *rows = SHARED_OWN ? stages + 4 * TILE : stages;
#pragma unroll
    for (int i = 0; i < 2; ++i)
      copyTile<OWN, TILE_STRIDE, THREADS>(rows + i * OWN * TILE_STRIDE,
                                          g.own[i], g.ownStride[i], first,
                                          POSITIONS);
    commitCopies();
    if constexpr (!OWNS_KEYS)
      makeStatistics<OWN, THREADS>(g, first, statistics->of);
    awaitCopies();
    __syncthreads();
    row = first + threadIdx.x / 32 * WARP_ROWS;
    if constexpr (SHARED_OWN) {
      ownRows = rows + (row - first) * TILE_STRIDE;
    } else {
      loadRows(own[0], rows, row - first);
      loadRows(own[1], rows + OWN * TILE_STRIDE, row - first);
    }
    if constexpr (!OWNS_KEYS)
      loadStatistics(g, *statistics, first);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < RESULTS; ++i)
#pragma unroll
      for (int m = 0; m < M; ++m)
#pragma unroll
        for (int n = 0; n < HEAD_TILES; ++n)
#pragma unroll
          for (int e = 0; e < 4; ++e)
            sums[i][m][n][e] = 0.0f;
  }

  static DEVICE void run(const Gradients &g) {
    // Two of [tile of other[0], tile of other[1]], own rows if they stay here,
    // statistics of both tiles.
    constexpr int KEPT = SHARED_OWN ? 2 * OWN * TILE_STRIDE : 0;
    T *stages = (T *)dynamicShared();
    Statistics *statistics = (Statistics *)(stages + 4 * TILE + KEPT);
    int first = (OWNS_KEYS ? blockIdx.x : gridDim.x - 1 - blockIdx.x) * OWN;
    int begin = OWNS_KEYS ? first / OTHER : 0;
    int last = OWNS_KEYS ? POSITIONS : min(first + OWN, int(POSITIONS));
    int end = (last + OTHER - 1) / OTHER;

    Backward backward;
    backward.begin(g, stages, statistics, first);
    copyOther(stages, statistics, g, begin);
    for (int tile = begin; tile < end; ++tile) {
      int stage = (tile - begin) % 2;
      awaitCopies();
      __syncthreads();
      if (tile + 1 < end)
        copyOther(stages + (1 - stage) * 2 * TILE,
                  statistics + (OWNS_KEYS ? 1 - stage : 0), g, tile + 1);
      backward.addTile(stages + stage * 2 * TILE,
                       statistics[OWNS_KEYS ? stage : 0], tile);
    }
    backward.store(g);
  }
};

} // namespace attention
