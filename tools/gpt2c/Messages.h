//===- Messages.h - What gpt2c says on standard error -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "runtime/Support/Status.h"

namespace mlir::gpt2c {

/// One line that shows what is being done, on terminals only; the next one
/// replaces it.
class Progress {
public:
  Progress();
  ~Progress() { clear(); }
  void show(StringRef what);
  void clear();

private:
  bool isTerminal;
  bool isShown = false;
};

/// Prints the compiler's diagnostics as "gpt2c: error: ..." while it lives.
/// Only the first error is printed: the others follow from it.
class DiagnosticPrinter {
public:
  DiagnosticPrinter(MLIRContext *context, Progress &progress);

  /// The status of a stage that failed: an empty message where a diagnostic
  /// has said why.
  gpt2rt::Status status(StringRef stage) const;
  bool hasPrinted() const { return errors > 0; }

private:
  LogicalResult print(Diagnostic &diagnostic);

  Progress &progress;
  unsigned errors = 0;
  ScopedDiagnosticHandler handler;
};

/// Prints remarks that passes emit as diagnostics.
LogicalResult enableRemarks(MLIRContext &context);

} // namespace mlir::gpt2c
