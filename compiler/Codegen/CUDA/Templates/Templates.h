//===- Templates.h - Every hand-written kernel ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2C_CODEGEN_CUDA_TEMPLATES_TEMPLATES_H
#define GPT2C_CODEGEN_CUDA_TEMPLATES_TEMPLATES_H

#include "compiler/Codegen/CUDA/KernelTemplate.h"

namespace mlir::gpt2c {

const KernelTemplate &cacheAppendTemplate();
const KernelTemplate &decodeAttentionTemplate();
const KernelTemplate &flashAttentionTemplate();
const KernelTemplate &sampleTemplate();

/// Listed in TemplateRegistry.cpp; each template is defined in its own file.
llvm::ArrayRef<const KernelTemplate *> allKernelTemplates();

} // namespace mlir::gpt2c

#endif // GPT2C_CODEGEN_CUDA_TEMPLATES_TEMPLATES_H
