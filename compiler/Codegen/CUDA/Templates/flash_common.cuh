// What all flash kernels know about their inputs.
// SPDX-License-Identifier: Apache-2.0

#ifndef CACHED
#define CACHED 0
#endif

namespace attention {

constexpr int PADDED = (HEAD_SIZE + 15) / 16 * 16;
// Softmax in powers of two.
constexpr float LOG2E = 1.44269504f;
constexpr float SCORE_SCALE = SCALE * LOG2E;

// One head of one sequence: where its rows lie and which of them count.
struct Sequence {
  const DTYPE *query, *key, *value;
  DTYPE *out;
  float *lse;    // of query row t at t * HEADS; null: not wanted
  int keyStride; // elements from one key to the next
  int tokens;    // query rows; row t stands at position start + t
  int start;
  int keys; // keys and values from here on are taken as zero
  int head;
  unsigned sample; // its part of dropout's hash
};

// A kernel's work. LSE: it also gives log-sum-exps.
template <class T, bool LSE = false, bool = ON_TENSOR_CORES<T>>
struct Flash;

#if CACHED
// Rows past `count` are padding; they are neither read nor written.
DEVICE Sequence cachedSequence(const DTYPE *qkv, const DTYPE *kCache,
                               const DTYPE *vCache, const int *starts,
                               const int *slot, const int *count, DTYPE *out,
                               int rows) {
  int head = blockIdx.y;
  long cacheRow = (long(slot[0]) * HEADS + head) * POSITIONS * HEAD_SIZE;
  Sequence s = {};
  s.query = qkv + head * HEAD_SIZE;
  s.key = kCache + cacheRow;
  s.value = vCache + cacheRow;
  s.out = out + head * HEAD_SIZE;
  s.keyStride = HEAD_SIZE;
  s.start = clampPosition(starts[0]);
  s.tokens = min(min(count[0], rows), POSITIONS - s.start);
  s.keys = s.start + s.tokens;
  return s;
}
#else
DEVICE Sequence packedSequence(const DTYPE *qkv, DTYPE *out) {
  int head = blockIdx.y;
  long firstRow = long(blockIdx.z) * POSITIONS;
  Sequence s = {};
  s.query = qkv + firstRow * 3 * WIDTH + head * HEAD_SIZE;
  s.key = s.query + WIDTH;
  s.value = s.query + 2 * WIDTH;
  s.out = out + firstRow * WIDTH + head * HEAD_SIZE;
  s.keyStride = 3 * WIDTH;
  s.tokens = POSITIONS;
  s.keys = POSITIONS;
  s.head = head;
  return s;
}
#endif

// Copies V elements to shared memory, or zeros; asynchronously where they are
// not too few for that.
template <class T>
DEVICE void copyVector(T *to, const T *from, bool valid) {
  if constexpr (V * sizeof(T) >= 4)
    copyAsync<V * sizeof(T)>(to, from, valid);
  else
    storeVector(to, valid ? loadVector(from) : Vector{});
}

// Starts the copy of rows [first, first + ROWS) of a [.., HEAD_SIZE] matrix
// into shared memory, [ROWS, STRIDE]. Rows from `limit` on and columns from
// HEAD_SIZE to PADDED become zero.
template <int ROWS, int STRIDE, int THREADS, class T>
DEVICE void copyTile(T *to, const T *from, long stride, int first, int limit) {
  constexpr int PER_ROW = PADDED / V;
  // Hidden from the compiler, which would keep what follows from it in
  // registers that the products need.
  int thread = hidden(threadIdx.x);
  if constexpr (THREADS % PER_ROW == 0) {
    // A thread keeps its column and steps over rows.
    constexpr int STEP = THREADS / PER_ROW;
    int row = thread / PER_ROW, column = thread % PER_ROW * V;
    int left = column < HEAD_SIZE ? limit - first - row : 0;
    from += (first + row) * stride + column;
    to += row * STRIDE + column;
#pragma unroll
    for (int i = 0; i < ROWS; i += STEP)
      if (ROWS % STEP == 0 || i + row < ROWS)
        copyVector(to + i * STRIDE, from + i * stride, i < left);
  } else {
#pragma unroll 4
    for (int i = thread; i < ROWS * PER_ROW; i += THREADS) {
      int row = i / PER_ROW, column = i % PER_ROW * V;
      bool valid = first + row < limit && column < HEAD_SIZE;
      copyVector(to + row * STRIDE + column,
                 from + (first + row) * stride + column, valid);
    }
  }
}

} // namespace attention
