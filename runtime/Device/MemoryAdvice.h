//===- MemoryAdvice.h - What to change where memory is short ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Plan/Plan.h"

namespace gpt2rt {

/// How to compile a plan anew for a device that has `bytes` for its arenas.
std::string memoryAdvice(const Plan &plan, uint64_t bytes);

} // namespace gpt2rt
