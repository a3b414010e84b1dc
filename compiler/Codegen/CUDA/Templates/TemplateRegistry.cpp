//===- TemplateRegistry.cpp - The list of templates -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Templates/Templates.h"

#include <vector>

using namespace mlir::gpt2c;

llvm::ArrayRef<const KernelTemplate *> mlir::gpt2c::allKernelTemplates() {
  // One line a template.
  static const std::vector<const KernelTemplate *> templates = {
      &cacheAppendTemplate(),      &decodeAttentionTemplate(),
      &embedGradTemplate(),        &flashAttentionTemplate(),
      &flashBackwardKeyTemplate(), &flashBackwardQueryTemplate(),
      &flashForwardTemplate(),     &sampleTemplate()};
  return templates;
}
