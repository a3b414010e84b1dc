// Seconds that ops take.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/OpCosts.h"

#include "dialects/GPT2/GPT2Ops.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

/// Weights and the like: read from a global, and no numbers of tokens.
static bool isTable(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return isa_and_nonnull<ReadOp>(value.getDefiningOp()) &&
         isa<FloatType>(type.getElementType());
}

static void printNames(llvm::raw_ostream &os, Operation *op) {
  auto fused = dyn_cast<FusedOp>(op);
  if (!fused) {
    os << op->getName().stripDialect();
    return;
  }
  llvm::interleave(
      fused.getBody().front().without_terminator(), os,
      [&](Operation &inner) { os << inner.getName().stripDialect(); }, "+");
}

OpClass OpClass::of(Operation *op) {
  OpClass result;
  for (Value operand : op->getOperands())
    if (!isTable(operand)) {
      auto type = cast<RankedTensorType>(operand.getType());
      result.rows = type.getRank() ? type.getDimSize(0) : 0;
      break;
    }
  llvm::raw_string_ostream os(result.key);
  printNames(os, op);
  for (Value operand : op->getOperands()) {
    auto type = cast<RankedTensorType>(operand.getType());
    os << ' ';
    for (auto [i, size] : llvm::enumerate(type.getShape())) {
      bool isRows = i == 0 && size == result.rows && !isTable(operand);
      os << (isRows ? "R" : std::to_string(size)) << 'x';
    }
    os << type.getElementType();
  }
  // Operands leave no doubt about the results' shapes.
  os << " ->";
  for (Type type : op->getResultTypes())
    os << ' ' << cast<RankedTensorType>(type).getElementType();
  auto number = [&](StringRef name) {
    auto attr = op->getAttrOfType<IntegerAttr>(name);
    return attr ? attr.getInt() : 0;
  };
  if (int64_t batch = number("batch"))
    os << " T=" << result.rows / batch;
  if (int64_t heads = number("heads"))
    os << " heads=" << heads;
  return result;
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

// docs/training.md has the commands that made it.
static constexpr llvm::StringLiteral h200Name = "h200";
static constexpr char h200Table[] =
#include "compiler/Transforms/CostsH200.json.inc"
    ;

static llvm::Error problem(const Twine &what) {
  return llvm::createStringError(what);
}

llvm::Error OpCosts::addPoints(StringRef key, const llvm::json::Value &list) {
  auto bad = [&] {
    return problem("has no [rows, microseconds] pairs of at least 0 for \"" +
                   key + "\"");
  };
  const llvm::json::Array *pairs = list.getAsArray();
  if (!pairs || pairs->empty())
    return bad();
  Points points;
  for (const llvm::json::Value &value : *pairs) {
    const llvm::json::Array *pair = value.getAsArray();
    if (!pair || pair->size() != 2)
      return bad();
    std::optional<double> rows = (*pair)[0].getAsNumber();
    std::optional<double> time = (*pair)[1].getAsNumber();
    if (!rows || *rows < 0 || !time || *time < 0)
      return bad();
    points.push_back({*rows, *time * 1e-6});
  }
  llvm::sort(points, [](Point a, Point b) { return a.rows < b.rows; });
  measured[key] = std::move(points);
  return llvm::Error::success();
}

llvm::Error OpCosts::addTable(const llvm::json::Value &table) {
  const llvm::json::Object *object = table.getAsObject();
  const llvm::json::Object *ops = object ? object->getObject("ops") : nullptr;
  if (!ops)
    return problem("has no object \"ops\"; make it with gpt2-run profile "
                   "--costs");
  for (auto [name, rate] :
       {std::pair<StringRef, double *>("matmul_flops_per_second", &flopRate),
        {"row_bytes_per_second", &byteRate}}) {
    const llvm::json::Value *value = object->get(name);
    if (!value)
      continue;
    std::optional<double> number = value->getAsNumber();
    if (!number || *number <= 0)
      return problem("has no number greater than 0 as \"" + name + "\"");
    *rate = *number;
  }
  for (const auto &[key, list] : *ops)
    if (llvm::Error error = addPoints(StringRef(key), list))
      return error;
  return llvm::Error::success();
}

llvm::Error OpCosts::readTable(StringRef path) {
  auto within = [&](const Twine &what) {
    return problem("cost table '" + path + "' " + what);
  };
  StringRef text = h200Table;
  std::unique_ptr<llvm::MemoryBuffer> file;
  if (path != h200Name) {
    auto opened = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
    if (!opened)
      return within("cannot be read: " + Twine(opened.getError().message()));
    file = std::move(*opened);
    text = file->getBuffer();
  }
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  if (!json)
    return within("is not JSON: " + llvm::toString(json.takeError()));
  if (llvm::Error error = addTable(*json))
    return within(llvm::toString(std::move(error)));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

double OpCosts::secondsAt(const Points &points, double rows) {
  const Point *next =
      llvm::find_if(points, [&](Point point) { return point.rows >= rows; });
  bool isBetween = next != points.begin() && next != points.end();
  if (isBetween) {
    const Point &before = next[-1];
    double share = (rows - before.rows) / (next->rows - before.rows);
    return before.seconds + share * (next->seconds - before.seconds);
  }
  const Point &nearest = next == points.end() ? points.back() : *next;
  return nearest.rows > 0 ? nearest.seconds * (rows / nearest.rows)
                          : nearest.seconds;
}

bool OpCosts::isMeasured(Operation *op) const {
  return !measured.empty() && measured.contains(OpClass::of(op).key);
}

double OpCosts::secondsOf(Operation *op) const {
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost)
    return 0;
  if (!measured.empty()) {
    OpClass opClass = OpClass::of(op);
    if (auto found = measured.find(opClass.key); found != measured.end())
      return secondsAt(found->second, static_cast<double>(opClass.rows));
  }
  return secondsOf(static_cast<double>(cost.getFlops()),
                   static_cast<double>(cost.getBytesRead()) +
                       static_cast<double>(cost.getBytesWritten()));
}
