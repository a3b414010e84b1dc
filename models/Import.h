// Reads what a user gives as MODEL into the gpt2 dialect.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_MODELS_IMPORT_H
#define GPT2C_MODELS_IMPORT_H

#include "models/GraphBuilder.h"

#include <string>

namespace mlir::gpt2c {

/// `model` is a Hugging Face directory, a config.json, a preset's name or an
/// .mlir file of the gpt2 dialect. The last holds its own programs, so only
/// the first three look at `options`. Fails with one line that names the fix.
gpt2rt::Result<OwningOpRef<ModuleOp>> importModel(MLIRContext &context,
                                                  const std::string &model,
                                                  const BuildOptions &options);

} // namespace mlir::gpt2c

#endif // GPT2C_MODELS_IMPORT_H
