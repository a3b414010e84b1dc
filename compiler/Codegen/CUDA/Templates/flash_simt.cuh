// flash_attention and flash_forward without tensor cores, for float.
// SPDX-License-Identifier: Apache-2.0
//
// Plain fp32 for the fp32 and tf32 precisions: every product is an fmaf. A
// block of 256 threads owns 64 query rows of one head and walks over tiles of
// 32 keys up to the diagonal, all in shared memory, rows 4 floats longer than
// the padded head so that 16-byte reads of 8 rows meet no bank twice. Thread
// (ty, tx) of 16 x 16 computes rows 4ty..4ty+3 by keys tx and tx + 16, then by
// output columns 4tx + 64k..4tx + 64k + 3.

namespace attention {

template <class T>
struct Flash<T, 4> {
  static constexpr int ROWS = 64, KEYS = 32, THREADS = 256;
  static constexpr int STRIDE = PADDED + 4;
  static constexpr int P_STRIDE = KEYS + 4;
  static constexpr int BLOCKS = (PADDED + 63) / 64; // of 4 columns a thread

  static DEVICE float dot4(float4 a, float4 b, float c) {
    return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, c))));
  }

  static DEVICE void score(float (&scores)[4][2], const T *q,
                           const T *k, int ty, int tx) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      scores[i][0] = scores[i][1] = 0.0f;
#pragma unroll 2
    for (int d = 0; d < PADDED; d += 4) {
      float4 k0 = *(const float4 *)(k + tx * STRIDE + d);
      float4 k1 = *(const float4 *)(k + (tx + 16) * STRIDE + d);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float4 qi = *(const float4 *)(q + (4 * ty + i) * STRIDE + d);
        scores[i][0] = dot4(qi, k0, scores[i][0]);
        scores[i][1] = dot4(qi, k1, scores[i][1]);
      }
    }
  }

  // Probabilities go to shared memory; the 16 threads of a row agree on its
  // maximum and denominator.
  static DEVICE void softmax(float (&scores)[4][2], float *p, int firstKey,
                             int firstPosition, int ty, int tx,
                             const unsigned (&queryKeys)[4],
                             float (&largest)[4], float (&sum)[4],
                             float (&out)[4][BLOCKS][4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int position = firstPosition + 4 * ty + i;
      float top = largest[i];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        bool visible = firstKey + tx + 16 * j <= position;
        scores[i][j] = visible ? scores[i][j] * SCORE_SCALE : -1.0e30f;
        top = fmaxf(top, scores[i][j]);
      }
#pragma unroll
      for (int offset = 8; offset > 0; offset /= 2)
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, offset));
      float rescale = exp2f(largest[i] - top);
      largest[i] = top;
      float p0 = exp2f(scores[i][0] - top), p1 = exp2f(scores[i][1] - top);
      p[(4 * ty + i) * P_STRIDE + tx] =
          p0 * dropoutFactor(queryKeys[i], firstKey + tx);
      p[(4 * ty + i) * P_STRIDE + tx + 16] =
          p1 * dropoutFactor(queryKeys[i], firstKey + tx + 16);
      float total = p0 + p1;
#pragma unroll
      for (int offset = 8; offset > 0; offset /= 2)
        total += __shfl_xor_sync(0xffffffffu, total, offset);
      sum[i] = fmaf(sum[i], rescale, total);
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          out[i][b][e] *= rescale;
    }
  }

  static DEVICE void accumulate(float (&out)[4][BLOCKS][4], const float *p,
                                const T *v, int ty, int tx) {
#pragma unroll 4
    for (int key = 0; key < KEYS; ++key) {
      float weight[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        weight[i] = p[(4 * ty + i) * P_STRIDE + key];
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) {
        int column = 4 * tx + 64 * b;
        if (column >= PADDED)
          continue;
        float4 value = *(const float4 *)(v + key * STRIDE + column);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          out[i][b][0] = fmaf(weight[i], value.x, out[i][b][0]);
          out[i][b][1] = fmaf(weight[i], value.y, out[i][b][1]);
          out[i][b][2] = fmaf(weight[i], value.z, out[i][b][2]);
          out[i][b][3] = fmaf(weight[i], value.w, out[i][b][3]);
        }
      }
    }
  }

  static DEVICE void store(const Sequence &s, int firstRow, int ty, int tx,
                           const float (&out)[4][BLOCKS][4],
                           const float (&largest)[4], const float (&sum)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int row = firstRow + 4 * ty + i;
      if (row >= s.tokens)
        continue;
      if (s.lse && tx == 0)
        s.lse[long(row) * HEADS] = largest[i] * (SCALE / SCORE_SCALE) +
                                   logf(sum[i]);
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          int column = 4 * tx + 64 * b + e;
          if (column < HEAD_SIZE)
            s.out[long(row) * WIDTH + column] =
                fromFloat<T>(out[i][b][e] / sum[i]);
        }
    }
  }

  static DEVICE void run(const Sequence &s) {
    T *q = (T *)dynamicShared(), *k = q + ROWS * STRIDE, *v = k + KEYS * STRIDE;
    float *p = (float *)(v + KEYS * STRIDE);
    int first = (gridDim.x - 1 - blockIdx.x) * ROWS;
    if (first >= s.tokens)
      return;
    int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
    int lastKey = s.start + min(first + ROWS, s.tokens) - 1;
    int tiles = lastKey / KEYS + 1;

    copyTile<ROWS, STRIDE, THREADS>(q, s.query, 3 * WIDTH, first, s.tokens);
    float out[4][BLOCKS][4] = {}, sum[4] = {};
    float largest[4] = {-1.0e30f, -1.0e30f, -1.0e30f, -1.0e30f};
    unsigned queryKeys[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      queryKeys[i] = queryKey(s.sample, first + 4 * ty + i, s.head);
    for (int tile = 0; tile < tiles; ++tile) {
      copyTile<KEYS, STRIDE, THREADS>(k, s.key, s.keyStride, tile * KEYS,
                                      s.keys);
      copyTile<KEYS, STRIDE, THREADS>(v, s.value, s.keyStride, tile * KEYS,
                                      s.keys);
      commitCopies();
      awaitCopies();
      __syncthreads();
      float scores[4][2];
      score(scores, q, k, ty, tx);
      softmax(scores, p, tile * KEYS, s.start + first, ty, tx, queryKeys,
              largest, sum, out);
      __syncwarp(); // a row's probabilities are read by the warp that wrote it
      accumulate(out, p, v, ty, tx);
      __syncthreads();
    }
    store(s, first, ty, tx, out, largest, sum);
  }
};

} // namespace attention
