// embed_grad: gradients of the token and position tables.
// SPDX-License-Identifier: Apache-2.0
//
// `order` holds the rows sorted stably by their token, so equal tokens form a
// run. dwte[token] += the rows of its run, dwpe[t] += the rows at position t,
// sequences in order. A block of 8 warps serves 128 columns of either a window
// of 64 places of `order`, and then all runs that begin in it, or of 8
// positions. A run of up to SHORT rows belongs to one warp, which sums them in
// order; of a longer one every warp sums each eighth row, and the sums are
// added in order. So the order depends on nothing but the run.
//
// Grid: (windows, then groups of 8 positions; groups of 128 columns).

namespace embed {

constexpr int WARPS = 8, WINDOW = 64, SHORT = 32;
constexpr int VECTOR =
    COLUMNS % 4 == 0 ? 4 : COLUMNS % 2 == 0 ? 2 : 1; // columns a lane
typedef Pack<float, VECTOR> Values;

DEVICE int tokenOf(const int *tokens, const int *order, int place) {
  return min(max(tokens[order[place]], 0), VOCAB - 1);
}

// Adds rows `row(0)`, `row(1)`, ..., `row(count - 1)`; several loads are in
// flight.
template <class Row>
DEVICE void addRows(float (&sum)[VECTOR], const float *dx, int column,
                    int count, Row row) {
  constexpr int BATCH = 8;
  for (int first = 0; first < count; first += BATCH) {
    Values values[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; ++i)
      if (first + i < count)
        values[i] =
            *(const Values *)(dx + (long long)row(first + i) * COLUMNS +
                              column);
#pragma unroll
    for (int i = 0; i < BATCH; ++i)
      if (first + i < count)
#pragma unroll
        for (int k = 0; k < VECTOR; ++k)
          sum[k] += values[i].get(k);
  }
}

DEVICE Values *valuesAt(float *table, int row, int column) {
  return (Values *)(table + (long long)row * COLUMNS + column);
}

// Sums begin with what the table holds.
DEVICE void load(float (&sum)[VECTOR], float *table, int row, int column) {
  Values values = *valuesAt(table, row, column);
#pragma unroll
  for (int k = 0; k < VECTOR; ++k)
    sum[k] = values.get(k);
}

// The place behind the run of `token`, which goes on at `place` at least:
// `order` is sorted, so all lanes of a warp look at a place each.
DEVICE int endOfRun(const int *tokens, const int *order, int token, int place,
                    int rows) {
  int low = place, high = rows; // the end is in [low, high]
  while (low < high) {
    int step = (high - low + 31) / 32;
    int probe = low + (int)(threadIdx.x % 32) * step;
    bool same = probe < high && tokenOf(tokens, order, probe) <= token;
    int inside = __popc(__ballot_sync(~0u, same)); // a prefix of the lanes
    if (inside == 0)
      break;
    int last = low + (inside - 1) * step; // a place of the run
    high = min(high, last + step);
    low = last + 1;
  }
  return low;
}

DEVICE void addTokens(const float *dx, const int *tokens, const int *order,
                      float *dwte, int rows, int column, bool active) {
  __shared__ int places[WINDOW], runTokens[WINDOW], count;
  __shared__ float partial[WARPS][32 * VECTOR];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int first = blockIdx.x * WINDOW;
  if (warp == 0) {
    int found = 0;
    for (int half = 0; half < WINDOW; half += 32) {
      int place = first + half + lane;
      int token = place < rows ? tokenOf(tokens, order, place) : -1;
      bool begins = place < rows &&
                    (place == 0 || tokenOf(tokens, order, place - 1) != token);
      unsigned mask = __ballot_sync(~0u, begins);
      int at = found + __popc(mask & ((1u << lane) - 1));
      if (begins) {
        places[at] = place;
        runTokens[at] = token;
      }
      found += __popc(mask);
    }
    if (lane == 0)
      count = found;
  }
  __syncthreads();
  for (int run = 0; run < count; ++run) {
    int from = places[run], token = runTokens[run];
    // Only the window's last run can leave it.
    int end = run + 1 < count
                  ? places[run + 1]
                  : endOfRun(tokens, order, token, from + 1, rows);
    int length = end - from;
    bool isShort = length <= SHORT;
    if (isShort && run % WARPS != warp)
      continue;
    int mine = isShort ? length
                       : max(0, (length - warp + WARPS - 1) / WARPS);
    int stride = isShort ? 1 : WARPS, begin = isShort ? from : from + warp;
    float sum[VECTOR] = {};
    bool owns = active && (isShort || warp == 0);
    if (owns)
      load(sum, dwte, token, column);
    if (active)
      addRows(sum, dx, column, mine,
              [&](int i) { return order[begin + i * stride]; });
    if (!isShort) {
#pragma unroll
      for (int k = 0; k < VECTOR; ++k)
        partial[warp][lane * VECTOR + k] = sum[k];
      __syncthreads();
      if (warp == 0)
        for (int w = 1; w < WARPS; ++w)
#pragma unroll
          for (int k = 0; k < VECTOR; ++k)
            sum[k] += partial[w][lane * VECTOR + k];
      __syncthreads();
    }
    if (owns)
      valuesAt(dwte, token, column)->set(sum);
  }
}

DEVICE void addPositions(const float *dx, float *dwpe, int rows, int group,
                         int column, bool active) {
  int position = group * WARPS + threadIdx.x / 32;
  if (!active || position >= POSITIONS)
    return;
  float sum[VECTOR];
  load(sum, dwpe, position, column);
  addRows(sum, dx, column, rows / POSITIONS,
          [&](int b) { return b * POSITIONS + position; });
  valuesAt(dwpe, position, column)->set(sum);
}

} // namespace embed

extern "C" __global__ void __launch_bounds__(32 * embed::WARPS, 4)
    KERNEL_NAME(const float *dx, const int *tokens, const int *order,
                float *dwte, float *dwpe, int rows) {
  launchDependents();
  int column = (blockIdx.y * 32 + threadIdx.x % 32) * embed::VECTOR;
  bool active = column < COLUMNS;
  int windows = (rows + embed::WINDOW - 1) / embed::WINDOW;
  waitForPrevious();
  if ((int)blockIdx.x < windows)
    embed::addTokens(dx, tokens, order, dwte, rows, column, active);
  else
    embed::addPositions(dx, dwpe, rows, blockIdx.x - windows, column, active);
}
