//===- Tuning.h - Measured algorithms in a plan -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Plan/Plan.h"

#include <array>

namespace gpt2rt {

/// An algorithm of cuBLASLt, opaque.
using AlgorithmWords = std::array<uint64_t, 8>;

/// Products that one algorithm serves, and what measuring found.
struct TunedMatmul {
  struct Place {
    uint32_t program, instruction;
  };
  std::string what;
  std::vector<Place> places;
  AlgorithmWords algorithm = {};
  unsigned candidates = 0; ///< algorithms that were measured
  double before = 0;       ///< seconds with the heuristic's choice
  double after = 0;        ///< seconds with `algorithm`
};

struct MatmulTuning {
  std::string device;
  uint64_t library = 0; ///< cublasLtGetVersion()
  std::vector<TunedMatmul> matmuls;
};

/// The bytes of a plan file like `plan`, with these algorithms instead of any
/// that it has.
Result<std::string> withTuning(const Plan &plan, const MatmulTuning &tuning);

} // namespace gpt2rt
