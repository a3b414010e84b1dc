//===- HostKernels.h - Emitted CUDA text, compiled for the host -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2_TEST_UNIT_CODEGENCUDA_HOSTKERNELS_H
#define GPT2_TEST_UNIT_CODEGENCUDA_HOSTKERNELS_H

#include "RowKernelChecks.h"
#include "dialects/Plan/PlanOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace gpt2test {

/// Every kernel of a plan module, printed as CUDA and built by the C++
/// compiler over HostShim.h.
class HostKernels : public KernelRunner {
public:
  /// Those of test/Codegen/CUDA/`file`, built once a process.
  static HostKernels &of(const std::string &file);

  /// `text` is a module of plan.kernels.
  explicit HostKernels(const std::string &text);
  ~HostKernels() override;
  HostKernels(const HostKernels &) = delete;
  HostKernels &operator=(const HostKernels &) = delete;

  /// Empty, or why there is nothing to run.
  const std::string &error() const { return message; }

  /// With the grid and block of geometryFor.
  void run(const std::string &name, std::vector<Buffer *> buffers,
           int rows) override;

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string folder;
  void *library = nullptr;
  std::string message;
};

} // namespace gpt2test

#endif // GPT2_TEST_UNIT_CODEGENCUDA_HOSTKERNELS_H
