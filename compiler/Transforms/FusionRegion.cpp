// A set of ops that is to become one gpt2.fused.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/FusionRegion.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;

/// Every block of a matvec kernel repeats the prologue, so that it may cost
/// this many operations an element of x and no more: a layer norm.
static constexpr int64_t maxRepeatedFlops = 8;

static bool isBefore(Operation *a, Operation *b) {
  return a->isBeforeInBlock(b);
}

static SmallVector<Operation *>
sorted(const llvm::SetVector<Operation *> &ops) {
  SmallVector<Operation *> list(ops.begin(), ops.end());
  llvm::sort(list, isBefore);
  return list;
}

/// Columns of the (rows, columns) space that a decomposable op runs over.
static int64_t getWidth(Operation *op) {
  int64_t width = 1;
  auto widen = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() == 2)
      width = std::max(width, type.getDimSize(1));
  };
  for (OpOperand &use : op->getOpOperands())
    if (getOperandForm(use) == OperandForm::Row)
      widen(use.get());
  for (Value result : op->getResults())
    if (!isColumnResult(result))
      widen(result);
  return width;
}

/// Why `op` shares no kernel with ops of `rows` rows; empty if it may.
static std::string whyNotRows(Operation *op, int64_t rows) {
  if (isa<FusedOp>(op))
    return "belongs to another region";
  if (!isa<DecomposeOpInterface>(op))
    return "is not decomposable";
  if (getRowCount(op) == rows)
    return "";
  return ("has " + Twine(getRowCount(op)) + " rows, not " + Twine(rows)).str();
}

static bool readsTable(Operation *op) {
  return llvm::any_of(op->getOpOperands(), [](OpOperand &use) {
    OperandForm form = getOperandForm(use);
    return form != OperandForm::Row && form != OperandForm::Column;
  });
}

SmallVector<Operation *> FusionRegion::neighbors() const {
  llvm::SetVector<Operation *> found;
  auto visit = [&](Operation *op) {
    if (op && !contains(op) && isa<CostOpInterface>(op))
      found.insert(op);
  };
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      visit(operand.getDefiningOp());
    for (Operation *user : op->getUsers())
      visit(user);
  }
  return sorted(found);
}

bool FusionRegion::formsCycle(Operation *op) const {
  auto isInside = [&](Operation *other) {
    return other == op || contains(other);
  };
  Operation *last = op;
  for (Operation *inner : ops)
    if (isBefore(last, inner))
      last = inner;
  DenseSet<Operation *> seen;
  SmallVector<Operation *> work(ops.begin(), ops.end());
  work.push_back(op);
  while (!work.empty()) {
    Operation *from = work.pop_back_val();
    for (Operation *user : from->getUsers()) {
      bool isInner = isInside(user);
      if (isInner && !isInside(from))
        return true;
      // What stands behind the last op cannot lead back.
      if (!isInner && isBefore(user, last) && seen.insert(user).second)
        work.push_back(user);
    }
  }
  return false;
}

bool FusionRegion::needsAllRows(Operation *op) const {
  auto reads = [&](Operation *user, auto isProducer) {
    return llvm::any_of(user->getOpOperands(), [&](OpOperand &use) {
      Operation *producer = use.get().getDefiningOp();
      return producer && isProducer(producer) &&
             (getOperandForm(use) != OperandForm::Row ||
              isColumnResult(use.get()));
    });
  };
  if (reads(op, [&](Operation *producer) { return contains(producer); }))
    return true;
  return llvm::any_of(ops, [&](Operation *inner) {
    return reads(inner, [&](Operation *producer) { return producer == op; });
  });
}

Operation *FusionRegion::findBarrier(Operation *op) const {
  ProgramAttr program = getProgram(op->getParentOp());
  if (!program || program.getRole() != ProgramRole::Accumulate)
    return nullptr;
  Operation *begin = op, *end = op;
  for (Operation *inner : ops) {
    if (isBefore(inner, begin))
      begin = inner;
    if (isBefore(end, inner))
      end = inner;
  }
  for (; begin != end; begin = begin->getNextNode())
    if (!contains(begin) && begin != op &&
        !isa<DecomposeOpInterface, FusedOp, ReadOp>(begin))
      return begin;
  return nullptr;
}

int64_t FusionRegion::countInputs(Operation *op) const {
  DenseSet<std::pair<Value, unsigned>> inputs;
  auto visit = [&](Operation *inner) {
    for (OpOperand &use : inner->getOpOperands()) {
      Operation *producer = use.get().getDefiningOp();
      if (!producer || (producer != op && !contains(producer)))
        inputs.insert({use.get(), static_cast<unsigned>(getOperandForm(use))});
    }
  };
  llvm::for_each(ops, visit);
  visit(op);
  return inputs.size();
}

