//===- Driver.h - From a command line to a plan file ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/gpt2c/CommandLine.h"

namespace mlir::gpt2c {

/// Compiles and writes what the command line asks for. The status is for the
/// caller to print, unless its message is empty: then a diagnostic has been.
gpt2rt::Status runCompiler(const CommandLine &line);

} // namespace mlir::gpt2c
