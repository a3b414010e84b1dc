// Turns a model description into programs of the gpt2 dialect.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_MODELS_GRAPHBUILDER_H
#define GPT2C_MODELS_GRAPHBUILDER_H

#include "models/ModelConfig.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::gpt2c {

/// Which programs a plan holds.
enum class GraphMode {
  Generate, ///< prefill and decode_bN
  Eval      ///< eval
};

struct BuildOptions {
  GraphMode mode = GraphMode::Generate;
  int64_t batch = 1; ///< sequences at a time
  int64_t seq = 0;   ///< positions a sequence; 0 is all that the model has
  int64_t chunk = 0; ///< tokens a prefill call; 0 is 256 or `seq` if less
  /// Batch sizes that get a decode program; empty is 1, 2, 4, ... and batch.
  SmallVector<int64_t> buckets;
};

/// Builds the module: globals, one function a program, and `gpt2.model`, whose
/// `positions` is `seq`. Everything is f32. `name` goes into `gpt2.model`.
/// Fails where an option does not fit the model.
gpt2rt::Result<OwningOpRef<ModuleOp>>
buildGraph(MLIRContext &context, const gpt2rt::ModelConfig &config,
           StringRef name, const BuildOptions &options);

} // namespace mlir::gpt2c

#endif // GPT2C_MODELS_GRAPHBUILDER_H
