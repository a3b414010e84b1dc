// Interface methods and what their defaults need.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/GPT2Interfaces.h"

using namespace mlir;

bool gpt2::isUsableShape(RankedTensorType type) {
  constexpr int64_t maxElements = int64_t(1) << 40;
  int64_t elements = 1;
  for (int64_t size : type.getShape()) {
    // A dynamic size is negative.
    if (size < 1 || size > std::numeric_limits<int32_t>::max() ||
        size > maxElements / elements)
      return false;
    elements *= size;
  }
  return true;
}

int64_t gpt2::sumBytes(TypeRange types) {
  int64_t bytes = 0;
  for (Type type : types) {
    auto tensor = cast<RankedTensorType>(type);
    bytes += tensor.getNumElements() * tensor.getElementTypeBitWidth() / 8;
  }
  return bytes;
}

#include "dialects/GPT2/GPT2Interfaces.cpp.inc"
