//===- Planner.cpp - From a command line to a planned module --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "tools/gpt2c/Planner.h"

#include "compiler/Transforms/RematerializeModel.h"
#include "dialects/Plan/PlanOps.h"
#include "mlir/Pass/PassManager.h"
#include "models/Import.h"
#include "llvm/ADT/StringSwitch.h"

#include <numeric>

using namespace mlir;
using namespace mlir::gpt2c;
using gpt2rt::Result;
using gpt2rt::Status;
using plan::ArenaKind;

MemoryUse MemoryUse::of(ModuleOp planned) {
  MemoryUse use;
  for (auto arena : planned.getOps<plan::ArenaOp>())
    use.arenas[static_cast<unsigned>(arena.getKind())] = arena.getBytes();
  return use;
}

uint64_t MemoryUse::total() const {
  return std::accumulate(arenas.begin(), arenas.end(), uint64_t(0));
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

// Prompt tokens of a prefill call, where the model has as many positions: what
// keeps the target's matmuls busy without wasting much on a short prompt.
static constexpr int64_t cpuChunk = 256, cudaChunk = 512;

/// `name` is one that parseCommandLine() let through.
static Precision precisionOf(StringRef name) {
  return llvm::StringSwitch<Precision>(name)
      .Case("tf32", Precision::TF32)
      .Case("fp16", Precision::FP16)
      .Case("bf16", Precision::BF16)
      .Default(Precision::FP32);
}

static GraphMode graphModeOf(Mode mode) {
  switch (mode) {
  case Mode::Generate:
    return GraphMode::Generate;
  case Mode::Eval:
    return GraphMode::Eval;
  case Mode::Train:
    return GraphMode::Train;
  }
  llvm_unreachable("every mode is handled");
}

/// How many positions a sequence gets and how many of them a prefill call.
static Result<BuildOptions> buildOptions(const CommandLine &line) {
  BuildOptions options;
  options.mode = graphModeOf(line.mode);
  options.dropout = line.dropout;
  options.batch = line.batch;
  options.seq = line.seq;
  options.seqBuckets.assign(line.seqBuckets.begin(), line.seqBuckets.end());
  options.halveSeq = line.halveSeq;
  options.chunk = line.chunk;
  if (options.chunk == 0 && !StringRef(line.model).ends_with(".mlir")) {
    GPT2_ASSIGN_OR_RETURN(gpt2rt::ModelConfig config,
                          gpt2rt::resolveModelConfig(line.model));
    int64_t positions = line.seq ? line.seq : config.nPositions;
    options.chunk = std::min(positions, line.cuda ? cudaChunk : cpuChunk);
  }
  return options;
}

CompileOptions mlir::gpt2c::compileOptions(const CommandLine &line) {
  CompileOptions options;
  options.target = line.cuda ? plan::Target::CUDA : plan::Target::CPU;
  options.precision = precisionOf(line.precision);
  options.training = line.mode == Mode::Train;
  options.lean = line.storage == Storage::Lean;
  options.headChunks = std::max<int64_t>(line.headChunks.value_or(1), 1);
  options.remat = line.remat.value_or(RematMode::None);
  options.rematCosts = line.costTable;
  options.archs = line.archs;
  options.threads = line.threads;
  return options;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

Result<OwningOpRef<ModuleOp>> Planner::import(const CommandLine &line) {
  progress.show("reading the model");
  GPT2_ASSIGN_OR_RETURN(BuildOptions build, buildOptions(line));
  return importModel(context, line.model, build);
}

Status Planner::runStages(ModuleOp module, ArrayRef<Stage> stages,
                          const CompileOptions &options) {
  TimingScope scope = timing.getRootScope();
  for (const Stage &stage : stages) {
    progress.show(stage.name);
    PassManager pm(&context);
    if (failed(applyPassManagerCLOptions(pm)))
      return gpt2rt::invalidArgument("MLIR refuses the given --mlir flags");
    TimingScope stageScope = scope.nest(stage.name);
    pm.enableTiming(stageScope);
    stage.addPasses(pm, options);
    if (failed(pm.run(module)))
      return diagnostics.status(stage.name);
  }
  return Status();
}

Result<PlannedModule> Planner::finish(ModuleOp module,
                                      const CompileOptions &options) {
  PlannedModule planned;
  planned.module = cast<ModuleOp>(module->clone());
  planned.remat = options.remat;
  planned.lean = options.lean;
  planned.headChunks = options.headChunks;
  GPT2_RETURN_IF_ERROR(runStages(*planned.module, getLastStages(), options));
  planned.memory = MemoryUse::of(*planned.module);
  return planned;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

/// Moves the budget of live activations until the planned memory fits. What the
/// rematerialization's model says of a program is close to what its plan needs,
/// but only the plan is exact.
class Planner::Search {
public:
  Search(Planner &planner, ModuleOp module, const CompileOptions &options,
         uint64_t budget)
      : planner(planner), module(module), options(options), budget(budget),
        costs(0, 0) {}

  /// The cheapest plan that fits, or the smallest one.
  Result<PlannedModule> run();
  /// The smallest one.
  Result<PlannedModule> runLeast();

private:
  Status analyze();
  /// Plans with at most `live` bytes of activations by the model's count.
  Status attempt(int64_t live);
  bool fits(const PlannedModule &planned) const {
    return planned.memory.total() <= budget;
  }
  /// Bytes of the budget that the last attempt leaves; negative: lacks.
  int64_t spare() const {
    return static_cast<int64_t>(budget) -
           static_cast<int64_t>(last.memory.total());
  }

  Planner &planner;
  ModuleOp module;
  CompileOptions options;
  uint64_t budget;
  OpCosts costs;
  std::optional<RematerializeModel> model;
  double programSeconds = 0;
  PlannedModule last;                ///< the last attempt
  std::optional<PlannedModule> best; ///< the cheapest one that fits
};

Status Planner::Search::analyze() {
  RematerializeOptions remat = rematerializeOptions(options);
  costs = OpCosts(remat.matmulRate, remat.byteRate);
  if (!remat.costTable.empty())
    if (llvm::Error error = costs.readTable(remat.costTable))
      return gpt2rt::invalidArgument(llvm::toString(std::move(error)));
  // The longest sequences need the most: what they fit in, all others do.
  func::FuncOp longest;
  for (auto function : module.getOps<func::FuncOp>()) {
    gpt2::ProgramAttr program = gpt2::getProgram(function);
    if (program && program.getRole() == gpt2::ProgramRole::Accumulate &&
        (!longest || program.getRows() > gpt2::getProgram(longest).getRows()))
      longest = function;
  }
  if (longest)
    model.emplace(longest, costs);
  if (!model || failed(model->analyze()))
    return planner.diagnostics.status("choosing what to recompute");
  programSeconds = model->costOfProgram().seconds;
  return Status();
}

Status Planner::Search::attempt(int64_t live) {
  options.remat = RematMode::Auto;
  options.rematBudget = live;
  std::optional<Rematerialization> choice = model->keepWithin(live);
  GPT2_ASSIGN_OR_RETURN(last, planner.finish(module, options));
  last.workAdded = choice->seconds / programSeconds;
  last.fits = fits(last);
  return Status();
}

Result<PlannedModule> Planner::Search::run() {
  GPT2_RETURN_IF_ERROR(analyze());
  options.remat = RematMode::None;
  GPT2_ASSIGN_OR_RETURN(last, planner.finish(module, options));
  if (fits(last))
    return std::move(last);

  // `high` is too much and `low` may be enough; both count what the model does.
  int64_t high = model->keepAll().peak, low = model->leastBudget();
  // A percent of the activations is not worth planning again.
  int64_t enough = high / 100, live = high + spare();
  constexpr int mostAttempts = 8;
  for (int i = 0; i < mostAttempts && low < high; ++i) {
    live = std::clamp(live, low, high - 1);
    GPT2_RETURN_IF_ERROR(attempt(live));
    if (last.fits && (spare() <= enough || live == high - 1))
      return std::move(last);
    if (!last.fits && live == low)
      break;
    int64_t next = live + spare();
    (last.fits ? low : high) = live;
    // What the plan lacks or leaves is a good guess; halves end what is not.
    constexpr int mostGuesses = 4;
    bool isGuess = i < mostGuesses && low < next && next < high;
    live = isGuess ? next : low + (high - low) / 2;
    if (last.fits) {
      ++low;
      best = std::move(last);
    }
  }
  if (best)
    return *std::move(best);
  int64_t least = model->leastBudget();
  if (options.rematBudget != least)
    GPT2_RETURN_IF_ERROR(attempt(least));
  return std::move(last);
}

Result<PlannedModule> Planner::Search::runLeast() {
  GPT2_RETURN_IF_ERROR(analyze());
  GPT2_RETURN_IF_ERROR(attempt(model->leastBudget()));
  return std::move(last);
}

Result<PlannedModule> Planner::plan(const CommandLine &line,
                                    const CompileOptions &options, bool least) {
  GPT2_ASSIGN_OR_RETURN(OwningOpRef<ModuleOp> module, import(line));
  GPT2_RETURN_IF_ERROR(runStages(*module, getFirstStages(), options));
  bool searches = line.memoryBudget && options.training &&
                  line.remat.value_or(RematMode::Auto) == RematMode::Auto;
  if (searches) {
    Search search(*this, *module, options, *line.memoryBudget);
    return least ? search.runLeast() : search.run();
  }
  GPT2_ASSIGN_OR_RETURN(PlannedModule planned, finish(*module, options));
  planned.fits =
      !line.memoryBudget || planned.memory.total() <= *line.memoryBudget;
  return planned;
}

/// What storage and LM head a line leaves open, in the order in which they are
/// tried: a split head costs little but adds up in another order, and lean
/// storage costs the freedom to add up micro-batches.
static SmallVector<CompileOptions> alternativesOf(const CommandLine &line) {
  CompileOptions options = compileOptions(line);
  SmallVector<CompileOptions> alternatives;
  bool isOpen = options.training && line.memoryBudget;
  bool isLow = options.precision == Precision::FP16 ||
               options.precision == Precision::BF16;
  SmallVector<bool> storages = {options.lean};
  if (isOpen && isLow && !line.storage)
    storages.push_back(true);
  SmallVector<int64_t> chunks = {line.headChunks.value_or(0)};
  if (chunks[0] == 0)
    chunks = isOpen ? SmallVector<int64_t>{1, 4, 16} : SmallVector<int64_t>{1};
  for (bool lean : storages)
    for (int64_t count : chunks) {
      options.lean = lean;
      options.headChunks = count;
      alternatives.push_back(options);
    }
  return alternatives;
}

Result<PlannedModule> Planner::plan(const CommandLine &line, bool least) {
  // --lm-head-chunks=auto compares; without it, the first that fits is taken.
  bool isCheapest = line.headChunks == 0;
  std::optional<PlannedModule> smallest, cheapest;
  for (const CompileOptions &options : alternativesOf(line)) {
    // A micro-batch may have fewer rows than that.
    if (line.seq != 0 && options.headChunks > line.batch * line.seq)
      continue;
    GPT2_ASSIGN_OR_RETURN(PlannedModule planned, plan(line, options, least));
    if (planned.fits && (!isCheapest || planned.workAdded == 0))
      return planned;
    if (!planned.fits && cheapest)
      break; // lean storage is for what nothing else fits
    if (planned.fits && (!cheapest || planned.workAdded < cheapest->workAdded))
      cheapest = std::move(planned);
    else if (!smallest || planned.memory.total() < smallest->memory.total())
      smallest = std::move(planned);
  }
  return cheapest ? *std::move(cheapest) : *std::move(smallest);
}
