//===- UnfusedPlan.h - Plans whose ops are a kernel each --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace gpt2test {

/// Compiles a model for training on the CPU in fp32 through every stage of the
/// pipeline but fusion, which gpt2c has no flag for. Returns what went wrong.
std::string compileUnfused(const std::string &model, int64_t batch, int64_t seq,
                           double dropout, const std::string &plan);

} // namespace gpt2test
