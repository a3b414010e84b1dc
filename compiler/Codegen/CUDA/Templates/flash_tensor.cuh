// flash_attention on tensor cores, for half and bf16.
// SPDX-License-Identifier: Apache-2.0
//
// Causal attention with the softmax kept online: a block of 4 warps owns 64
// query rows of one head, 16 a warp, and walks over tiles of 64 keys up to the
// diagonal. Queries stay in registers as fragments of mma.m16n8k16; keys and
// values pass through two stages of shared memory, the next tile copied while
// the present one is multiplied. Scores, maximum, denominator and output are
// fp32; probabilities are rounded to the element type for the second product.
//
// The head is padded with zero columns to a multiple of 16. Shared rows are 16
// bytes longer than that: 16 times an odd number, so that the 8 rows of one
// ldmatrix lie in different banks. Tiles near the end of the sequence, which
// are the longest, get the first block numbers.

namespace attention {

DEVICE void loadMatrices(unsigned (&r)[4], const void *from) {
  unsigned address = (unsigned)__cvta_generic_to_shared(from);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

DEVICE void loadTransposed(unsigned (&r)[4], const void *from) {
  unsigned address = (unsigned)__cvta_generic_to_shared(from);
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(address)
      : "memory");
}

// c += a * b for one 16x8x16 product.
DEVICE void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                     unsigned b1, half) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
DEVICE void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                     unsigned b1, bf16) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <class T>
struct Flash<T, 2> {
  static constexpr int ROWS = 64, KEYS = 64, THREADS = 128;
  static constexpr int STRIDE = PADDED + 8; // elements of a shared row
  static constexpr int STEPS = PADDED / 16; // products over the head
  static constexpr int KEY_TILES = KEYS / 8;
  static constexpr int OUT_TILES = PADDED / 8;
  static constexpr int STAGE = KEYS * STRIDE; // elements of a K or V tile

  // A fragment of 16 rows x 16 columns begins at this lane's row and column.
  static DEVICE const T *fragment(const T *tile, int row, int column) {
    int lane = threadIdx.x % 32;
    return tile + (row + lane % 16) * STRIDE + column + lane / 16 * 8;
  }

  // scores[j][..]: rows of this warp by keys 8j..8j+7.
  static DEVICE void score(float (&scores)[KEY_TILES][4],
                           const unsigned (&query)[STEPS][4],
                           const T *keys) {
#pragma unroll
    for (int j = 0; j < KEY_TILES; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        scores[j][i] = 0.0f;
#pragma unroll
    for (int step = 0; step < STEPS; ++step)
#pragma unroll
      for (int j = 0; j < KEY_TILES; j += 2) {
        unsigned k[4]; // keys 0-7, 8-15 of columns 0-7, then of 8-15
        loadMatrices(k, fragment(keys, j * 8, step * 16));
        multiply(scores[j], query[step], k[0], k[2], T());
        multiply(scores[j + 1], query[step], k[1], k[3], T());
      }
  }

  // Turns scores into probabilities and rescales what was summed before. Each
  // thread holds two rows (accumulator elements 0, 1 and 2, 3).
  static DEVICE void softmax(float (&scores)[KEY_TILES][4], float (&largest)[2],
                             float (&sum)[2], float (&out)[OUT_TILES][4]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float top = largest[r];
#pragma unroll
      for (int j = 0; j < KEY_TILES; ++j)
        top = fmaxf(top, fmaxf(scores[j][2 * r], scores[j][2 * r + 1]));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
      // Key 0 is visible to every row, so top is finite from the first tile.
      float rescale = exp2Approx((largest[r] - top) * SCORE_SCALE);
      float offset = top * SCORE_SCALE;
      largest[r] = top;
      float total = 0.0f;
#pragma unroll
      for (int j = 0; j < KEY_TILES; ++j)
#pragma unroll
        for (int e = 2 * r; e < 2 * r + 2; ++e) {
          scores[j][e] = exp2Approx(fmaf(scores[j][e], SCORE_SCALE, -offset));
          total += scores[j][e];
        }
      sum[r] = fmaf(sum[r], rescale, total);
#pragma unroll
      for (int j = 0; j < OUT_TILES; ++j) {
        out[j][2 * r] *= rescale;
        out[j][2 * r + 1] *= rescale;
      }
    }
  }

