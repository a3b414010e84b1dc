// flash_attention and flash_forward on tensor cores.
// SPDX-License-Identifier: Apache-2.0
//
// Causal attention with the softmax kept online: a block of 4 warps owns 128
// query rows of one head, 32 a warp (64 and 16 where the head is wide or the
// queries are few), and walks over tiles of 64 keys up to the diagonal.
// Queries stay in registers; keys and values pass through two stages of shared
// memory, the next tile copied while the present one is multiplied. Scores,
// maximum, denominator and output are fp32; probabilities are rounded to the
// element type for the second product. Tiles near the end of the sequence,
// which are the longest, get the first block numbers.
//
// The denominator is the sum of the probabilities as they were rounded: errors
// of those that are alike would else add up and scale a whole output row, by up
// to 2^-9 in bf16. The tensor cores sum them, as one more column of values that
// are all 1. Training wants the exact sum, before dropout, for its log.
//
// In tf32 a query takes twice the registers, so a warp takes a tile of keys in
// halves where it owns 32 rows, and wide heads have tiles of 32 keys, which
// every GPU's shared memory holds. Every warp rounds what it loads; rounding a
// tile once where the copies put it was 15% slower: shared memory is what is
// short.
// Floor for gpt2 at 64 x 1024 tokens on an H200: two products of 12 x 64 heads
// are 103 GFLOP causal, 0.21 ms at 495 TFLOP/s; qkv and out are 0.81 GB, 0.17
// ms at 4.8 TB/s. One product of 1024 multiplications takes 256 bytes from
// shared memory, half of that where two row tiles share them: at 128 bytes a
// cycle as long as the tensor cores take. Measured: 0.84 ms.

namespace attention {

template <class T, bool LSE>
struct Flash<T, LSE, true> {
  // Two row tiles share each load of a key or value.
  static constexpr int M = !CACHED && PADDED <= 64 ? 2 : 1;
  static constexpr int WARP_ROWS = 16 * M, ROWS = 4 * WARP_ROWS;
  static constexpr int KEYS = sizeof(T) == 4 && PADDED > 64 ? 32 : 64;
  static constexpr int THREADS = 128;
  // Keys whose scores a warp holds at once.
  static constexpr int CHUNK = sizeof(T) == 4 && M == 2 ? 32 : KEYS;
  static constexpr int KEY_TILES = CHUNK / 8;
  static constexpr int STAGE = KEYS * TILE_STRIDE; // elements of a K or V tile

  float out[M][HEAD_TILES][4], largest[M][2];
  // Element 2r is row r's: its whole sum, or with LSE that of this lane's keys.
  float sum[M][4];
  unsigned queryKeys[M][2];

  // Turns scores into probabilities and rescales what was summed before. Each
  // thread holds two rows of a tile (accumulator elements 0, 1 and 2, 3).
  DEVICE void softmax(float (&scores)[M][KEY_TILES][4], int firstKey) {
    int column = firstKey + threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2 * M; ++i) {
      const int m = i / 2, r = i % 2;
      float top = largest[m][r];
#pragma unroll
      for (int n = 0; n < KEY_TILES; ++n)
        top = fmaxf(top, fmaxf(scores[m][n][2 * r], scores[m][n][2 * r + 1]));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
      // Key 0 is visible to every row, so top is finite from the first tile.
      float rescale = exp2Approx((largest[m][r] - top) * SCORE_SCALE);
      float offset = top * SCORE_SCALE;
      largest[m][r] = top;
      float total = 0.0f;
#pragma unroll
      for (int n = 0; n < KEY_TILES; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float &score = scores[m][n][2 * r + e];
          score = exp2Approx(fmaf(score, SCORE_SCALE, -offset));
          if constexpr (LSE)
            total += score;
          if constexpr (DROPS)
            score *= dropoutFactor(queryKeys[m][r], column + 8 * n + e);
        }
      sum[m][2 * r] = fmaf(sum[m][2 * r], rescale, total);
#pragma unroll
      for (int n = 0; n < HEAD_TILES; ++n) {
        out[m][n][2 * r] *= rescale;
        out[m][n][2 * r + 1] *= rescale;
      }
    }
  }

