// flash_backward_query and flash_backward_key: gradients of causal attention.
// SPDX-License-Identifier: Apache-2.0
//
// Grid: (tiles of own rows, heads, sequences). The kernel of the queries runs
// first: it leaves D and the log-sum-exp in the workspace, which the kernel of
// the keys reads.

extern "C" __global__ void __launch_bounds__(
    attention::Backward<DTYPE>::THREADS, attention::Backward<DTYPE>::RESIDENT)
    KERNEL_NAME(const DTYPE *qkv,
#if OWNS_KEYS
                const DTYPE *dout, float2 *statistics,
#else
                const DTYPE *out, const float *lse, const DTYPE *dout,
#endif
#if DROPOUT_THRESHOLD
                const int *rng,
#endif
                DTYPE *dqkv,
#if !OWNS_KEYS
                float2 *statistics,
#endif
                int rows
#if DROPOUT_THRESHOLD
                ,
                int dropoutId
#endif
                ) {
  launchDependents();
#if OWNS_KEYS
  const DTYPE *out = nullptr;
  const float *lse = nullptr;
#endif
  attention::Gradients gradients =
      attention::gradientsOf(qkv, out, lse, dout, dqkv, statistics);
  waitForPrevious();
#if DROPOUT_THRESHOLD
  gradients.sample = attention::sampleKey(rng, dropoutId, blockIdx.z);
#endif
  attention::Backward<DTYPE>::run(gradients);
}
