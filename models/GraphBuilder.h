// Turns a model description into programs of the gpt2 dialect.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_MODELS_GRAPHBUILDER_H
#define GPT2C_MODELS_GRAPHBUILDER_H

#include "models/BuildOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::gpt2c {

/// Builds the module: globals, one function a program, and `gpt2.model`, whose
/// `positions` is `seq`. Everything is f32. `name` goes into `gpt2.model`.
/// Fails where an option does not fit the model.
gpt2rt::Result<OwningOpRef<ModuleOp>>
buildGraph(MLIRContext &context, const gpt2rt::ModelConfig &config,
           StringRef name, const BuildOptions &options);

} // namespace mlir::gpt2c

#endif // GPT2C_MODELS_GRAPHBUILDER_H
