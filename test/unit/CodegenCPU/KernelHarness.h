// Compiles plan.kernel text and calls the result in this process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Codegen/CPU/CPUCodegen.h"
#include "test/unit/CodegenCPU/Tensor.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpt2test {

/// A context with everything that kernels need.
class KernelContext {
public:
  KernelContext();

  /// A module of plan.kernels, or of functions around one decomposable gpt2 op
  /// each, which becomes a kernel of the function's name. Null if `text` does
  /// not parse.
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text);

  /// Compiles what `parse` gives. On failure returns nothing and keeps the
  /// diagnostics.
  std::optional<mlir::gpt2c::CompiledCode>
  compile(const std::string &text,
          const mlir::gpt2c::CpuCodegenOptions &options = {});

  const std::string &diagnostics() const { return messages; }

private:
  mlir::MLIRContext context;
  std::string messages;
};

/// A shared object loaded from memory.
class LoadedKernels {
public:
  explicit LoadedKernels(const std::string &bytes);
  ~LoadedKernels();
  LoadedKernels(const LoadedKernels &) = delete;

  void call(const std::string &name, const std::vector<void *> &buffers,
            int64_t rowBegin, int64_t rowEnd) const;

private:
  void *handle = nullptr;
};

/// Architectures that this machine can run, lowest first.
std::vector<std::string> runnableArchs();

using Tensors = std::vector<Tensor>;

/// Compiles `text` and calls kernel @k once for [0, units) and once for every
/// unit alone, the last first, on every architecture that runs here: a unit is
/// a row, or a block of rows in a kernel with column results. Expects the same
/// bytes each time and returns them; `shapes` are the outputs.
Tensors runKernel(const std::string &text, Tensors inputs,
                  const Tensors &shapes, int64_t units);

} // namespace gpt2test
