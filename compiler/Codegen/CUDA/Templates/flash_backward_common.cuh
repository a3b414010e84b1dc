// What both flash_backward kernels know about their inputs.
// SPDX-License-Identifier: Apache-2.0
//
// With P = softmax(scale Q K^T), recomputed from the saved log-sum-exp,
// dP = dO V^T and D = rowsum(dO O) = rowsum(dP P):
//   dS = P (dP - D)    dQ = scale dS K    dK = scale dS^T Q    dV = P^T dO
// Dropout multiplies P in dV and dP by the factors of the forward pass; D stays
// as it is. flash_backward_query (OWNS_KEYS = 0) keeps a tile of queries and
// walks over keys up to the diagonal; it makes D and dQ. flash_backward_key
// (OWNS_KEYS = 1) keeps a tile of keys, walks over queries from the diagonal
// on, and makes dK and dV. Each result has one owner, which sums in one order:
// two more products than a single pass would need, but no atomics, no fp32
// copy of dQ, and equal bits in every run.

namespace attention {

// One head of one sequence. Rows of `own` stay with the block, those of `other`
// pass by: [0] meets [0] in the scores, [1] meets [1] in dP.
struct Gradients {
  const DTYPE *own[2], *other[2];
  long ownStride[2], otherStride[2];
  const DTYPE *out; // OWNS_KEYS = 0: the attention's result, beside dO
  const float *lse;   // OWNS_KEYS = 0: of query t at t * HEADS
  float2 *statistics; // likewise: its log-sum-exp times log2(e), and D
  DTYPE *result[2]; // dQ, or dK and dV; rows of 3 WIDTH
  int head;
  unsigned sample;
};

template <class T, bool = ON_TENSOR_CORES<T>>
struct Backward;

DEVICE Gradients gradientsOf(const DTYPE *qkv, const DTYPE *out,
                             const float *lse, const DTYPE *dout, DTYPE *dqkv,
                             float2 *statistics) {
  int head = blockIdx.y;
  long row = long(blockIdx.z) * POSITIONS;
  const DTYPE *query = qkv + row * 3 * WIDTH + head * HEAD_SIZE;
  const DTYPE *key = query + WIDTH, *value = query + 2 * WIDTH;
  const DTYPE *outGradient = dout + row * WIDTH + head * HEAD_SIZE;
  DTYPE *result = dqkv + row * 3 * WIDTH + head * HEAD_SIZE;
  Gradients g = {};
  constexpr long packed = 3 * WIDTH, single = WIDTH;
#if OWNS_KEYS
  g.own[0] = key, g.own[1] = value;
  g.ownStride[0] = g.ownStride[1] = packed;
  g.other[0] = query, g.other[1] = outGradient;
  g.otherStride[0] = packed, g.otherStride[1] = single;
  g.result[0] = result + WIDTH, g.result[1] = result + 2 * WIDTH;
#else
  g.own[0] = query, g.own[1] = outGradient;
  g.ownStride[0] = packed, g.ownStride[1] = single;
  g.other[0] = key, g.other[1] = value;
  g.otherStride[0] = g.otherStride[1] = packed;
  g.result[0] = result;
  g.out = out + row * WIDTH + head * HEAD_SIZE;
  g.lse = lse + row * HEADS + head;
#endif
  g.statistics = statistics + row * HEADS + head;
  g.head = head;
  return g;
}

// Statistics of rows [first, first + ROWS), to shared memory and to
// g.statistics. Eight lanes share a row.
template <int ROWS, int THREADS>
DEVICE void makeStatistics(const Gradients &g, int first, float2 *shared) {
  int lane = threadIdx.x % 8;
#pragma unroll 4
  for (int row = threadIdx.x / 8; row < ROWS; row += THREADS / 8) {
    int at = first + row;
    float2 result = {0.0f, 0.0f};
    if (at < POSITIONS) {
      result.x = g.lse[long(at) * HEADS] * LOG2E;
      const DTYPE *a = g.out + long(at) * WIDTH;
      const DTYPE *b = g.own[1] + long(at) * WIDTH;
#pragma unroll
      for (int column = lane * V; column < HEAD_SIZE; column += 8 * V) {
        Vector x = loadVector(a + column), y = loadVector(b + column);
#pragma unroll
        for (int k = 0; k < V; ++k)
          result.y = fmaf(x.get(k), y.get(k), result.y);
      }
    }
    result.y = reduceLanes<Add, 8>(result.y);
    if (lane == 0) {
      shared[row] = result;
      if (at < POSITIONS)
        g.statistics[long(at) * HEADS] = result;
    }
  }
}

} // namespace attention
