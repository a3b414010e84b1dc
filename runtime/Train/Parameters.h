//===- Parameters.h - What a training plan trains ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A trained parameter `p` has an f32 master in the plan and two moments, `p.m`
// and `p.v`, of the same layout; copies in 16 bits follow the master. Files
// hold all three in the layout of Hugging Face's checkpoints.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Plan/Plan.h"

namespace gpt2rt {

struct Parameter {
  std::string name; ///< in a checkpoint: "transformer.h.0.ln_1.weight"
  uint32_t value = 0, moment1 = 0, moment2 = 0; ///< buffers
  /// The file's shape; columns are 0 for a vector.
  uint64_t rows = 0, cols = 0;
  bool transpose = false;              ///< the plan holds [cols, rows]
  uint64_t planRows = 0, planCols = 0; ///< of the padded buffers

  std::vector<uint64_t> shape() const {
    return cols ? std::vector{rows, cols} : std::vector{rows};
  }
  uint64_t fileSize() const { return cols ? rows * cols : rows; }
  uint64_t planSize() const { return planRows * planCols; }
};

/// Every trained parameter, as the plan lists them. Fails for plans without
/// moments.
Result<std::vector<Parameter>> findParameters(const Plan &plan);

/// planSize() floats to fileSize() floats, leaving out the padding.
void toFileLayout(const Parameter &parameter, const float *plan, float *file);
/// The inverse; padding becomes 0.
void toPlanLayout(const Parameter &parameter, const float *file, float *plan);

} // namespace gpt2rt