  // Hides keys after each row's own position.
  static DEVICE void mask(float (&scores)[M][KEY_TILES][4], int firstKey,
                          int firstPosition) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int n = 0; n < KEY_TILES; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          int key = firstKey + n * 8 + lane % 4 * 2 + e % 2;
          int position = firstPosition + 16 * m + lane / 4 + e / 2 * 8;
          if (key > position)
            scores[m][n][e] = -__int_as_float(0x7f800000);
        }
  }

  DEVICE void begin(const Sequence &s, int firstRow) {
#pragma unroll
    for (int i = 0; i < 2 * M; ++i) {
      const int m = i / 2, r = i % 2;
      sum[m][2 * r] = sum[m][2 * r + 1] = 0.0f;
      largest[m][r] = -1.0e30f;
      int row = firstRow + 16 * m + threadIdx.x % 32 / 4 + 8 * r;
      queryKeys[m][r] = queryKey(s.sample, row, s.head);
#pragma unroll
      for (int n = 0; n < HEAD_TILES; ++n)
        out[m][n][2 * r] = out[m][n][2 * r + 1] = 0.0f;
    }
  }

  DEVICE void store(const Sequence &s, int firstRow) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int m = 0; m < M; ++m) {
      float scale[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float total = sum[m][2 * r];
        if constexpr (LSE) { // four lanes share a row
          total += __shfl_xor_sync(0xffffffffu, total, 1);
          total += __shfl_xor_sync(0xffffffffu, total, 2);
          int row = firstRow + 16 * m + lane / 4 + 8 * r;
          if (lane % 4 == 0 && row < s.tokens)
            s.lse[long(row) * HEADS] = fmaf(largest[m][r], SCALE, logf(total));
        }
        scale[r] = 1.0f / total;
      }
      storeRows(s.out, long(WIDTH), firstRow + 16 * m, s.tokens, out[m],
                scale);
    }
  }

  static DEVICE void copyKeys(T *stage, const Sequence &s, int tile) {
    copyTile<KEYS, TILE_STRIDE, THREADS>(stage, s.key, s.keyStride,
                                         tile * KEYS, s.keys);
    copyTile<KEYS, TILE_STRIDE, THREADS>(stage + STAGE, s.value, s.keyStride,
                                         tile * KEYS, s.keys);
    commitCopies();
  }

  DEVICE void addChunk(const unsigned (&query)[STEPS][M][4], const T *stage,
                       int firstKey, int firstPosition) {
    float scores[M][KEY_TILES][4];
    multiplyRows(scores, query, stage);
    if (firstKey + CHUNK - 1 > firstPosition)
      mask(scores, firstKey, firstPosition);
    softmax(scores, firstKey);
#pragma unroll
    for (int step = 0; step < CHUNK / STEP; ++step) {
      unsigned p[M][4];
      packColumns<T>(p, scores, step);
      multiplyColumns(out, p, stage + STAGE, step * STEP);
      if constexpr (!LSE)
        addRows<T>(sum, p);
    }
  }

  DEVICE void addTile(const unsigned (&query)[STEPS][M][4], const T *stage,
                      int firstKey, int firstPosition) {
#pragma unroll 1
    for (int offset = 0; offset < KEYS; offset += CHUNK)
      // Keys behind all of the warp's rows add nothing.
      if (firstKey + offset < firstPosition + WARP_ROWS)
        addChunk(query, stage + offset * TILE_STRIDE, firstKey + offset,
                 firstPosition);
  }

  static DEVICE void run(const Sequence &s) {
    T *stages = (T *)dynamicShared(); // two of [K tile, V tile]
    int first = (gridDim.x - 1 - blockIdx.x) * ROWS;
    if (first >= s.tokens)
      return;
    int warpRow = first + threadIdx.x / 32 * WARP_ROWS;
    int lastKey = s.start + min(first + ROWS, s.tokens) - 1;
    int tiles = lastKey / KEYS + 1;

    // Q takes the second stage's place until it is in registers.
    static_assert(ROWS <= 2 * KEYS, "queries fit a stage");
    copyTile<ROWS, TILE_STRIDE, THREADS>(stages + 2 * STAGE, s.query,
                                         3 * WIDTH, first, s.tokens);
    copyKeys(stages, s, 0);
    awaitCopies();
    __syncthreads();
    unsigned query[STEPS][M][4];
    loadRows(query, stages + 2 * STAGE, warpRow - first);
    __syncthreads();

    Flash flash;
    flash.begin(s, warpRow);
    for (int tile = 0; tile < tiles; ++tile) {
      if (tile + 1 < tiles)
        copyKeys(stages + (tile + 1) % 2 * 2 * STAGE, s, tile + 1);
      flash.addTile(query, stages + tile % 2 * 2 * STAGE, tile * KEYS,
                    s.start + warpRow);
      awaitCopies();
      __syncthreads();
    }
    flash.store(s, warpRow);
  }
};

} // namespace attention
