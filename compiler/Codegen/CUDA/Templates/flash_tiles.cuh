// Products of tiles in shared memory on tensor cores.
// SPDX-License-Identifier: Apache-2.0
//
// A warp multiplies M row tiles of 16 rows by N column tiles of 8, as
// mma.m16n8k16 for half and bf16 and as mma.m16n8k8 for tf32. Either takes 32
// bytes of every row, and each lane's part of them is the same in bytes, so
// that ldmatrix, which knows 16-bit elements, loads 32-bit ones too. Element e
// of an accumulator c[m][n] is row 16m + lane / 4 + 8 (e / 2), column
// 8n + 2 (lane % 4) + e % 2.
//
// The head is padded with zero columns to a multiple of 16. Shared rows are 16
// bytes longer than that: 16 times an odd number, so that the 8 rows of one
// ldmatrix lie in different banks.

namespace attention {

constexpr int ROW_PIECE = 16 / sizeof(DTYPE);       // elements of 16 bytes
constexpr int STEP = 2 * ROW_PIECE;                 // terms of one product
constexpr int STEPS = PADDED / STEP;                // products over the head
constexpr int TILE_STRIDE = PADDED + ROW_PIECE;     // elements of a shared row
constexpr int HEAD_TILES = PADDED / 8;

// Bytes from a tile's first value to that at (row, column).
DEVICE constexpr int tileOffset(int row, int column) {
  return sizeof(DTYPE) * (row * TILE_STRIDE + column);
}

// Where this lane's part of a fragment of 16 rows begins.
template <class T>
DEVICE SharedAddress fragment(const T *tile) {
  int lane = threadIdx.x % 32;
  return sharedAddress(tile) + tileOffset(lane % 16, lane / 16 * ROW_PIECE);
}

// The same where rows are columns of the product: each half of the fragment
// then is the pair of registers that one multiplication takes.
template <class T>
DEVICE SharedAddress columnFragment(const T *tile) {
  int lane = threadIdx.x % 32;
  return sharedAddress(tile) +
         tileOffset(lane % 8 + lane / 16 * 8, lane / 8 % 2 * ROW_PIECE);
}

// What was loaded as the tensor cores take it.
template <class T>
DEVICE void roundOperands(unsigned (&r)[4]) {
  if constexpr (sizeof(T) == 4) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      r[i] = roundToTf32(asFloat(r[i]));
  }
}

// Columns [STEP step, STEP step + STEP) of 16 M rows as left operands.
template <class T, int M>
DEVICE void loadStep(unsigned (&a)[M][4], SharedAddress rows, int step) {
#pragma unroll
  for (int m = 0; m < M; ++m) {
    loadMatrices(a[m], rows + tileOffset(16 * m, step * STEP));
    roundOperands<T>(a[m]);
  }
}

// Rows of the head as left operands.
template <int M, class T>
DEVICE void loadRows(unsigned (&a)[STEPS][M][4], const T *tile, int row) {
  SharedAddress from = fragment(tile + row * TILE_STRIDE);
#pragma unroll
  for (int step = 0; step < STEPS; ++step)
    loadStep<T>(a[step], from, step);
}

// The step's part of c = a * tile^T.
template <class T, int M, int N>
DEVICE void multiplyStep(float (&c)[M][N][4], const unsigned (&a)[M][4],
                         SharedAddress columns, int step) {
#pragma unroll
  for (int n = 0; n < N; n += 2) {
    unsigned b[4]; // both halves of the terms for rows 0-7, then for 8-15
    loadMatrices(b, columns + tileOffset(n * 8, step * STEP));
    roundOperands<T>(b);
#pragma unroll
    for (int m = 0; m < M; ++m)
      if (step == 0) {
        multiplyFirst(c[m][n], a[m], b[0], b[1], T());
        multiplyFirst(c[m][n + 1], a[m], b[2], b[3], T());
      } else {
        multiply(c[m][n], a[m], b[0], b[1], T());
        multiply(c[m][n + 1], a[m], b[2], b[3], T());
      }
  }
}

// c = a * tile^T over the head: the tile's rows are c's columns.
template <int M, int N, class T>
DEVICE void multiplyRows(float (&c)[M][N][4], const unsigned (&a)[STEPS][M][4],
                         const T *tile) {
  SharedAddress columns = columnFragment(tile);
#pragma unroll
  for (int step = 0; step < STEPS; ++step)
    multiplyStep<T>(c, a[step], columns, step);
}

