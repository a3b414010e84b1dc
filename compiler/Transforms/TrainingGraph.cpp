// What rematerialize needs to know of an accumulate program.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/TrainingGraph.h"

#include "dialects/GPT2/Decompose.h"

#include <map>

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;

bool mlir::gpt2c::mayRunInPlace(Operation *op) { return isRowKernel(op); }

/// The value in a fused region that becomes `result`, or the result itself.
static Value innermost(OpResult result) {
  auto fused = dyn_cast<FusedOp>(result.getOwner());
  return fused ? fused.getYielded(result.getResultNumber()) : Value(result);
}

static int64_t numberOf(Operation *op) {
  auto layer = op ? op->getAttrOfType<IntegerAttr>(layerAttrName) : nullptr;
  return layer ? layer.getInt() : -1;
}

/// Ops that use a result, with those in a region in place of the region.
static SmallVector<Operation *> innerUsers(OpResult value) {
  SmallVector<Operation *> users;
  if (Value inner = innermost(value); inner != value)
    llvm::append_range(users, inner.getUsers());
  for (OpOperand &use : value.getUses()) {
    auto fused = dyn_cast<FusedOp>(use.getOwner());
    if (!fused) {
      users.push_back(use.getOwner());
      continue;
    }
    Value argument = fused.getBody().getArgument(use.getOperandNumber());
    llvm::append_range(users, argument.getUsers());
  }
  return users;
}

TrainingGraph::TrainingGraph(func::FuncOp program)
    : program(program), block(&program.getBody().front()) {
  for (Operation &op : *block) {
    positions[&op] = ops.size();
    ops.push_back(&op);
  }
}

LogicalResult TrainingGraph::analyze() {
  SmallVector<Operation *> losses;
  program.walk([&](CrossEntropyGradOp op) {
    Operation *outer = block->findAncestorOpInBlock(*op);
    losses.push_back(outer);
  });
  if (losses.empty())
    return program.emitError("'")
           << program.getName() << "' has no gpt2.cross_entropy_grad that ends "
           << "its forward half: run build-training first";
  findForward(losses);
  findLayers();
  measureLive();
  return success();
}

void TrainingGraph::findForward(ArrayRef<Operation *> losses) {
  SmallVector<Operation *> work(losses);
  while (!work.empty())
    for (Value operand : work.pop_back_val()->getOperands())
      if (Operation *op = operand.getDefiningOp())
        if (!isa<ReadOp>(op) && forward.insert(op).second)
          work.push_back(op);
}

bool TrainingGraph::crosses(Value value) const {
  return llvm::any_of(value.getUsers(),
                      [&](Operation *user) { return !isForward(user); });
}

bool TrainingGraph::leavesLayer(OpResult value, int64_t layer) const {
  return llvm::any_of(innerUsers(value), [&](Operation *user) {
    Operation *outer = block->findAncestorOpInBlock(*user);
    // What a region yields is an outer use as well.
    return isForward(outer) && !isa<YieldOp>(user) && numberOf(user) != layer;
  });
}

void TrainingGraph::addValue(OpResult value, TrainingLayer &layer) {
  unsigned at = positionOf(value.getOwner());
  layer.forward.add(at);
  bool isOutput = leavesLayer(value, layer.number);
  if (!crosses(value) && !isOutput)
    return;
  auto inner = cast<OpResult>(innermost(value));
  auto recompute = dyn_cast<RecomputeOpInterface>(inner.getOwner());
  bool isStatistic =
      recompute && recompute.isRowStatistic(inner.getResultNumber());
  (isOutput || isStatistic ? layer.fixed : layer.optional).push_back(value);
  // The layer above is the one that reads an output.
  if (!isOutput)
    for (Operation *user : value.getUsers())
      if (!isForward(user))
        layer.backward.add(positionOf(user));
}

void TrainingGraph::findLayers() {
  std::map<int64_t, SmallVector<OpResult>> byNumber;
  for (Operation *op : ops) {
    if (!isForward(op))
      continue;
    for (OpResult result : op->getResults()) {
      int64_t number = numberOf(innermost(result).getDefiningOp());
      if (number < 0)
        continue;
      layerOfValue[result] = number;
      byNumber[number].push_back(result);
    }
  }
  for (auto &[number, results] : byNumber) {
    TrainingLayer &layer = layers.emplace_back();
    layer.number = number;
    for (OpResult result : results)
      addValue(result, layer);
    llvm::stable_sort(layer.optional,
                      [](Value a, Value b) { return bytesOf(a) > bytesOf(b); });
    while (layer.optional.size() > maxOptionalValues)
      layer.fixed.push_back(layer.optional.pop_back_val());
  }
}

unsigned TrainingGraph::lastForwardUse(Value value) const {
  unsigned last = positionOf(value.getDefiningOp());
  for (Operation *user : value.getUsers())
    if (isForward(user))
      last = std::max(last, positionOf(user));
  return last;
}

unsigned TrainingGraph::lastUse(Value value) const {
  unsigned last = positionOf(value.getDefiningOp());
  for (Operation *user : value.getUsers())
    last = std::max(last, positionOf(user));
  return last;
}

int64_t TrainingGraph::bytesOf(Value value) {
  bool isInGlobal = isa_and_present<ReadOp>(value.getDefiningOp()) ||
                    llvm::any_of(value.getUsers(), llvm::IsaPred<WriteOp>);
  return isInGlobal || value.use_empty() ? 0 : sumBytes(value.getType());
}

void TrainingGraph::measureLive() {
  DenseSet<Value> ofLayers;
  for (const TrainingLayer &layer : layers) {
    ofLayers.insert_range(layer.fixed);
    ofLayers.insert_range(layer.optional);
  }
  // Differences first, then sums.
  live.assign(ops.size() + 1, 0);
  between.assign(ops.size() + 1, 0);
  for (Operation *op : ops) {
    unsigned at = positionOf(op);
    SmallVector<Value> dying;
    if (mayRunInPlace(op))
      llvm::copy_if(op->getOperands(), std::back_inserter(dying),
                    [&](Value operand) {
                      return bytesOf(operand) > 0 && lastUse(operand) == at;
                    });
    for (Value result : op->getResults()) {
      int64_t bytes = bytesOf(result);
      if (bytes == 0 || ofLayers.contains(result))
        continue;
      auto *reused = llvm::find_if(dying, [&](Value operand) {
        return operand.getType() == result.getType();
      });
      bool isInPlace = reused != dying.end();
      if (isInPlace)
        dying.erase(reused);
      unsigned last = lastUse(result);
      live[at + (isInPlace && last > at)] += bytes;
      live[last + 1] -= bytes;
      between[at + 1] += bytes;
      between[last + 1] -= bytes;
    }
  }
  for (unsigned i = 1; i < live.size(); ++i) {
    live[i] += live[i - 1];
    between[i] += between[i - 1];
  }
}

int64_t TrainingGraph::mostLive(unsigned first, unsigned end) const {
  int64_t most = 0;
  for (unsigned i = first; i < end; ++i)
    most = std::max(most, live[i]);
  return most;
}
