//===- AttentionTemplates.cpp - decode, flash and cache kernels -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Templates/TemplateGeometry.h"
#include "compiler/Codegen/CUDA/Templates/Templates.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace mlir::gpt2c;
using llvm::StringRef;

// The order of these includes is the order of the text.
// clang-format off
static constexpr StringRef decodeSource =
#include "compiler/Codegen/CUDA/Templates/attention_common.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/decode_attention.cuh.inc"
    ;
static constexpr StringRef flashSource =
#include "compiler/Codegen/CUDA/Templates/attention_common.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/tensor_core.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/dropout.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_common.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_tiles.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_tensor.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_simt_tiles.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_simt.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/flash_attention.cuh.inc"
    ;
static constexpr StringRef cacheSource =
#include "compiler/Codegen/CUDA/Templates/attention_common.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/cache_append.cuh.inc"
    ;
// clang-format on

static constexpr StringRef cacheKeys[] = {"dtype", "heads", "head_size",
                                          "positions"};
static constexpr StringRef decodeKeys[] = {"dtype", "heads", "head_size",
                                           "positions", "scale"};
static constexpr StringRef flashKeys[] = {"dtype",     "heads", "head_size",
                                          "positions", "scale", "cached"};

/// Bytes of a dtype that the attention kernels serve, else 0.
static unsigned attentionElementBytes(Attribute dtype) {
  auto attr = dyn_cast_or_null<TypeAttr>(dtype);
  if (!attr)
    return 0;
  if (attr.getValue().isF32() || attr.getValue().isTF32())
    return 4;
  return attr.getValue().isF16() || attr.getValue().isBF16() ? 2 : 0;
}

FailureOr<cuda::AttentionShape>
gpt2c::attentionShape(DictionaryAttr config, int64_t rows, ConfigError error) {
  cuda::AttentionShape shape;
  shape.elementBytes = attentionElementBytes(config.get("dtype"));
  shape.heads = configInt(config, "heads");
  shape.headSize = configInt(config, "head_size");
  shape.positions = configInt(config, "positions");
  if (!shape.elementBytes)
    return error("dtype must be f32, tf32, f16 or bf16"), failure();
  shape.tf32 = config.getAs<TypeAttr>("dtype").getValue().isTF32();
  // Grid dimensions y and z end at 65535.
  if (shape.heads < 1 || shape.heads > 65535)
    return error("heads must be in 1..65535"), failure();
  if (shape.headSize < 1 || shape.headSize > cuda::maxHeadSize)
    return error("head_size must be in 1.." + llvm::Twine(cuda::maxHeadSize)),
           failure();
  if (shape.positions < 1 || shape.positions > (1 << 20))
    return error("positions must be in 1..1048576"), failure();
  if (rows < 1)
    return error("rows must be positive"), failure();
  return shape;
}

KernelGeometry gpt2c::toGeometry(const cuda::LaunchShape &launch) {
  return {launch.blockThreads, launch.dynamicSharedBytes,
          launch.grid[0],      launch.grid[1],
          launch.grid[2],      launch.workspaceBytes};
}

FailureOr<cuda::AttentionShape>
gpt2c::packedShape(DictionaryAttr config, int64_t rows, ConfigError error) {
  FailureOr<cuda::AttentionShape> shape = attentionShape(config, rows, error);
  if (failed(shape))
    return failure();
  if (rows % shape->positions != 0)
    return error("rows must be a multiple of positions where keys are not "
                 "cached"),
           failure();
  if (rows / shape->positions > 65535)
    return error("a flash kernel takes at most 65535 sequences"), failure();
  return shape;
}

/// Of kernels without matrix products, whose floats are floats.
static FailureOr<cuda::AttentionShape>
vectorShape(DictionaryAttr config, int64_t rows, ConfigError error) {
  FailureOr<cuda::AttentionShape> shape = attentionShape(config, rows, error);
  if (succeeded(shape) && shape->tf32)
    return error("dtype tf32 is for flash kernels, use f32"), failure();
  return shape;
}

static FailureOr<KernelGeometry>
decodeGeometry(DictionaryAttr config, int64_t rows, ConfigError error) {
  FailureOr<cuda::AttentionShape> shape = vectorShape(config, rows, error);
  if (failed(shape))
    return failure();
  if (rows > 65535)
    return error("decode_attention takes at most 65535 rows"), failure();
  return toGeometry(cuda::decodeAttentionLaunch(*shape, rows));
}

static FailureOr<KernelGeometry>
flashGeometry(DictionaryAttr config, int64_t rows, ConfigError error) {
  bool cached = configInt(config, "cached") != 0;
  FailureOr<cuda::AttentionShape> shape =
      (cached ? attentionShape : packedShape)(config, rows, error);
  if (failed(shape))
    return failure();
  return toGeometry(cuda::flashAttentionLaunch(*shape, rows, cached));
}

static FailureOr<KernelGeometry>
cacheGeometry(DictionaryAttr config, int64_t rows, ConfigError error) {
  if (failed(vectorShape(config, rows, error)))
    return failure();
  return toGeometry(cuda::cacheAppendLaunch(rows));
}

const KernelTemplate &gpt2c::decodeAttentionTemplate() {
  static const KernelTemplate entry = {"decode_attention", decodeSource,
                                       decodeKeys, decodeGeometry};
  return entry;
}

const KernelTemplate &gpt2c::flashAttentionTemplate() {
  static const KernelTemplate entry = {"flash_attention", flashSource,
                                       flashKeys, flashGeometry};
  return entry;
}

const KernelTemplate &gpt2c::cacheAppendTemplate() {
  static const KernelTemplate entry = {"cache_append", cacheSource, cacheKeys,
                                       cacheGeometry};
  return entry;
}
