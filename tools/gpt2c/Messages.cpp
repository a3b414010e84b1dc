//===- Messages.cpp - What gpt2c says on standard error
//---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "tools/gpt2c/Messages.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace mlir;
using namespace mlir::gpt2c;

Progress::Progress() : isTerminal(isatty(STDERR_FILENO)) {}

void Progress::show(StringRef what) {
  if (!isTerminal)
    return;
  clear();
  llvm::errs() << "gpt2c: " << what << " ...";
  isShown = true;
}

void Progress::clear() {
  // Back to the first column, and erase to the end of the line.
  if (isShown)
    llvm::errs() << "\r\033[K";
  isShown = false;
}

DiagnosticPrinter::DiagnosticPrinter(MLIRContext *context, Progress &progress)
    : progress(progress), handler(context, [this](Diagnostic &diagnostic) {
        return print(diagnostic);
      }) {}

LogicalResult DiagnosticPrinter::print(Diagnostic &diagnostic) {
  StringRef severity = "remark";
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
    if (++errors > 1)
      return success();
    severity = "error";
  } else if (diagnostic.getSeverity() == DiagnosticSeverity::Warning) {
    severity = "warning";
  } else if (diagnostic.getSeverity() == DiagnosticSeverity::Note) {
    return success();
  }
  progress.clear();
  llvm::errs() << "gpt2c: ";
  if (auto loc = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
    llvm::errs() << loc.getFilename().getValue() << ':' << loc.getLine() << ':'
                 << loc.getColumn() << ": ";
  llvm::errs() << severity << ": " << diagnostic << '\n';
  return success();
}

gpt2rt::Status DiagnosticPrinter::status(StringRef stage) const {
  if (hasPrinted())
    return gpt2rt::Status(gpt2rt::ErrorCode::InvalidArgument, "");
  return gpt2rt::internalError("failed while ", std::string_view(stage),
                               " without saying why");
}

LogicalResult mlir::gpt2c::enableRemarks(MLIRContext &context) {
  // `all` alone enables nothing: each kind of remark has its own filter too.
  const std::string any = ".*";
  remark::RemarkCategories categories = {any, any, any, any, any};
  return remark::enableOptimizationRemarks(
      context, /*streamer=*/nullptr,
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories,
      /*printAsEmitRemarks=*/true);
}
