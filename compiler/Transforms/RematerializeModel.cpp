// What each choice of kept values costs in bytes and time.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/RematerializeModel.h"

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;

LogicalResult RematerializeModel::analyze() {
  if (failed(graph.analyze()))
    return failure();
  PositionRange forward, backward;
  auto widen = [](PositionRange &range, const PositionRange &by) {
    if (!by.empty()) {
      range.add(by.first);
      range.add(by.last);
    }
  };
  for (const TrainingLayer &layer : graph.getLayers()) {
    addCandidates(layer);
    widen(forward, layer.forward);
    widen(backward, layer.backward);
  }
  unsigned end = graph.getOps().size();
  if (forward.empty() || backward.empty()) {
    problem.middle = graph.mostLive(0, end);
    return success();
  }
  problem.middle = graph.mostLive(forward.last + 1, backward.first);
  problem.outside = std::max(graph.mostLive(0, forward.first),
                             graph.mostLive(backward.last + 1, end));
  return success();
}

ProgramCost RematerializeModel::costOfProgram() const {
  ProgramCost cost;
  for (Operation *op : graph.getOps()) {
    if (!isa<CostOpInterface>(op))
      continue;
    cost.seconds += costs.secondsOf(op);
    cost.measured += costs.isMeasured(op);
    ++cost.ops;
  }
  return cost;
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

RematerializeModel::Values
RematerializeModel::droppedBy(const TrainingLayer &layer, unsigned mask) {
  Values dropped;
  for (auto [i, value] : llvm::enumerate(layer.optional))
    if (!(mask >> i & 1))
      dropped.insert(value);
  return dropped;
}

void RematerializeModel::addCandidates(const TrainingLayer &layer) {
  std::vector<KeepCandidate> all;
  for (unsigned mask = 0; mask < 1u << layer.optional.size(); ++mask)
    all.push_back(measure(layer, mask));
  std::vector<KeepCandidate> best;
  SmallVector<unsigned> bestMasks;
  for (size_t i : paretoOptimal(all)) {
    best.push_back(all[i]);
    bestMasks.push_back(i);
  }
  problem.layers.push_back(std::move(best));
  masks.push_back(std::move(bestMasks));
}

KeepCandidate RematerializeModel::measure(const TrainingLayer &layer,
                                          unsigned mask) const {
  Values dropped = droppedBy(layer, mask);
  SmallVector<RecomputeStep> steps = planRecompute(graph, layer, dropped);
  KeepCandidate candidate;
  for (Value value : layer.fixed)
    candidate.kept += TrainingGraph::bytesOf(value);
  for (Value value : layer.optional)
    if (!dropped.contains(value))
      candidate.kept += TrainingGraph::bytesOf(value);
  candidate.need = std::max(needForward(layer, dropped),
                            needBackward(layer, dropped, steps));
  for (const RecomputeStep &step : steps)
    candidate.seconds += step.secondsOf(costs);
  return candidate;
}

namespace {

/// Adds up bytes that are live over ranges of a short time line.
class TimeLine {
public:
  explicit TimeLine(unsigned length) : change(length + 1) {}
  /// Live from `first` to `last`, both included.
  void add(int64_t bytes, unsigned first, unsigned last) {
    if (first > last)
      return;
    change[first] += bytes;
    change[last + 1] -= bytes;
  }
  int64_t most() const {
    int64_t live = 0, most = 0;
    for (int64_t bytes : change)
      most = std::max(most, live += bytes);
    return most;
  }

private:
  SmallVector<int64_t> change;
};

} // namespace

int64_t RematerializeModel::needForward(const TrainingLayer &layer,
                                        const Values &dropped) const {
  unsigned first = layer.forward.first, last = layer.forward.last;
  TimeLine line(last - first + 1);
  for (unsigned i = first; i <= last; ++i)
    line.add(graph.liveAt(i), i - first, i - first);
  auto add = [&](Value value) {
    unsigned end = dropped.contains(value)
                       ? std::min(graph.lastForwardUse(value), last)
                       : last;
    line.add(TrainingGraph::bytesOf(value),
             graph.positionOf(value.getDefiningOp()) - first, end - first);
  };
  llvm::for_each(layer.fixed, add);
  llvm::for_each(layer.optional, add);
  return line.most();
}

int64_t RematerializeModel::needBackward(const TrainingLayer &layer,
                                         const Values &dropped,
                                         ArrayRef<RecomputeStep> steps) const {
  if (layer.backward.empty())
    return 0;
  // Steps and ops take turns: every op stands behind its steps.
  unsigned first = layer.backward.first, last = layer.backward.last;
  unsigned length = last - first + 1 + steps.size();
  TimeLine line(length);
  DenseMap<Value, unsigned> lastUse;
  SmallVector<unsigned> timeOf;
  unsigned time = 0;
  for (unsigned i = first; i <= last; ++i) {
    for (; timeOf.size() < steps.size() && steps[timeOf.size()].before == i;
         ++time) {
      for (auto &[inner, outer] : steps[timeOf.size()].inputs)
        lastUse[outer] = time;
      timeOf.push_back(time);
      line.add(graph.liveBefore(i), time, time);
    }
    for (Value operand : graph.getOps()[i]->getOperands())
      lastUse[operand] = time;
    line.add(graph.liveAt(i), time, time);
    ++time;
  }

  auto addKept = [&](Value value) {
    auto found = lastUse.find(value);
    if (!dropped.contains(value) && found != lastUse.end())
      line.add(TrainingGraph::bytesOf(value), 0, found->second);
  };
  llvm::for_each(layer.fixed, addKept);
  llvm::for_each(layer.optional, addKept);
  for (auto [step, at] : llvm::zip_equal(steps, timeOf)) {
    // Only a value that the layer holds makes room for a result.
    bool isRow = mayRunInPlace(step.source);
    for (unsigned number : step.results) {
      Value result = step.source->getResult(number);
      bool isInPlace = isRow && llvm::any_of(step.inputs, [&](auto &input) {
                         return graph.layerOf(input.second) == layer.number &&
                                lastUse.lookup(input.second) == at &&
                                input.second.getType() == result.getType();
                       });
      line.add(sumBytes(result.getType()), at + isInPlace,
               lastUse.lookup(result));
    }
  }
  return line.most();
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

Rematerialization RematerializeModel::uniform(bool keep) const {
  Rematerialization result;
  KeepProblem alone = problem;
  alone.layers.clear();
  for (const TrainingLayer &layer : graph.getLayers()) {
    unsigned mask = keep ? (1u << layer.optional.size()) - 1 : 0;
    KeepCandidate candidate = measure(layer, mask);
    result.masks.push_back(mask);
    result.kept += candidate.kept;
    result.seconds += candidate.seconds;
    alone.layers.push_back({candidate});
  }
  result.peak = peakOf(alone, std::vector<size_t>(alone.layers.size()));
  return result;
}

std::optional<Rematerialization>
RematerializeModel::keepWithin(int64_t budget) const {
  std::optional<KeepChoice> choice = chooseKept(problem, budget);
  if (!choice)
    return std::nullopt;
  Rematerialization result;
  result.peak = choice->peak;
  result.seconds = choice->seconds;
  for (auto [layer, index] : llvm::enumerate(choice->candidates)) {
    result.masks.push_back(masks[layer][index]);
    result.kept += problem.layers[layer][index].kept;
  }
  return result;
}

RematerializeModel::Built
RematerializeModel::build(const Rematerialization &choice) {
  Built built;
  for (auto [layer, mask] : llvm::zip_equal(graph.getLayers(), choice.masks)) {
    Values dropped = droppedBy(layer, mask);
    SmallVector<RecomputeStep> steps = planRecompute(graph, layer, dropped);
    built.ops += steps.size();
    built.values += buildRecompute(graph, steps, dropped);
  }
  return built;
}
