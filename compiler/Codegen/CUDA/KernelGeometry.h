//===- KernelGeometry.h - How a kernel is launched --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2C_CODEGEN_CUDA_KERNELGEOMETRY_H
#define GPT2C_CODEGEN_CUDA_KERNELGEOMETRY_H

#include "llvm/Support/LogicalResult.h"

#include <cstdint>

namespace mlir::plan {
class KernelOp;
}

namespace mlir::gpt2c {

/// blockThreads and dynamicSharedBytes depend on the kernel alone; the grid
/// and the workspace may depend on the launch's rows too.
struct KernelGeometry {
  unsigned blockThreads = 0;
  unsigned dynamicSharedBytes = 0;
  unsigned gridX = 1;
  unsigned gridY = 1;
  unsigned gridZ = 1;
  /// Bytes of the workspace buffer that the kernel takes, 0 if it takes none.
  int64_t workspaceBytes = 0;
};

/// The launch geometry for `rows` rows (the kernel's `int rows` argument). A
/// kernel that no emitter or template can serve is an error on the op.
llvm::FailureOr<KernelGeometry> geometryFor(plan::KernelOp kernel,
                                            int64_t rows);

/// The fewest rows that a launch of the kernel may have, and what all others
/// are multiples of: one, one sequence (`positions`) or all row blocks.
int64_t rowUnit(plan::KernelOp kernel);

} // namespace mlir::gpt2c

#endif // GPT2C_CODEGEN_CUDA_KERNELGEOMETRY_H
