// Products of tiles in shared memory without tensor cores, for float.
// SPDX-License-Identifier: Apache-2.0
//
// Plain fp32: every product is an fmaf. A block of 256 threads keeps its tiles
// in shared memory, rows 4 floats longer than the padded head so that 16-byte
// reads of 8 rows meet no bank twice. Thread (ty, tx) of 16 x 16 computes own
// rows ROWS ty..ROWS ty + ROWS - 1, first by the other rows tx and tx + 16 of
// 32, then by columns 4 tx + 64 k..4 tx + 64 k + 3 of the head.

namespace attention {

// PADDED floats and 4; what passes by comes in tiles of 32 rows.
constexpr int SIMT_STRIDE = PADDED + 4;
constexpr int SIMT_OTHER = 32, SIMT_FACTOR_STRIDE = SIMT_OTHER + 4;
constexpr int SIMT_THREADS = 256;
constexpr int SIMT_BLOCKS = (PADDED + 63) / 64; // of 4 columns a thread

DEVICE float dot4(float4 a, float4 b, float c) {
  return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, c))));
}

// c = own * other^T over the head.
template <int ROWS>
DEVICE void multiplySimt(float (&c)[ROWS][2], const float *own,
                         const float *other, int ty, int tx) {
#pragma unroll
  for (int i = 0; i < ROWS; ++i)
    c[i][0] = c[i][1] = 0.0f;
#pragma unroll 2
  for (int d = 0; d < PADDED; d += 4) {
    float4 b0 = *(const float4 *)(other + tx * SIMT_STRIDE + d);
    float4 b1 = *(const float4 *)(other + (tx + 16) * SIMT_STRIDE + d);
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      float4 a = *(const float4 *)(own + (ROWS * ty + i) * SIMT_STRIDE + d);
      c[i][0] = dot4(a, b0, c[i][0]);
      c[i][1] = dot4(a, b1, c[i][1]);
    }
  }
}

// sums += factors * other, where the factors are own rows by other rows.
template <int ROWS>
DEVICE void accumulateSimt(float (&sums)[ROWS][SIMT_BLOCKS][4],
                           const float *factors, const float *other, int ty,
                           int tx) {
#pragma unroll 4
  for (int k = 0; k < SIMT_OTHER; ++k) {
    float factor[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
      factor[i] = factors[(ROWS * ty + i) * SIMT_FACTOR_STRIDE + k];
#pragma unroll
    for (int b = 0; b < SIMT_BLOCKS; ++b) {
      int column = 4 * tx + 64 * b;
      if (column >= PADDED)
        continue;
      float4 value = *(const float4 *)(other + k * SIMT_STRIDE + column);
#pragma unroll
      for (int i = 0; i < ROWS; ++i) {
        sums[i][b][0] = fmaf(factor[i], value.x, sums[i][b][0]);
        sums[i][b][1] = fmaf(factor[i], value.y, sums[i][b][1]);
        sums[i][b][2] = fmaf(factor[i], value.z, sums[i][b][2]);
        sums[i][b][3] = fmaf(factor[i], value.w, sums[i][b][3]);
      }
    }
  }
}

// Stores one row's columns of this thread.
template <class T>
DEVICE void storeSimt(T *row, const float (&values)[SIMT_BLOCKS][4], int tx) {
#pragma unroll
  for (int b = 0; b < SIMT_BLOCKS; ++b)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      int column = 4 * tx + 64 * b + e;
      if (column < HEAD_SIZE)
        row[column] = fromFloat<T>(values[b][e]);
    }
}

} // namespace attention
