//===- FakeBlas.h - A cuBLASLt whose algorithms a test makes up -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/BlasLt.h"
#include "test/unit/CUDA/FakeGpu.h"

namespace gpt2rt::test {

struct FakeBlas {
  struct Algorithm {
    uint64_t id; ///< the first of its words
    double milliseconds;
    uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_NONE;
    bool isStable = true; ///< leaves the same result every time
    bool isRefused = false;
    uint64_t workspace = 0;
  };

  explicit FakeBlas(FakeGpu &gpu);
  ~FakeBlas();

  uint64_t version = 130100;
  std::vector<Algorithm> algorithms; ///< the heuristic's first choice first
  std::vector<uint64_t> runs;        ///< ids, also of what a graph replays

  /// Functions over this object. One FakeBlas at a time.
  cuda::BlasLtTable table();

  FakeGpu &gpu;
};

} // namespace gpt2rt::test
