// Evaluates decompositions in double arithmetic, so that gradients can be
// compared with finite differences.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/unit/GPT2/Matrix.h"

#include "mlir/IR/MLIRContext.h"

#include <string>

namespace gpt2test {

class RegionEvaluator {
public:
  RegionEvaluator();

  /// Outlines the row kernel that function @k of `text` holds and runs it over
  /// all rows at once: inputs and results are in the order of the kernel, a
  /// column result is one row. Every float operation is done in double; a
  /// rounding to a narrower type is left out. Fails the test on an error.
  Matrices run(const std::string &text, const Matrices &inputs, int64_t rows);

private:
  mlir::MLIRContext context;
};

} // namespace gpt2test
