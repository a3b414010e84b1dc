// The globals of a GPT-2 module: which there are, what they are called.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_MODELS_MODELGLOBALS_H
#define GPT2C_MODELS_MODELGLOBALS_H

#include "models/BuildOptions.h"

#include "mlir/IR/Builders.h"

#include <string>

namespace mlir::gpt2c {

/// Rows of the vocabulary tables are padded to a multiple of this.
inline constexpr int64_t vocabAlignment = 128;

int64_t paddedVocab(const gpt2rt::ModelConfig &config);

/// "h.LAYER.NAME", the symbol and checkpoint name of a layer's tensor.
std::string layerName(int64_t layer, StringRef name);

/// The global that the LM head multiplies with.
StringRef headName(const gpt2rt::ModelConfig &config);

/// Adds every global that programs of `options` use. Options are resolved:
/// nothing is 0 or empty.
void buildGlobals(OpBuilder &builder, const gpt2rt::ModelConfig &config,
                  const BuildOptions &options);

} // namespace mlir::gpt2c

#endif // GPT2C_MODELS_MODELGLOBALS_H