// The same with the rows of a in shared memory: for heads so wide that the
// registers do not hold them.
template <int M, int N, class T>
DEVICE void multiplyShared(float (&c)[M][N][4], const T *a, const T *tile) {
  SharedAddress rows = fragment(a), columns = columnFragment(tile);
#pragma unroll
  for (int step = 0; step < STEPS; ++step) {
    unsigned operand[M][4];
    loadStep<T>(operand, rows, step);
    multiplyStep<T>(c, operand, columns, step);
  }
}

// Where this lane's part of right operands begins whose terms are rows.
template <class T>
DEVICE SharedAddress transposedFragment(const T *tile) {
  if constexpr (sizeof(T) == 2)
    return fragment(tile);
  int lane = threadIdx.x % 32;
  return sharedAddress(tile) + tileOffset(lane % 4 * 2, lane / 4);
}

// Two column tiles of STEP rows as right operands, one in b[0] and b[1]. No
// instruction transposes 32-bit elements; for tf32, terms i and i + 4 are rows
// 2i and 2i + 1, as packColumns has them, so that no bank is met twice. Wider
// loads would bring two columns to registers that no product takes together.
template <class T>
DEVICE void loadColumns(unsigned (&b)[4], SharedAddress from) {
  if constexpr (sizeof(T) == 2) {
    loadTransposed(b, from);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      b[i] = loadWord(from + tileOffset(i % 2, i / 2 * 8));
    roundOperands<T>(b);
  }
}

// c += a * tile over STEP of the tile's rows: its columns are c's.
template <int M, int N, class T>
DEVICE void multiplyColumns(float (&c)[M][N][4], const unsigned (&a)[M][4],
                            const T *tile, int row) {
  SharedAddress from = transposedFragment(tile);
#pragma unroll
  for (int n = 0; n < N; n += 2) {
    unsigned b[4];
    loadColumns<T>(b, from + tileOffset(row, n * 8));
#pragma unroll
    for (int m = 0; m < M; ++m) {
      multiply(c[m][n], a[m], b[0], b[1], T());
      multiply(c[m][n + 1], a[m], b[2], b[3], T());
    }
  }
}

// c += a * ones: adds each row's sum, to all columns.
template <class T, int M>
DEVICE void addRows(float (&c)[M][4], const unsigned (&a)[M][4]) {
  unsigned ones;
  if constexpr (sizeof(T) == 2)
    ones = pack2<T>(1.0f, 1.0f);
  else
    ones = roundToTf32(1.0f);
#pragma unroll
  for (int m = 0; m < M; ++m)
    multiply(c[m], a[m], ones, ones, T());
}

// Columns [STEP step, STEP step + STEP) of accumulators as left operands.
template <class T, int M, int N>
DEVICE void packColumns(unsigned (&a)[M][4], const float (&c)[M][N][4],
                        int step) {
#pragma unroll
  for (int m = 0; m < M; ++m) {
    if constexpr (sizeof(T) == 2) {
      const float(&low)[4] = c[m][2 * step], (&high)[4] = c[m][2 * step + 1];
      a[m][0] = pack2<T>(low[0], low[1]);
      a[m][1] = pack2<T>(low[2], low[3]);
      a[m][2] = pack2<T>(high[0], high[1]);
      a[m][3] = pack2<T>(high[2], high[3]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        a[m][i] = roundToTf32(c[m][step][i % 2 * 2 + i / 2]);
    }
  }
}

// Stores 16 rows of a head from `row` on, those below `limit`, each scaled:
// element r of `scale` belongs to row + lane / 4 + 8r.
template <class T>
DEVICE void storeRows(T *to, long stride, int row, int limit,
                      const float (&c)[HEAD_TILES][4],
                      const float (&scale)[2]) {
  constexpr int W = V < 2 ? V : 2; // of the two columns that a lane holds
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    int at = row + lane / 4 + 8 * r;
    if (at >= limit)
      continue;
#pragma unroll
    for (int n = 0; n < HEAD_TILES; ++n)
#pragma unroll
      for (int i = 0; i < 2; i += W) {
        int column = n * 8 + lane % 4 * 2 + i;
        float values[W];
#pragma unroll
        for (int k = 0; k < W; ++k)
          values[k] = c[n][2 * r + i + k] * scale[r];
        Pack<T, W> pack;
        pack.set(values);
        if (column < HEAD_SIZE)
          *(Pack<T, W> *)(to + at * stride + column) = pack;
      }
  }
}

} // namespace attention
