//===- TrainingTemplates.cpp - Kernels of forward and backward passes -----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Templates/Templates.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace mlir::gpt2c;
using llvm::StringRef;

// The order of these includes is the order of the text.
// clang-format off
static constexpr StringRef forwardSource =
#include "compiler/Codegen/CUDA/Templates/attention_common.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/tensor_core.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/dropout.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_common.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_tiles.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_tensor.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_simt_tiles.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_simt.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_forward.cuh.inc"
    ;
static constexpr StringRef querySource = "#define OWNS_KEYS 0\n"
#include "compiler/Codegen/CUDA/Templates/attention_common.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/tensor_core.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/dropout.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_common.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_tiles.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_backward_common.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_backward_tensor.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_simt_tiles.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_backward_simt.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_backward.cuh.inc"
    ;
static constexpr StringRef keySource = "#define OWNS_KEYS 1\n"
#include "compiler/Codegen/CUDA/Templates/attention_common.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/tensor_core.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/dropout.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_common.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_tiles.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_backward_common.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_backward_tensor.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_simt_tiles.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_backward_simt.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_backward.cuh.inc"
    ;
static constexpr StringRef embedGradSource =
#include "compiler/Codegen/CUDA/Templates/embed_grad.cuh.inc"
    ;
// clang-format on

static constexpr StringRef flashKeys[] = {"dtype",        "heads",
                                          "head_size",    "positions",
                                          "scale",        "dropout_threshold",
                                          "dropout_scale"};
static constexpr StringRef embedGradKeys[] = {"columns", "vocab", "positions"};

static LogicalResult checkDropout(DictionaryAttr config, ConfigError error) {
  int64_t threshold = configInt(config, "dropout_threshold");
  constexpr int64_t limit = int64_t(1) << 32;
  if (threshold < 0 || threshold >= limit)
    return error("dropout_threshold must be in 0..4294967295"), failure();
  return success();
}

static FailureOr<KernelGeometry>
forwardGeometry(DictionaryAttr config, int64_t rows, ConfigError error) {
  FailureOr<cuda::AttentionShape> shape = packedShape(config, rows, error);
  if (failed(shape) || failed(checkDropout(config, error)))
    return failure();
  return toGeometry(cuda::flashAttentionLaunch(*shape, rows, false));
}

template <bool ownsKeys>
static FailureOr<KernelGeometry>
backwardGeometry(DictionaryAttr config, int64_t rows, ConfigError error) {
  FailureOr<cuda::AttentionShape> shape = packedShape(config, rows, error);
  if (failed(shape) || failed(checkDropout(config, error)))
    return failure();
  return toGeometry(cuda::flashBackwardLaunch(*shape, rows, ownsKeys));
}

static FailureOr<KernelGeometry>
embedGradGeometry(DictionaryAttr config, int64_t rows, ConfigError error) {
  int64_t columns = configInt(config, "columns");
  int64_t positions = configInt(config, "positions");
  constexpr int64_t limit = int64_t(1) << 20;
  if (columns < 1 || columns > limit)
    return error("columns must be in 1..1048576"), failure();
  if (positions < 1 || rows % positions != 0)
    return error("positions must divide rows"), failure();
  int64_t vocab = configInt(config, "vocab");
  if (vocab < 1 || vocab > INT32_MAX)
    return error("vocab must be in 1..2147483647"), failure();
  if (rows < 1 || rows > INT32_MAX)
    return error("rows must be in 1..2147483647"), failure();
  return toGeometry(cuda::embedGradLaunch(columns, positions, rows));
}

const KernelTemplate &gpt2c::flashForwardTemplate() {
  static const KernelTemplate entry = {"flash_forward", forwardSource,
                                       flashKeys, forwardGeometry};
  return entry;
}

const KernelTemplate &gpt2c::flashBackwardQueryTemplate() {
  static const KernelTemplate entry = {"flash_backward_query", querySource,
                                       flashKeys, backwardGeometry<false>};
  return entry;
}

const KernelTemplate &gpt2c::flashBackwardKeyTemplate() {
  static const KernelTemplate entry = {"flash_backward_key", keySource,
                                       flashKeys, backwardGeometry<true>};
  return entry;
}

const KernelTemplate &gpt2c::embedGradTemplate() {
  static const KernelTemplate entry = {"embed_grad", embedGradSource,
                                       embedGradKeys, embedGradGeometry};
  return entry;
}
