//===- MatmulChecks.h - cuBLASLt products of training -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/BlasLt.h"
#include "test/gpu/GpuKernel.h"

namespace gpt2rt::gputest {

/// The forms that a linear layer's forward and backward passes take, against
/// double.
void checkMatmuls(Bench &bench);

/// Median microseconds of one product on random data.
double timeMatmul(Bench &bench, const cuda::MatmulShape &shape);

} // namespace gpt2rt::gputest
