// flash_attention: causal attention of many tokens (prefill and eval).
// SPDX-License-Identifier: Apache-2.0
//
// Grid: (tiles of query rows, heads, sequences). CACHED picks where keys
// and values come from: the cache row `slot`, into which cache_append has put
// this chunk already, or the qkv rows themselves. The work is done by
// flash_tensor.cuh or flash_simt.cuh, by element size.

#if CACHED
extern "C" __global__ void __launch_bounds__(
    attention::Flash<DTYPE>::THREADS, 2)
    KERNEL_NAME(const DTYPE *qkv, const DTYPE *kCache, const DTYPE *vCache,
                const int *starts, const int *slot, const int *count,
                DTYPE *out, int rows) {
  launchDependents();
  attention::Sequence sequence = attention::cachedSequence(
      qkv, kCache, vCache, starts, slot, count, out, rows);
  waitForPrevious();
  attention::Flash<DTYPE>::run(sequence);
}
#else
extern "C" __global__ void __launch_bounds__(
    attention::Flash<DTYPE>::THREADS, 2)
    KERNEL_NAME(const DTYPE *qkv, DTYPE *out, int rows) {
  launchDependents();
  attention::Sequence sequence = attention::packedSequence(qkv, out);
  waitForPrevious();
  attention::Flash<DTYPE>::run(sequence);
}
#endif
