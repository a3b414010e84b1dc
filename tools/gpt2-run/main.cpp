//===- main.cpp - gpt2-run: loads plans and runs them ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "tools/gpt2-run/Commands.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

using namespace gpt2rt;
using namespace gpt2rt::tool;

namespace {

int fail(const Status &status) {
  std::fflush(stdout);
  std::fprintf(stderr, "gpt2-run: %s\n", status.message().c_str());
  return exitCode(status);
}

/// A full disk must not pass for success.
Status flushOutput() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return Status::okStatus();
  return resourceExhausted("cannot write the output: ", std::strerror(errno));
}

/// CLI11's errors as one line that says where help is.
int failParse(const CLI::App &app, const CLI::ParseError &error) {
  std::vector<std::string> unknown = app.remaining(), commands;
  if (app.get_subcommands().empty() && !unknown.empty()) {
    for (const CLI::App *sub : app.get_subcommands({}))
      commands.push_back(sub->get_name());
    std::string nearest = nearestName(unknown[0], commands);
    return fail(invalidArgument("unknown command ", quote(unknown[0]),
                                nearest.empty() ? "" : ", did you mean '",
                                nearest, nearest.empty() ? "" : "'?",
                                " (see gpt2-run --help)"));
  }
  std::string where = "gpt2-run";
  for (const CLI::App *sub : app.get_subcommands())
    where += " " + sub->get_name();
  return fail(invalidArgument(error.what(), " (see ", where, " --help)"));
}

int run(int argc, char **argv) {
  CLI::App app("Runs GPT-2 plans made by gpt2c: on a CPU, or on an NVIDIA GPU.",
               "gpt2-run");
  app.require_subcommand(1);
  app.set_version_flag("--version", GPT2_VERSION);
  std::vector<std::pair<CLI::App *, Command>> commands;
  for (auto add : {addGenerate, addEval, addTrain, addBench, addProfile,
                   addTune, addTokenize, addInspect, addDoctor}) {
    Command command = add(app);
    commands.emplace_back(app.get_subcommands({}).back(), std::move(command));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &help) { // --help and --version
    return app.exit(help);
  } catch (const CLI::ParseError &error) {
    return failParse(app, error);
  }
  for (auto &[sub, command] : commands) {
    if (!sub->parsed())
      continue;
    Status status = command();
    Status flushed = flushOutput();
    if (status.ok() && flushed.ok())
      return 0;
    return fail(status.ok() ? flushed : status);
  }
  return fail(internalError("no subcommand was run"));
}

} // namespace

int main(int argc, char **argv) {
  // Our own code throws nothing, but containers do when memory is out.
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc &) {
    return fail(resourceExhausted("out of memory"));
  } catch (const std::exception &error) {
    return fail(internalError("unexpected: ", error.what()));
  }
}
