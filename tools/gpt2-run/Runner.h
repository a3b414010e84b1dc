//===- Runner.h - A plan with weights, ready to run -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Executor.h"
#include "runtime/Text/Tokenizer.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <optional>

namespace gpt2rt::tool {

/// The flags that every command with a plan and weights has.
struct RunnerFlags {
  std::string plan;
  std::string model;
  bool randomWeights = false;
  uint64_t weightSeed = 0;
  int threads = 0;
  int device = 0;

  void add(CLI::App &app);
  /// The plan and the machine, for commands that have weights of their own.
  void addMachine(CLI::App &app);
};

/// A loaded plan, its executor and its weights.
class Runner {
public:
  static Result<Runner> open(const RunnerFlags &flags);

  /// The same without weights, for a plan of one mode.
  static Result<Runner> load(const RunnerFlags &flags, fb::Mode mode);

  const Plan &plan() const { return *loaded; }
  Executor &executor() const { return *target; }
  /// "NVIDIA H200", or the CPU's name.
  std::string deviceName() const;
  /// Reading the plan, allocating, and laying out the weights.
  double loadSeconds() const { return seconds; }

  /// On standard error: predicted, allocated and reserve, and on a line of its
  /// own the driver's context, where there is one.
  void printMemory() const;
  /// {"predicted_bytes": ..., "allocated_bytes": ..., "reserve_bytes": ...,
  /// "context_bytes": ..., "arenas": [...]}
  nlohmann::json memoryJson() const;

private:
  Runner() = default;
  Status loadPlan(const RunnerFlags &flags);
  Status createTarget(const RunnerFlags &flags);

  std::unique_ptr<Plan> loaded; // the executor keeps its address
  std::unique_ptr<Executor> target;
  int device = 0;
  double seconds = 0;
};

/// The plan's sizes against the model's configuration: weights of another
/// model may fit in shape and still be wrong (fewer layers, say).
Status checkModel(const Plan &plan, const std::string &model);

/// The tokenizer of a model directory, or null where the directory has none.
Result<std::unique_ptr<Tokenizer>> loadTokenizer(const std::string &model);

/// "1,2,3" as token ids; `flag` is named in errors.
Result<std::vector<int32_t>> parseIds(std::string_view text,
                                      std::string_view flag);

/// A file's text, or standard input's where the path is "-".
Result<std::string> readInput(const std::string &path);

/// One line of JSON on standard output.
void printJson(const nlohmann::json &value);

/// "474.7 MiB".
std::string formatBytes(uint64_t bytes);

} // namespace gpt2rt::tool
