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

#include <map>
#include <string>
#include <vector>

namespace gpt2test {

/// Every kernel of a plan module, printed as CUDA and built by the C++
/// compiler over HostShim.h when it is first run.
class HostKernels : public KernelRunner {
public:
  /// Those of test/Codegen/CUDA/`file`, kept for the process.
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
  struct Unit {
    std::string source;
    void *library = nullptr;
  };

  /// One unit of all generated kernels, the first, and one of each template,
  /// because templates share macros and the names of their namespaces.
  void addUnits();
  /// The unit's library; null, and why in `message`.
  void *build(unsigned number);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Unit> units;
  std::map<std::string, unsigned> unitOf; ///< by the kernel's name
  std::string folder;
  std::string message;
};

} // namespace gpt2test

#endif // GPT2_TEST_UNIT_CODEGENCUDA_HOSTKERNELS_H
