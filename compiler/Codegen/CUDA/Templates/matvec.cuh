// matvec: a few rows of x times every row of a weight matrix.
// SPDX-License-Identifier: Apache-2.0
//
// A group of SPLIT warps owns ROWS_PER_WARP weight rows; each of its warps
// holds its share of them in registers, read 16 bytes a lane and all of it in
// flight before the kernel waits for its predecessor, so the weights of one
// kernel are fetched while the one before it still runs. A sum is taken in an
// order that depends on K alone: chains of VECTOR columns, then the lane's
// vectors, then lanes, then warps. So a row of x gives the same bits whatever
// the other rows and their number are.
//
// A tile is what a block computes at a time: ROWS_PER_BLOCK weight rows. Where
// there are more tiles than blocks that fit the chip, a block takes several and
// reads the next tile's weights while it multiplies this one's.

// W is [N, K] of type TW, x [rows, K] of type TX, rows <= MAX_ROWS.
template <class TW, class TX, int N, int K, int VECTOR, int SPLIT,
          int ROWS_PER_WARP>
struct Matvec {
  static constexpr int WARPS = 8;
  static constexpr int MAX_ROWS = 8;
  static constexpr int GROUPS = WARPS / SPLIT;
  static constexpr int ROWS_PER_BLOCK = GROUPS * ROWS_PER_WARP;
  static constexpr int VECTORS = K / VECTOR;
  static constexpr int STRIDE = 32 * SPLIT;
  static constexpr int STEPS = (VECTORS + STRIDE - 1) / STRIDE;

  // A row of x is on its way while the one before it is multiplied, where
  // there are registers for two; it hides latency, which is all there is to
  // the small matrices that this is true for.
  static constexpr bool AHEAD = ROWS_PER_WARP * STEPS <= 4;

  Pack<TW, VECTOR> weights[ROWS_PER_WARP][STEPS];
  int warp, lane, part, group;

  // Vector number of step i; past VECTORS there is none.
  DEVICE int vectorOf(int i) const { return i * STRIDE + part * 32 + lane; }

  DEVICE void load(const TW *matrix, int tile) {
    warp = threadIdx.x / 32;
    lane = threadIdx.x % 32;
    part = warp % SPLIT;
    group = warp / SPLIT;
    int first = tile * ROWS_PER_BLOCK + group * ROWS_PER_WARP;
#pragma unroll
    for (int j = 0; j < ROWS_PER_WARP; ++j) {
      const TW *row = matrix + (long long)min(first + j, N - 1) * K;
#pragma unroll
      for (int i = 0; i < STEPS; ++i) {
        // Past the end the last vector stands in; it is not used.
        int vector = min(vectorOf(i), VECTORS - 1);
        weights[j][i] = loadStreaming<TW, VECTOR>(row + vector * VECTOR);
      }
    }
  }

  // The result that a thread finishes: number `item` of rows * ROWS_PER_BLOCK
  // (of its warp where SPLIT is 1, else of the block).
  static constexpr int ITEMS_PER_ROW =
      SPLIT == 1 ? ROWS_PER_WARP : ROWS_PER_BLOCK;
  DEVICE int item() const { return SPLIT == 1 ? lane : threadIdx.x; }
  DEVICE int itemRow() const { return item() / ITEMS_PER_ROW; }
  DEVICE int itemColumn(int tile) const {
    int first = tile * ROWS_PER_BLOCK;
    return first + (SPLIT == 1 ? warp * ROWS_PER_WARP : 0) +
           item() % ITEMS_PER_ROW;
  }

  // This lane's share of one row of x.
  struct Values {
    Pack<TX, VECTOR> step[STEPS];
  };
  DEVICE Values loadRow(const TX *x) const {
    Values values;
#pragma unroll
    for (int i = 0; i < STEPS; ++i)
      values.step[i] = reinterpret_cast<const Pack<TX, VECTOR> *>(
          x)[min(vectorOf(i), VECTORS - 1)];
    return values;
  }

  DEVICE void dot(const Values &x, float (&sums)[ROWS_PER_WARP]) const {
#pragma unroll
    for (int j = 0; j < ROWS_PER_WARP; ++j)
      sums[j] = 0.0f;
#pragma unroll
    for (int i = 0; i < STEPS; ++i) {
      if (VECTORS % STRIDE != 0 && vectorOf(i) >= VECTORS)
        continue;
#pragma unroll
      for (int j = 0; j < ROWS_PER_WARP; ++j) {
        float chain = 0.0f;
#pragma unroll
        for (int k = 0; k < VECTOR; ++k)
          chain = fmaf(toFloat(weights[j][i].get(k)),
                       toFloat(x.step[i].get(k)), chain);
        sums[j] += chain;
      }
    }
  }

  // The accumulator of this thread's item. Every thread must call it, with 0
  // and 1 in `turn` by turns: a tile's partial sums are read while the next
  // tile's are written.
  DEVICE float multiply(const TX *x, int rows, int turn) const {
    __shared__ float
        partials[2][SPLIT][SPLIT == 1 ? 1 : MAX_ROWS * ROWS_PER_BLOCK];
    auto &partial = partials[turn];
    float mine = 0.0f;
    Values next;
    if constexpr (AHEAD)
      next = loadRow(x);
    for (int row = 0; row < rows; ++row) {
      const Values current = AHEAD ? next : loadRow(x + (long long)row * K);
      if (AHEAD && row + 1 < rows)
        next = loadRow(x + (long long)(row + 1) * K);
      float sums[ROWS_PER_WARP];
      dot(current, sums);
#pragma unroll
      for (int j = 0; j < ROWS_PER_WARP; ++j) {
        float sum = reduceLanes<Add, 32>(sums[j]);
        if constexpr (SPLIT == 1) {
          mine = lane == row * ROWS_PER_WARP + j ? sum : mine;
        } else {
          if (lane == 0)
            partial[part][row * ROWS_PER_BLOCK + group * ROWS_PER_WARP + j] =
                sum;
        }
      }
    }
    if constexpr (SPLIT > 1) {
      __syncthreads();
      int index = min(item(), MAX_ROWS * ROWS_PER_BLOCK - 1);
      mine = partial[0][index];
#pragma unroll
      for (int i = 1; i < SPLIT; ++i)
        mine += partial[i][index];
    }
    return mine;
  }
};
