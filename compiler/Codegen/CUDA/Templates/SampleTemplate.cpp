//===- SampleTemplate.cpp - The sampling kernel ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Templates/Templates.h"

#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace mlir::gpt2c;
using llvm::StringRef;

// The arithmetic is the very text that the CPU target compiles. The order of
// these includes is the order of the text.
// clang-format off
static constexpr StringRef sampleSource =
#include "compiler/Codegen/CUDA/Templates/sample_types.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/SamplingMath.h.inc"
#include "compiler/Codegen/CUDA/Templates/sample.cuh.inc"
    ;
// clang-format on

static constexpr StringRef sampleKeys[] = {"vocab", "padded_vocab",
                                           "positions_limit", "prefill"};

static FailureOr<KernelGeometry>
sampleGeometry(DictionaryAttr config, int64_t rows, ConfigError error) {
  int64_t vocab = configInt(config, "vocab");
  int64_t padded = configInt(config, "padded_vocab");
  if (vocab < 1 || vocab > cuda::maxSampleVocab)
    return error("vocab must be in 1.." + llvm::Twine(cuda::maxSampleVocab)),
           failure();
  if (padded < vocab || padded % 4 != 0)
    return error("padded_vocab must be a multiple of 4 and at least vocab"),
           failure();
  if (configInt(config, "positions_limit") < 1)
    return error("positions_limit must be positive"), failure();
  if (rows < 1 || rows > 65535)
    return error("sample takes 1..65535 rows"), failure();
  return toGeometry(cuda::sampleLaunch(rows));
}

const KernelTemplate &gpt2c::sampleTemplate() {
  static const KernelTemplate entry = {"sample", sampleSource, sampleKeys,
                                       sampleGeometry};
  return entry;
}