  static DEVICE void accumulate(float (&out)[OUT_TILES][4],
                                const float (&p)[KEY_TILES][4],
                                const T *values) {
#pragma unroll
    for (int step = 0; step < KEYS / 16; ++step) {
      const float(&low)[4] = p[2 * step], (&high)[4] = p[2 * step + 1];
      unsigned a[4] = {pack2<T>(low[0], low[1]), pack2<T>(low[2], low[3]),
                       pack2<T>(high[0], high[1]), pack2<T>(high[2], high[3])};
#pragma unroll
      for (int j = 0; j < OUT_TILES; j += 2) {
        unsigned v[4]; // keys 0-7, 8-15 of columns 0-7, then of 8-15
        loadTransposed(v, fragment(values, step * 16, j * 8));
        multiply(out[j], a, v[0], v[1], T());
        multiply(out[j + 1], a, v[2], v[3], T());
      }
    }
  }

  // Hides keys after each row's own position.
  static DEVICE void mask(float (&scores)[KEY_TILES][4], int firstKey,
                          int firstPosition) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < KEY_TILES; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        int key = firstKey + j * 8 + lane % 4 * 2 + e % 2;
        int position = firstPosition + lane / 4 + e / 2 * 8;
        if (key > position)
          scores[j][e] = -__int_as_float(0x7f800000);
      }
  }

  static DEVICE void store(const Sequence &s, int firstRow,
                           const float (&out)[OUT_TILES][4],
                           const float (&sum)[2]) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      int row = firstRow + lane / 4 + r * 8;
      // Four lanes share a row, each with the sum of its own keys.
      float total = sum[r] + __shfl_xor_sync(0xffffffffu, sum[r], 1);
      total += __shfl_xor_sync(0xffffffffu, total, 2);
      float scale = 1.0f / total;
      if (row >= s.tokens)
        continue;
#pragma unroll
      for (int j = 0; j < OUT_TILES; ++j) {
        int column = j * 8 + lane % 4 * 2;
        float low = out[j][2 * r] * scale, high = out[j][2 * r + 1] * scale;
        T *to = s.out + long(row) * WIDTH + column;
        if constexpr (HEAD_SIZE % 2 == 0) {
          if (column < HEAD_SIZE)
            *(unsigned *)to = pack2<T>(low, high);
        } else {
          if (column < HEAD_SIZE)
            to[0] = fromFloat<T>(low);
          if (column + 1 < HEAD_SIZE)
            to[1] = fromFloat<T>(high);
        }
      }
    }
  }

  static DEVICE void copyKeys(T *stage, const Sequence &s, int tile) {
    copyTile<KEYS, STRIDE, THREADS>(stage, s.key, s.keyStride, tile * KEYS,
                                    s.keys);
    copyTile<KEYS, STRIDE, THREADS>(stage + STAGE, s.value, s.keyStride,
                                    tile * KEYS, s.keys);
    commitCopies();
  }

  static DEVICE void run(const Sequence &s) {
    extern __shared__ __align__(16) unsigned char shared[];
    T *stages = (T *)shared; // two of [K tile, V tile]
    int first = (gridDim.x - 1 - blockIdx.x) * ROWS;
    if (first >= s.tokens)
      return;
    int warpRow = threadIdx.x / 32 * 16;
    int lastKey = s.start + min(first + ROWS, s.tokens) - 1;
    int tiles = lastKey / KEYS + 1;

    // Q takes the second stage's place until it is in registers.
    copyTile<ROWS, STRIDE, THREADS>(stages + 2 * STAGE, s.query, 3 * WIDTH,
                                    first, s.tokens);
    copyKeys(stages, s, 0);
    awaitCopies();
    __syncthreads();
    unsigned query[STEPS][4];
#pragma unroll
    for (int step = 0; step < STEPS; ++step)
      loadMatrices(query[step],
                   fragment(stages + 2 * STAGE, warpRow, step * 16));
    __syncthreads();

    float out[OUT_TILES][4] = {}, sum[2] = {};
    float largest[2] = {-1.0e30f, -1.0e30f};
    for (int tile = 0; tile < tiles; ++tile) {
      const T *stage = stages + tile % 2 * 2 * STAGE;
      if (tile + 1 < tiles)
        copyKeys(stages + (tile + 1) % 2 * 2 * STAGE, s, tile + 1);
      float scores[KEY_TILES][4];
      score(scores, query, stage);
      if (tile * KEYS + KEYS - 1 > s.start + first)
        mask(scores, tile * KEYS, s.start + first + warpRow);
      softmax(scores, largest, sum, out);
      accumulate(out, scores, stage + STAGE);
      awaitCopies();
      __syncthreads();
    }
    store(s, first + warpRow, out, sum);
  }
};

} // namespace attention
