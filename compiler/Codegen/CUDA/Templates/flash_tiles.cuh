// Products of tiles in shared memory on tensor cores, for half and bf16.
// SPDX-License-Identifier: Apache-2.0
//
// A warp multiplies M row tiles of 16 rows, held in registers as fragments of
// mma.m16n8k16, by N column tiles of 8. Element e of an accumulator c[m][n]
// is row 16m + lane / 4 + 8 (e / 2), column 8n + 2 (lane % 4) + e % 2.
//
// The head is padded with zero columns to a multiple of 16. Shared rows are 16
// bytes longer than that: 16 times an odd number, so that the 8 rows of one
// ldmatrix lie in different banks.

namespace attention {

constexpr int STRIDE16 = PADDED + 8; // elements of a shared row
constexpr int STEPS = PADDED / 16;   // products over the head
constexpr int HEAD_TILES = PADDED / 8;

// Bytes from a tile's first value to that at (row, column).
DEVICE constexpr int place16(int row, int column) {
  return 2 * (row * STRIDE16 + column);
}

// Where this lane's part of a fragment of 16 rows x 16 columns begins.
template <class T>
DEVICE SharedAddress fragment(const T *tile) {
  int lane = threadIdx.x % 32;
  return sharedAddress(tile) + place16(lane % 16, lane / 16 * 8);
}

// The same where rows are columns of the product: each half of the fragment
// then is the pair of registers that one multiplication takes.
template <class T>
DEVICE SharedAddress columnFragment(const T *tile) {
  int lane = threadIdx.x % 32;
  return sharedAddress(tile) +
         place16(lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8);
}

// Rows of the head as left operands.
template <int M, class T>
DEVICE void loadRows(unsigned (&a)[STEPS][M][4], const T *tile, int row) {
  SharedAddress from = fragment(tile + row * STRIDE16);
#pragma unroll
  for (int step = 0; step < STEPS; ++step)
#pragma unroll
    for (int m = 0; m < M; ++m)
      loadMatrices(a[step][m], from + place16(16 * m, step * 16));
}

// c = a * tile^T over the head: the tile's rows are c's columns.
template <int M, int N, class T>
DEVICE void multiplyRows(float (&c)[M][N][4], const unsigned (&a)[STEPS][M][4],
                         const T *tile) {
  SharedAddress from = columnFragment(tile);
#pragma unroll
  for (int step = 0; step < STEPS; ++step)
#pragma unroll
    for (int n = 0; n < N; n += 2) {
      unsigned b[4]; // columns 0-7, 8-15 of rows 0-7, then of 8-15
      loadMatrices(b, from + place16(n * 8, step * 16));
#pragma unroll
      for (int m = 0; m < M; ++m)
        if (step == 0) {
          multiplyFirst(c[m][n], a[step][m], b[0], b[1], T());
          multiplyFirst(c[m][n + 1], a[step][m], b[2], b[3], T());
        } else {
          multiply(c[m][n], a[step][m], b[0], b[1], T());
          multiply(c[m][n + 1], a[step][m], b[2], b[3], T());
        }
    }
}

// c += a * tile over 16 of the tile's rows: its columns are c's.
template <int M, int N, class T>
DEVICE void multiplyColumns(float (&c)[M][N][4], const unsigned (&a)[M][4],
                            const T *tile, int row) {
  SharedAddress from = fragment(tile);
#pragma unroll
  for (int n = 0; n < N; n += 2) {
    unsigned b[4]; // rows 0-7, 8-15 of columns 0-7, then of 8-15
    loadTransposed(b, from + place16(row, n * 8));
#pragma unroll
    for (int m = 0; m < M; ++m) {
      multiply(c[m][n], a[m], b[0], b[1], T());
      multiply(c[m][n + 1], a[m], b[2], b[3], T());
    }
  }
}

// Columns [16 step, 16 step + 16) of accumulators as left operands.
template <class T, int M, int N>
DEVICE void packColumns(unsigned (&a)[M][4], const float (&c)[M][N][4],
                        int step) {
#pragma unroll
  for (int m = 0; m < M; ++m) {
    const float(&low)[4] = c[m][2 * step], (&high)[4] = c[m][2 * step + 1];
    a[m][0] = pack2<T>(low[0], low[1]);
    a[m][1] = pack2<T>(low[2], low[3]);
    a[m][2] = pack2<T>(high[0], high[1]);
    a[m][3] = pack2<T>(high[2], high[3]);
  }
}

// Stores 16 rows of a head from `row` on, those below `limit`, each scaled:
// element r of `scale` belongs to row + lane / 4 + 8r.
template <class T>
DEVICE void storeRows(T *to, long stride, int row, int limit,
                      const float (&c)[HEAD_TILES][4],
                      const float (&scale)[2]) {
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    int at = row + lane / 4 + 8 * r;
    if (at >= limit)
      continue;
#pragma unroll
    for (int n = 0; n < HEAD_TILES; ++n) {
      int column = n * 8 + lane % 4 * 2;
      float low = c[n][2 * r] * scale[r], high = c[n][2 * r + 1] * scale[r];
      T *target = to + at * stride + column;
      if constexpr (HEAD_SIZE % 2 == 0) {
        if (column < HEAD_SIZE)
          *(unsigned *)target = pack2<T>(low, high);
      } else {
        if (column < HEAD_SIZE)
          target[0] = fromFloat<T>(low);
        if (column + 1 < HEAD_SIZE)
          target[1] = fromFloat<T>(high);
      }
    }
  }
}

} // namespace attention
