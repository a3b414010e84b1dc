//===- Upload.h - Weights from the host to a GPU ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/Context.h"

#include <functional>
#include <span>

namespace gpt2rt::cuda {

/// A parameter and how to make any range of its rows. `fill` is called from
/// several threads at once.
struct Upload {
  CUdeviceptr to = 0;
  uint64_t rows = 0;
  uint64_t rowBytes = 0;
  std::function<void(uint64_t begin, uint64_t end, std::byte *out)> fill;
};

/// Fills parameters: threads convert row ranges into page-locked staging
/// memory while earlier ranges travel. Returns when all has arrived.
Status uploadAll(const Context &context, std::span<const Upload> uploads);

} // namespace gpt2rt::cuda
