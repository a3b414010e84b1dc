//===- Fit.cpp - A training plan for a device and a batch -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "models/ModelConfig.h"
#include "runtime/Device/GpuReserve.h"
#include "runtime/Support/ByteSize.h"
#include "tools/gpt2c/Advice.h"

using namespace mlir;
using namespace mlir::gpt2c;
using gpt2rt::formatByteSize;
using gpt2rt::Result;
using gpt2rt::Status;
using gpt2rt::strCat;
using plan::ArenaKind;

namespace {

/// Tokens of a micro-batch from which on more make a step hardly faster.
constexpr int64_t cudaEnoughTokens = 8192, cpuEnoughTokens = 1024;

/// Largest number that --batch takes.
constexpr int64_t mostSequences = 4096;

class Fitter {
public:
  Fitter(Planner &planner, CommandLine &line) : planner(planner), line(line) {}

  Result<FittedPlan> run();

private:
  Status findSequences();
  /// Micro-batches that divide the step, best first, from what one sequence
  /// takes when everything is kept and when as little as possible is.
  Result<std::vector<int64_t>> rankBatches();
  std::string explain(const PlannedModule &planned) const;
  /// What the device holds beside the plan's arenas.
  uint64_t reserve() const {
    return line.cuda ? gpt2rt::gpuReserveBytes(*line.fit) : 0;
  }

  Planner &planner;
  CommandLine &line;
  int64_t seq = 0, sequences = 0; ///< tokens a sequence, sequences a step
};

Status Fitter::findSequences() {
  GPT2_ASSIGN_OR_RETURN(gpt2rt::ModelConfig config,
                        gpt2rt::resolveModelConfig(line.model));
  seq = line.seq ? line.seq : config.nPositions;
  sequences = line.tokensPerStep / seq;
  if (sequences * seq == line.tokensPerStep)
    return Status();
  return gpt2rt::invalidArgument("--tokens-per-step=", line.tokensPerStep,
                                 " is no multiple of --seq=", seq, "; try ",
                                 std::max<int64_t>(1, sequences) * seq);
}

Result<std::vector<int64_t>> Fitter::rankBatches() {
  auto batchOf = [&](const PlannedModule &planned) {
    uint64_t perSequence =
        std::max<uint64_t>(1, planned.memory[ArenaKind::Activations]);
    uint64_t fixed = planned.memory.total() - perSequence;
    uint64_t left = *line.memoryBudget - std::min(*line.memoryBudget, fixed);
    return static_cast<int64_t>(
        std::min<uint64_t>(left / perSequence, mostSequences));
  };
  CommandLine one = line;
  one.batch = 1;
  GPT2_ASSIGN_OR_RETURN(PlannedModule least, planner.plan(one, /*least=*/true));
  one.remat = RematMode::None;
  GPT2_ASSIGN_OR_RETURN(PlannedModule all, planner.plan(one));
  int64_t most = batchOf(least), kept = batchOf(all);
  int64_t enough = (line.cuda ? cudaEnoughTokens : cpuEnoughTokens) / seq;

  // The largest that keeps everything; larger ones only until the device is
  // busy; then smaller and smaller ones.
  std::vector<int64_t> larger, smaller;
  for (int64_t batch = std::min(sequences, mostSequences); batch > 0; --batch) {
    if (sequences % batch != 0)
      continue;
    if (batch <= kept || batch == 1)
      smaller.push_back(batch);
    else if (batch <= most)
      larger.insert(larger.begin(), batch);
  }
  int64_t best = smaller.empty() ? 0 : smaller.front();
  std::vector<int64_t> ranked;
  for (int64_t batch : larger)
    if (best < enough) {
      ranked.insert(ranked.begin(), batch);
      best = batch;
    }
  ranked.insert(ranked.end(), smaller.begin(), smaller.end());
  return ranked;
}

std::string Fitter::explain(const PlannedModule &planned) const {
  std::string text = strCat("chosen for ", formatByteSize(*line.fit), " and ",
                            line.tokensPerStep, " tokens a step\n");
  if (line.cuda)
    text += strCat("  reserve            ", formatByteSize(reserve()),
                   ": the driver, its context, kernels and graphs\n");
  text += strCat("  precision          ", line.precision,
                 line.hasPrecision ? ": as given\n"
                 : line.cuda       ? ": half the activations, no loss scale\n"
                                   : ": as exact as the CPU is\n");
  bool keepsAll = planned.remat == RematMode::None;
  text +=
      strCat("  micro-batch        ", line.batch, " x ", seq, " tokens: ",
             line.batch == sequences ? "the whole step"
             : keepsAll              ? "the largest that keeps every activation"
                        : "enough to keep the device busy, or all that fits",
             "\n");
  text += strCat("  accumulation       ", sequences / line.batch,
                 " micro-batches a step\n");
  text += strCat("  rematerialization  ", describeRemat(planned), "\n");
  return text;
}

Result<FittedPlan> Fitter::run() {
  GPT2_RETURN_IF_ERROR(findSequences());
  if (*line.fit <= reserve())
    return gpt2rt::invalidArgument(
        "--fit=", formatByteSize(*line.fit), " leaves nothing beside the ",
        formatByteSize(reserve()), " that the CUDA driver takes");
  line.memoryBudget = *line.fit - reserve();
  if (!line.hasPrecision && line.cuda)
    line.precision = "bf16";
  // Lean storage adds up no micro-batches: it is for a step of one.
  std::optional<Storage> given = line.storage;
  line.storage = given.value_or(Storage::Full);
  GPT2_ASSIGN_OR_RETURN(std::vector<int64_t> batches, rankBatches());
  batches.push_back(0);
  FittedPlan fitted;
  for (int64_t batch : batches) {
    if (batch == 0 && sequences > mostSequences)
      break;
    line.batch = batch == 0 ? sequences : batch;
    if (batch == 0)
      line.storage = given;
    GPT2_ASSIGN_OR_RETURN(fitted.planned, planner.plan(line));
    if (!fitted.planned.fits)
      continue;
    fitted.notes = explain(fitted.planned);
    break;
  }
  return fitted;
}

} // namespace

Result<FittedPlan> mlir::gpt2c::chooseFit(Planner &planner, CommandLine &line) {
  return Fitter(planner, line).run();
}
