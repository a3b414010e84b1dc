// Interface methods and what their defaults need.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/GPT2Interfaces.h"

using namespace mlir;

int64_t gpt2::sumBytes(TypeRange types) {
  int64_t bytes = 0;
  for (Type type : types) {
    auto tensor = cast<RankedTensorType>(type);
    bytes += tensor.getNumElements() * tensor.getElementTypeBitWidth() / 8;
  }
  return bytes;
}

#include "dialects/GPT2/GPT2Interfaces.cpp.inc"
