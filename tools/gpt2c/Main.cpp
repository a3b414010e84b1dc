//===- Main.cpp - gpt2c: from a model to a plan file
//------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "tools/gpt2c/CommandLine.h"
#include "tools/gpt2c/Driver.h"

#include <cstdio>

using namespace mlir::gpt2c;

static gpt2rt::Status run(int argc, char **argv) {
  GPT2_ASSIGN_OR_RETURN(std::optional<CommandLine> line,
                        parseCommandLine(argc, argv));
  return line ? runCompiler(*line) : gpt2rt::Status();
}

int main(int argc, char **argv) {
  gpt2rt::Status status = run(argc, argv);
  // An empty message: a diagnostic has said it.
  if (!status.ok() && !status.message().empty())
    std::fprintf(stderr, "gpt2c: error: %s\n", status.message().c_str());
  return gpt2rt::exitCode(status);
}
