//===- Advice.cpp - Why a plan does not fit and what would ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "tools/gpt2c/Advice.h"

#include "runtime/Support/ByteSize.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::gpt2c;
using gpt2rt::formatByteSize;
using gpt2rt::Result;
using gpt2rt::Status;
using gpt2rt::strCat;

std::string mlir::gpt2c::describeMemory(const MemoryUse &memory) {
  std::string text;
  for (size_t kind = 0; kind < memory.arenas.size(); ++kind)
    if (memory.arenas[kind] != 0)
      text += strCat(
          text.empty() ? "" : ", ",
          std::string_view(plan::stringifyArenaKind(plan::ArenaKind(kind))),
          " ", formatByteSize(memory.arenas[kind]));
  return text;
}

std::string mlir::gpt2c::describeRemat(const PlannedModule &planned) {
  if (planned.remat == RematMode::None)
    return "none: everything is kept";
  if (planned.remat == RematMode::Block)
    return "block: each layer keeps its input";
  std::string text;
  llvm::raw_string_ostream(text)
      << "auto: " << llvm::format("%.1f", 100 * planned.workAdded)
      << " % more work";
  return text;
}

namespace {

/// Flags that differ from the user's command line.
using Changes = std::vector<std::pair<std::string, std::string>>;

/// The user's command with some flags changed, as a shell takes it.
std::string commandOf(const CommandLine &line, const Changes &changes) {
  std::string command = "gpt2c";
  auto isChanged = [&](const std::string &argument) {
    return llvm::any_of(changes, [&](const auto &change) {
      return argument.substr(0, argument.find('=')) == change.first;
    });
  };
  for (size_t i = 0; i < line.arguments.size(); ++i) {
    const std::string &argument = line.arguments[i];
    if (!isChanged(argument))
      command += " " + argument;
    else if (argument.find('=') == std::string::npos)
      ++i; // its value is the next argument
  }
  for (const auto &[flag, value] : changes)
    if (!value.empty())
      command += strCat(" ", flag, "=", value);
  return command;
}

/// Tries one change after the other until a plan fits.
class Advisor {
public:
  Advisor(Planner &planner, const CommandLine &line)
      : planner(planner), line(line) {}

  /// Whether some changes make it fit.
  Result<bool> run();
  const Changes &getChanges() const { return changes; }
  const MemoryUse &getMemory() const { return memory; }

private:
  Result<bool> fits();
  Result<bool> tryPrecision();
  Result<bool> tryBatch();
  Result<bool> tryRemat();
  void change(const std::string &flag, const std::string &value) {
    llvm::erase_if(changes, [&](const auto &old) { return old.first == flag; });
    changes.emplace_back(flag, value);
  }

  Planner &planner;
  CommandLine line;
  Changes changes;
  MemoryUse memory;
};

Result<bool> Advisor::fits() {
  GPT2_ASSIGN_OR_RETURN(PlannedModule planned,
                        planner.plan(line, /*least=*/true));
  memory = planned.memory;
  return planned.fits;
}

Result<bool> Advisor::tryPrecision() {
  if (line.precision != "fp32" && line.precision != "tf32")
    return false;
  line.precision = "bf16";
  change("--precision", line.precision);
  return fits();
}

Result<bool> Advisor::tryBatch() {
  while (line.batch > 1) {
    line.batch /= 2;
    change("--batch", std::to_string(line.batch));
    GPT2_ASSIGN_OR_RETURN(bool isEnough, fits());
    if (isEnough)
      return true;
  }
  return false;
}

Result<bool> Advisor::tryRemat() {
  if (line.remat.value_or(RematMode::Auto) == RematMode::Auto)
    return false;
  line.remat = RematMode::Auto;
  change("--remat", "auto");
  return fits();
}

Result<bool> Advisor::run() {
  for (auto step :
       {&Advisor::tryPrecision, &Advisor::tryBatch, &Advisor::tryRemat}) {
    GPT2_ASSIGN_OR_RETURN(bool isEnough, (this->*step)());
    if (isEnough)
      return true;
  }
  return false;
}

} // namespace

Status mlir::gpt2c::explainMisfit(Planner &planner, const CommandLine &line,
                                  const PlannedModule &planned) {
  uint64_t budget = *line.memoryBudget, total = planned.memory.total();
  std::string text =
      strCat("the plan needs at least ", formatByteSize(total), ", ",
             formatByteSize(total - budget), " more than ",
             line.fit ? "--fit leaves" : "--memory-budget", " (",
             formatByteSize(budget), "): ", describeMemory(planned.memory));
  Advisor advisor(planner, line);
  GPT2_ASSIGN_OR_RETURN(bool canFit, advisor.run());
  if (canFit)
    text +=
        strCat("; this fits in ", formatByteSize(advisor.getMemory().total()),
               ": ", commandOf(line, advisor.getChanges()));
  else
    text += strCat(
        "; no precision, micro-batch or rematerialization makes it fit one "
        "device: the model has to be partitioned over several, which this "
        "version cannot do, or the sequences be shorter (--seq)");
  if (canFit && line.batch > 1)
    text += " (gpt2-run train then accumulates more micro-batches for the same "
            "tokens a step)";
  return gpt2rt::resourceExhausted(text);
}
