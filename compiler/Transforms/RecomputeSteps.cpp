// How values of a layer are computed again.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/RecomputeSteps.h"

#include "dialects/GPT2/Decompose.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;

namespace {

/// The row statistics of an op: results that it can compute others from.
SmallVector<OpResult> statisticsOf(Operation *op) {
  SmallVector<OpResult> statistics;
  if (auto recompute = dyn_cast<RecomputeOpInterface>(op))
    for (OpResult result : op->getResults())
      if (recompute.isRowStatistic(result.getResultNumber()))
        statistics.push_back(result);
  return statistics;
}

/// The program's name for a value that a region yields, null for others.
Value outerOf(Value inner) {
  Operation *op = inner.getDefiningOp();
  auto fused = op ? dyn_cast<FusedOp>(op->getParentOp()) : FusedOp();
  if (!fused)
    return isa<BlockArgument>(inner) ? Value() : inner;
  Operation *yield = fused.getBody().front().getTerminator();
  for (OpOperand &operand : yield->getOpOperands())
    if (operand.get() == inner)
      return fused.getResult(operand.getOperandNumber());
  return {};
}

/// Finds the steps of one layer.
class Planner {
public:
  Planner(const TrainingGraph &graph, const TrainingLayer &layer,
          const DenseSet<Value> &dropped)
      : graph(graph), layer(layer), dropped(dropped) {
    known.insert_range(layer.fixed);
    for (Value value : layer.optional)
      if (!dropped.contains(value))
        known.insert(value);
  }

  SmallVector<RecomputeStep> run();

private:
  /// Whether the program still has the value, or has it again.
  bool isKnown(Value value) const {
    Operation *op = value.getDefiningOp();
    return known.contains(value) || !op || !graph.isForward(op) ||
           graph.layerOf(value) != layer.number;
  }
  void require(Value value, unsigned before);
  void fill(RecomputeStep &step);
  /// Adds what `op` reads; parts of the region that lead to it join the step.
  void addOperands(Operation *op, RecomputeStep &step);
  void addValue(Value inner, RecomputeStep &step);

