//===- Commands.h - The subcommands of gpt2-run -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"

#include <CLI/CLI.hpp>

#include <functional>

namespace gpt2rt::tool {

/// What a subcommand does once its flags are read.
using Command = std::function<Status()>;

// Each declares one subcommand and returns what runs it.
Command addGenerate(CLI::App &app);
Command addEval(CLI::App &app);
Command addBench(CLI::App &app);
Command addProfile(CLI::App &app);
Command addTune(CLI::App &app);
Command addTrain(CLI::App &app);
Command addTokenize(CLI::App &app);
Command addInspect(CLI::App &app);
Command addDoctor(CLI::App &app);

} // namespace gpt2rt::tool
