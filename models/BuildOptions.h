// What a user may ask of a graph.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_MODELS_BUILDOPTIONS_H
#define GPT2C_MODELS_BUILDOPTIONS_H

#include "models/ModelConfig.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::gpt2c {

/// Which programs a plan holds.
enum class GraphMode {
  Generate, ///< prefill and decode_bN
  Eval,     ///< eval
  Train     ///< accumulate and validate, both forward: build-training goes on
};

struct BuildOptions {
  GraphMode mode = GraphMode::Generate;
  int64_t batch = 1; ///< sequences at a time
  int64_t seq = 0;   ///< positions a sequence; 0 is all that the model has
  int64_t chunk = 0; ///< tokens a prefill call; 0 is 256 or `seq` if less
  /// Batch sizes that get a decode program; empty is 1, 2, 4, ... and batch.
  SmallVector<int64_t> buckets;
  /// Sequence lengths below `seq` that get training programs of their own.
  SmallVector<int64_t> seqBuckets;
  /// In place of `seqBuckets`: halves of `seq`, as far as they pay off.
  bool halveSeq = false;
  /// Dropout of a training program, in place of the model's three; 0 is none.
  std::optional<double> dropout;
};

/// `options` with nothing 0 or empty; fails where one does not fit the model.
gpt2rt::Result<BuildOptions> resolveOptions(BuildOptions options,
                                            const gpt2rt::ModelConfig &config);

/// Halves of `seq` rounded up to what kernels like, longest last: 64, 128, 256
/// and 512 of 1024. Shorter sequences would hardly be faster.
SmallVector<int64_t> halvesOf(int64_t seq);

} // namespace mlir::gpt2c

#endif // GPT2C_MODELS_BUILDOPTIONS_H