  const TrainingGraph &graph;
  const TrainingLayer &layer;
  const DenseSet<Value> &dropped;
  DenseSet<Value> known;
  SmallVector<RecomputeStep> steps;
};

SmallVector<RecomputeStep> Planner::run() {
  if (!layer.backward.empty())
    for (unsigned i = layer.backward.first; i <= layer.backward.last; ++i)
      if (!graph.isForward(graph.getOps()[i]))
        for (Value operand : graph.getOps()[i]->getOperands())
          if (dropped.contains(operand))
            require(operand, i);
  return std::move(steps);
}

void Planner::require(Value value, unsigned before) {
  if (isKnown(value))
    return;
  RecomputeStep step;
  step.source = value.getDefiningOp();
  step.before = before;
  // Whatever else the op has to compute again comes at the same time.
  for (OpResult result : step.source->getResults())
    if (result == value || (dropped.contains(result) && !isKnown(result)))
      step.results.push_back(result.getResultNumber());
  fill(step);
  for (auto &[inner, outer] : step.inputs)
    require(outer, before);
  for (unsigned number : step.results)
    known.insert(step.source->getResult(number));
  steps.push_back(std::move(step));
}

void Planner::addValue(Value inner, RecomputeStep &step) {
  auto fused = cast<FusedOp>(step.source);
  if (auto argument = dyn_cast<BlockArgument>(inner)) {
    step.inputs[argument] = fused.getInputs()[argument.getArgNumber()];
    return;
  }
  if (Value outer = outerOf(inner); outer && isKnown(outer)) {
    step.inputs[inner] = outer;
    return;
  }
  if (!llvm::is_contained(step.ops, inner.getDefiningOp()))
    addOperands(inner.getDefiningOp(), step);
}

void Planner::addOperands(Operation *op, RecomputeStep &step) {
  bool isRegion = op != step.source;
  for (Value operand : op->getOperands())
    if (isRegion)
      addValue(operand, step);
    else
      step.inputs[operand] = operand;
  for (OpResult statistic : statisticsOf(op))
    if (Value outer = outerOf(statistic); outer && isKnown(outer))
      step.inputs[statistic] = outer;
  step.ops.push_back(op);
}

void Planner::fill(RecomputeStep &step) {
  auto fused = dyn_cast<FusedOp>(step.source);
  if (!fused || fused.getKind() != FusedKind::Row)
    return addOperands(step.source, step);
  for (unsigned number : step.results)
    addValue(fused.getYielded(number), step);
  llvm::sort(step.ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
}

/// Clones ops under a mapping, or lets them compute from their statistics.
void cloneOp(OpBuilder &builder, Operation *op, IRMapping &mapping) {
  SmallVector<OpResult> statistics = statisticsOf(op);
  bool hasStatistics =
      !statistics.empty() && llvm::all_of(statistics, [&](OpResult result) {
        return mapping.contains(result);
      });
  if (hasStatistics) {
    auto map = [&](Value value) { return mapping.lookupOrNull(value); };
    SmallVector<Value> operands = llvm::map_to_vector(op->getOperands(), map);
    SmallVector<Value> results = llvm::map_to_vector(
        op->getResults(), [&](OpResult result) { return map(result); });
    auto recompute = cast<RecomputeOpInterface>(op);
    bool isBuilt = true;
    for (OpResult result : op->getResults()) {
      if (llvm::is_contained(statistics, result))
        continue;
      Value value = recompute.recompute(builder, result.getResultNumber(),
                                        operands, results);
      isBuilt &= !!value;
      if (value)
        mapping.map(result, value);
    }
    if (isBuilt)
      return;
  }
  Operation *clone = builder.clone(*op, mapping);
  for (auto [result, copy] :
       llvm::zip_equal(op->getResults(), clone->getResults()))
    mapping.map(result, copy);
}

/// Builds one step from values of the program; returns a value for each of the
/// step's results.
SmallVector<Value> buildStep(OpBuilder &builder, const RecomputeStep &step,
                             function_ref<Value(Value)> current) {
  auto fused = dyn_cast<FusedOp>(step.source);
  bool isPart = step.ops[0] != step.source;
  auto resultOf = [&](unsigned number) -> Value {
    return isPart ? fused.getYielded(number) : step.source->getResult(number);
  };
  IRMapping mapping;
  if (step.ops.size() == 1) {
    for (auto &[inner, outer] : step.inputs)
      mapping.map(inner, current(outer));
    cloneOp(builder, step.ops[0], mapping);
    return llvm::map_to_vector(step.results, [&](unsigned number) {
      return mapping.lookup(resultOf(number));
    });
  }
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  for (auto &[inner, outer] : step.inputs)
    inputs.push_back(current(outer));
  for (unsigned number : step.results)
    types.push_back(step.source->getResult(number).getType());
  auto region = FusedOp::create(builder, step.source->getLoc(), types,
                                FusedKind::Row, inputs);
  Block &body = region.getBody().emplaceBlock();
  for (auto &[inner, outer] : step.inputs)
    mapping.map(inner, body.addArgument(inner.getType(), inner.getLoc()));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&body);
  for (Operation *op : step.ops)
    cloneOp(builder, op, mapping);
  YieldOp::create(builder, region.getLoc(),
                  llvm::map_to_vector(step.results, [&](unsigned number) {
                    return mapping.lookup(resultOf(number));
                  }));
  return llvm::to_vector(ValueRange(region.getResults()));
}

} // namespace

SmallVector<RecomputeStep>
mlir::gpt2c::planRecompute(const TrainingGraph &graph,
                           const TrainingLayer &layer,
                           const DenseSet<Value> &dropped) {
  return Planner(graph, layer, dropped).run();
}

unsigned mlir::gpt2c::buildRecompute(const TrainingGraph &graph,
                                     ArrayRef<RecomputeStep> steps,
                                     const DenseSet<Value> &dropped) {
  DenseMap<Value, Value> copies;
  auto current = [&](Value value) {
    Value copy = copies.lookup(value);
    return copy ? copy : value;
  };
  for (const RecomputeStep &step : steps) {
    OpBuilder builder(graph.getOps()[step.before]);
    SmallVector<Value> values = buildStep(builder, step, current);
    for (auto [number, value] : llvm::zip_equal(step.results, values))
      copies[step.source->getResult(number)] = value;
  }
  for (Value value : dropped)
    value.replaceUsesWithIf(copies.at(value), [&](OpOperand &use) {
      return !graph.isForward(use.getOwner());
    });
  return dropped.size();
}

double RecomputeStep::secondsOf(const OpCosts &costs) const {
  if (ops.size() == 1 && ops[0] == source)
    return costs.secondsOf(source);
  double flops = 0, bytes = 0;
  for (Operation *op : ops)
    if (auto cost = dyn_cast<CostOpInterface>(op))
      flops += static_cast<double>(cost.getFlops());
  for (auto &[inner, outer] : inputs)
    bytes += static_cast<double>(sumBytes(outer.getType()));
  for (unsigned number : results)
    bytes += static_cast<double>(sumBytes(source->getResult(number).getType()));
  return costs.secondsOf(flops, bytes);
}
