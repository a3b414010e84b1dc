//===- MemoryAdvice.cpp - What to change where memory is short ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Device/MemoryAdvice.h"

using namespace gpt2rt;

std::string gpt2rt::memoryAdvice(const Plan &plan, uint64_t bytes) {
  if (plan.root().mode() == fb::Mode::Train && bytes >> 20 > 0)
    return strCat("compile with --memory-budget=", bytes >> 20,
                  "MiB, which says what must change where nothing fits");
  if (plan.root().precision() == fb::Precision::FP16 ||
      plan.root().precision() == fb::Precision::BF16)
    return "compile with a smaller --batch";
  return "compile with --precision=bf16 or a smaller --batch";
}
