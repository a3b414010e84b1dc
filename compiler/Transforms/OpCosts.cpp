// Seconds that ops take.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/OpCosts.h"

#include "dialects/GPT2/GPT2Ops.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;

static llvm::Error tableError(StringRef path, const Twine &what) {
  return llvm::createStringError(llvm::Twine("cost table '") + path + "' " +
                                 what);
}

llvm::Error OpCosts::readTable(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return tableError(path,
                      "cannot be read: " + Twine(file.getError().message()));
  llvm::Expected<llvm::json::Value> json =
      llvm::json::parse((*file)->getBuffer());
  if (!json)
    return tableError(path, "is not JSON: " + llvm::toString(json.takeError()));
  const llvm::json::Object *object = json->getAsObject();
  if (!object)
    return tableError(path, "is not an object of op: microseconds");
  for (const auto &[key, value] : *object) {
    std::optional<double> time = value.getAsNumber();
    if (!time || *time < 0)
      return tableError(path, "has no time of at least 0 for \"" +
                                  StringRef(key) + "\"");
    measured[StringRef(key)] = *time * 1e-6;
  }
  return llvm::Error::success();
}

std::string OpCosts::keyOf(Operation *op) {
  std::string key;
  llvm::raw_string_ostream os(key);
  if (auto fused = dyn_cast<FusedOp>(op))
    llvm::interleave(
        fused.getBody().front().without_terminator(), os,
        [&](Operation &inner) { os << inner.getName().stripDialect(); }, "+");
  else
    os << op->getName().stripDialect();
  auto print = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    os << ' ';
    for (int64_t size : tensor.getShape())
      os << size << 'x';
    os << tensor.getElementType();
  };
  llvm::for_each(op->getOperandTypes(), print);
  os << " ->";
  llvm::for_each(op->getResultTypes(), print);
  return key;
}

double OpCosts::secondsOf(Operation *op) const {
  if (!measured.empty())
    if (auto found = measured.find(keyOf(op)); found != measured.end())
      return found->second;
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost)
    return 0;
  return secondsOf(static_cast<double>(cost.getFlops()),
                   static_cast<double>(cost.getBytesRead()) +
                       static_cast<double>(cost.getBytesWritten()));
}
