// flash_attention and flash_forward without tensor cores, for float.
// SPDX-License-Identifier: Apache-2.0
//
// For precision fp32. A block owns 64 query rows of one head and walks over
// tiles of 32 keys up to the diagonal (flash_simt_tiles.cuh).

namespace attention {

template <class T, bool LSE>
struct Flash<T, LSE, false> {
  static constexpr int ROWS = 64, KEYS = SIMT_OTHER, THREADS = SIMT_THREADS;
  static constexpr int BLOCKS = SIMT_BLOCKS;

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
      p[(4 * ty + i) * SIMT_FACTOR_STRIDE + tx] =
          p0 * dropoutFactor(queryKeys[i], firstKey + tx);
      p[(4 * ty + i) * SIMT_FACTOR_STRIDE + tx + 16] =
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

  static DEVICE void store(const Sequence &s, int firstRow, int ty, int tx,
                           float (&out)[4][BLOCKS][4],
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
        for (int e = 0; e < 4; ++e)
          out[i][b][e] /= sum[i];
      storeSimt(s.out + long(row) * WIDTH, out[i], tx);
    }
  }

  static DEVICE void run(const Sequence &s) {
    constexpr int STRIDE = SIMT_STRIDE;
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
      multiplySimt(scores, q, k, ty, tx);
      softmax(scores, p, tile * KEYS, s.start + first, ty, tx, queryKeys,
              largest, sum, out);
      __syncwarp(); // a row's probabilities are read by the warp that wrote it
      accumulateSimt(out, p, v, ty, tx);
      __syncthreads();
    }
    store(s, first, ty, tx, out, largest, sum);
  }
};

} // namespace attention
