//===- CommandLine.h - gpt2c's flags ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Transforms/Passes.h"
#include "runtime/Support/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlir::gpt2c {

enum class Mode { Generate, Eval, Train };
/// What training keeps of 16-bit weights and gradients: see lean-storage.
enum class Storage { Full, Lean };
enum class Emit { PlanFile, GPT2, Plan, Cuda, PlanText };

/// The command line, checked as far as that needs no model.
struct CommandLine {
  std::string model;
  std::string output;
  Mode mode = Mode::Generate;
  bool cuda = false; // --target
  std::vector<std::string> archs;
  int64_t batch = 1;
  int64_t seq = 0;                 // 0: all that the model has
  std::vector<int64_t> seqBuckets; // --seq-buckets
  bool halveSeq = false;           // --seq-buckets=auto
  int64_t chunk = 0;               // 0: the target's default
  std::optional<double> dropout;   // in place of the model's
  std::string precision = "fp32";
  bool hasPrecision = false; // --precision is given
  std::optional<Storage> storage;
  std::optional<int64_t> headChunks; // --lm-head-chunks; 0: auto
  std::optional<RematMode> remat;
  std::string costTable;                // --remat-costs
  std::optional<uint64_t> memoryBudget; // bytes
  std::optional<uint64_t> fit;          // bytes of the device
  int64_t tokensPerStep = 0;            // for --fit
  Emit emit = Emit::PlanFile;
  bool remarks = false;
  unsigned threads = 0;
  /// As it was typed, to show how it would have to be.
  std::vector<std::string> arguments;
  /// --mlir-...: flags of MLIR itself, checked by MLIR.
  std::vector<std::string> mlirFlags;
};

/// Nothing where a flag such as --help has been answered already.
gpt2rt::Result<std::optional<CommandLine>> parseCommandLine(int argc,
                                                            char **argv);

} // namespace mlir::gpt2c
