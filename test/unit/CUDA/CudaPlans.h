//===- CudaPlans.h - Small plans for the CUDA target ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "test/unit/Plan/TestPlans.h"

namespace gpt2rt::test {

/// generatePlan() as select-cuda-kernels leaves it: what the CUDA target has
/// kernels for has become launches of one, and so have products unless they are
/// to stay.
fb::PlanT cudaPlan(const std::string &arch = "sm_90a",
                   bool keepsProducts = false);

} // namespace gpt2rt::test
