// flash_forward: causal attention of whole sequences, as training needs it.
// SPDX-License-Identifier: Apache-2.0
//
// flash_attention that also gives each row's log-sum-exp of its scaled scores
// and drops probabilities. Grid: (tiles of query rows, heads, sequences).

extern "C" __global__ void __launch_bounds__(
    attention::Flash<DTYPE, true>::THREADS, 2)
    KERNEL_NAME(const DTYPE *qkv,
#if DROPOUT_THRESHOLD
                const int *rng,
#endif
                DTYPE *out, float *lse, int rows
#if DROPOUT_THRESHOLD
                ,
                int dropoutId
#endif
                ) {
  launchDependents();
  attention::Sequence sequence = attention::packedSequence(qkv, out);
  sequence.lse = lse + long(blockIdx.z) * POSITIONS * HEADS + sequence.head;
  waitForPrevious();
#if DROPOUT_THRESHOLD
  sequence.sample = attention::sampleKey(rng, dropoutId, blockIdx.z);
#endif
  attention::Flash<DTYPE, true>::run(sequence);
}
