//===- Inspect.h - A plan as JSON -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Plan/Plan.h"

#include <nlohmann/json_fwd.hpp>

#include <vector>

namespace gpt2rt::tool {

/// Every LoadWeight of the plan, in order.
std::vector<const fb::LoadWeight *> weightsOf(const Plan &plan);

/// All of the plan but its machine code.
nlohmann::json planJson(const Plan &plan);

} // namespace gpt2rt::tool
