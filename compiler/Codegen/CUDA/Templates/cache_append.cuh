// cache_append: keys and values of a prefill chunk go to one cache row.
// SPDX-License-Identifier: Apache-2.0
//
// A block copies the key and value parts of one qkv row, [heads, head_size]
// each, to cache[slot][head][starts + t]. Rows from `count` on are padding of
// the chunk and are not written, so what a cache holds is always valid.

extern "C" __global__ void __launch_bounds__(256)
    KERNEL_NAME(const DTYPE *qkv, const int *starts, const int *slot,
                const int *count, DTYPE *kCache, DTYPE *vCache, int rows) {
  using namespace attention;
  launchDependents();
  int row = blockIdx.x;
  int position = starts[0] + row;
  waitForPrevious();
  if (row >= count[0] || position < 0 || position >= POSITIONS)
    return;

  const DTYPE *keys = qkv + long(row) * 3 * WIDTH + WIDTH;
  for (int i = threadIdx.x * V; i < 2 * WIDTH; i += blockDim.x * V) {
    bool isValue = i >= WIDTH;
    int column = isValue ? i - WIDTH : i;
    int head = column / HEAD_SIZE;
    long to = ((long(slot[0]) * HEADS + head) * POSITIONS + position) *
                  HEAD_SIZE +
              column % HEAD_SIZE;
    storeVector((isValue ? vCache : kCache) + to, loadVector(keys + i));
  }
}