std::string FusionRegion::whyNotRow(Operation *op, int64_t maxInputs) const {
  Operation *first = ops.front();
  std::string reason = whyNotRows(op, getRowCount(first));
  if (!reason.empty())
    return reason;
  if (getWidth(op) != getWidth(first))
    return ("has " + Twine(getWidth(op)) + " columns, not " +
            Twine(getWidth(first)))
        .str();
  if (needsAllRows(op))
    return "needs all rows";
  if (int64_t blocks = getRowBlocks(op))
    for (Operation *inner : ops)
      if (int64_t own = getRowBlocks(inner); own != 0 && own != blocks)
        return ("sums " + Twine(blocks) + " row blocks, not " + Twine(own))
            .str();
  if (Operation *barrier = findBarrier(op))
    return ("lies beyond '" + barrier->getName().getStringRef() + "'").str();
  if (formsCycle(op))
    return "would form a cycle";
  if (int64_t inputs = countInputs(op); inputs > maxInputs)
    return ("would make it " + Twine(inputs) + " inputs").str();
  return "";
}

std::string FusionRegion::whyNotPrologue(Operation *op, LinearOp linear) const {
  std::string reason = whyNotRows(op, getRowCount(linear));
  if (!reason.empty())
    return reason;
  if (!llvm::all_of(op->getUsers(),
                    [&](Operation *user) { return contains(user); }))
    return "has other users";
  if (readsTable(op))
    return "reads a table";
  if (linear.getWeight().getDefiningOp() == op)
    return "is the weight too";
  int64_t elements = linear.getX().getType().getNumElements();
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost || cost.getFlops() > maxRepeatedFlops * elements)
    return "is too expensive to repeat in every block";
  return "";
}

std::string FusionRegion::whyNotEpilogue(Operation *op, LinearOp linear) const {
  std::string reason = whyNotRows(op, getRowCount(linear));
  if (!reason.empty())
    return reason;
  if (!cast<DecomposeOpInterface>(op).isElementwise())
    return "needs the whole row";
  if (readsTable(op))
    return "reads a table";
  return formsCycle(op) ? "would form a cycle" : "";
}

/// Moves what stands in front of `fused`, from `begin` on, and needs its
/// results behind it. Everything else keeps its place.
static void moveUsersBehind(FusedOp fused, Block::iterator begin) {
  llvm::SmallPtrSet<Operation *, 8> moved = {fused};
  Operation *last = fused;
  for (Operation &op : llvm::make_early_inc_range(
           llvm::make_range(begin, fused->getIterator()))) {
    if (llvm::none_of(op.getOperands(), [&](Value operand) {
          return moved.contains(operand.getDefiningOp());
        }))
      continue;
    op.moveAfter(last);
    last = &op;
    moved.insert(&op);
  }
}

FusedOp FusionRegion::build(FusedKind kind) {
  SmallVector<Operation *> inner = sorted(ops);

  SmallVector<Value> outputs;
  for (Operation *op : inner)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !contains(user); }))
        outputs.push_back(result);

  // One input for each form in which the region reads an outside value.
  SmallVector<Value> inputs;
  llvm::MapVector<std::pair<Value, unsigned>, SmallVector<OpOperand *>> uses;
  for (Operation *op : inner)
    for (OpOperand &use : op->getOpOperands())
      if (Operation *producer = use.get().getDefiningOp();
          !producer || !contains(producer))
        uses[{use.get(), static_cast<unsigned>(getOperandForm(use))}].push_back(
            &use);
  for (auto &[key, list] : uses)
    inputs.push_back(key.first);

  OpBuilder builder(inner.back());
  SmallVector<Location> places =
      llvm::map_to_vector(inner, [](Operation *op) { return op->getLoc(); });
  auto fused = FusedOp::create(builder, builder.getFusedLoc(places),
                               TypeRange(ValueRange(outputs)), kind, inputs);
  Block &body = fused.getBody().emplaceBlock();
  for (auto &[key, list] : uses) {
    Value argument = body.addArgument(key.first.getType(), key.first.getLoc());
    for (OpOperand *use : list)
      use->set(argument);
  }
  for (auto [output, result] : llvm::zip_equal(outputs, fused.getOutputs()))
    output.replaceUsesWithIf(
        result, [&](OpOperand &use) { return !contains(use.getOwner()); });
  Operation *begin = inner.front();
  while (contains(begin)) // `fused` stands in front of the last one
    begin = begin->getNextNode();
  for (Operation *op : inner)
    op->moveBefore(&body, body.end());
  builder.setInsertionPointToEnd(&body);
  YieldOp::create(builder, fused.getLoc(), outputs);
  moveUsersBehind(fused, begin->getIterator());
  return fused;
}
