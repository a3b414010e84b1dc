//===- Templates.h - Every hand-written kernel ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2C_CODEGEN_CUDA_TEMPLATES_TEMPLATES_H
#define GPT2C_CODEGEN_CUDA_TEMPLATES_TEMPLATES_H

#include "compiler/Codegen/CUDA/KernelTemplate.h"
#include "compiler/Codegen/CUDA/Templates/TemplateGeometry.h"

namespace mlir::gpt2c {

const KernelTemplate &cacheAppendTemplate();
const KernelTemplate &decodeAttentionTemplate();
const KernelTemplate &embedGradTemplate();
const KernelTemplate &flashAttentionTemplate();
const KernelTemplate &flashBackwardKeyTemplate();
const KernelTemplate &flashBackwardQueryTemplate();
const KernelTemplate &flashForwardTemplate();
const KernelTemplate &sampleTemplate();

/// Listed in TemplateRegistry.cpp; each template is defined in its own file.
llvm::ArrayRef<const KernelTemplate *> allKernelTemplates();

/// Checks what all attention templates share; the second one also that the
/// rows are whole sequences.
llvm::FailureOr<cuda::AttentionShape>
attentionShape(DictionaryAttr config, int64_t rows, ConfigError error);
llvm::FailureOr<cuda::AttentionShape>
packedShape(DictionaryAttr config, int64_t rows, ConfigError error);

KernelGeometry toGeometry(const cuda::LaunchShape &launch);

} // namespace mlir::gpt2c

#endif // GPT2C_CODEGEN_CUDA_TEMPLATES_TEMPLATES_H
