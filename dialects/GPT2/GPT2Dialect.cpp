// Registration of the gpt2 dialect and the rules of its attributes.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/GPT2Dialect.h"

#include "dialects/GPT2/GPT2Ops.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::gpt2;

#include "dialects/GPT2/GPT2Dialect.cpp.inc"

#include "dialects/GPT2/GPT2Enums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/GPT2/GPT2Attrs.cpp.inc"

void GPT2Dialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/GPT2/GPT2Attrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/GPT2/GPT2Ops.cpp.inc"
      >();
}

LogicalResult ProgramAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  ProgramRole role, int64_t batch,
                                  int64_t tokens, FlatSymbolRefAttr count) {
  constexpr int64_t limit = std::numeric_limits<int32_t>::max();
  if (batch <= 0 || tokens <= 0 || batch > limit || tokens > limit)
    return emitError() << "batch and tokens must be between 1 and " << limit
                       << ", not " << batch << " and " << tokens;
  if (role == ProgramRole::Decode && tokens != 1)
    return emitError() << "a decode program takes one token a sequence, not "
                       << tokens;
  if (role == ProgramRole::Sample && (batch != 1 || !count))
    return emitError() << "a sample program takes one sequence, of which a "
                          "count says how many tokens are valid";
  return success();
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

namespace {

LogicalResult verifyProgram(Operation *op, Attribute attr) {
  auto function = dyn_cast<func::FuncOp>(op);
  auto program = dyn_cast<ProgramAttr>(attr);
  if (!function || !program)
    return op->emitError("'gpt2.program' must be #gpt2.program on a func.func");
  if (function.getNumArguments() != 0 || function.getNumResults() != 0)
    return op->emitError("a program takes and returns nothing; its state lives "
                         "in globals");
  if (!llvm::hasSingleElement(function.getBody()))
    return op->emitError("a program is one block");
  if (FlatSymbolRefAttr count = program.getCount()) {
    auto global = SymbolTable::lookupNearestSymbolFrom<GlobalOp>(op, count);
    Type type = RankedTensorType::get({1}, Builder(op).getI32Type());
    if (!global || global.getTensorType() != type)
      return op->emitError("count '")
             << count.getValue() << "' is not a gpt2.global of type " << type;
  }
  llvm::StringSet<> read;
  llvm::StringSet<> written;
  for (Operation &inner : function.getOps()) {
    if (!isa<GPT2Dialect>(inner.getDialect()) && !isa<func::ReturnOp>(inner))
      return inner.emitOpError("is not of the gpt2 dialect, which programs are "
                               "made of");
    if (auto readOp = dyn_cast<ReadOp>(inner)) {
      if (!read.insert(readOp.getGlobal()).second)
        return readOp.emitOpError("reads '")
               << readOp.getGlobal() << "' a second time in one program";
      if (written.contains(readOp.getGlobal()))
        return readOp.emitOpError("reads '")
               << readOp.getGlobal() << "' after the program wrote it";
    } else if (auto writeOp = dyn_cast<WriteOp>(inner)) {
      if (!written.insert(writeOp.getGlobal()).second)
        return writeOp.emitOpError("writes '")
               << writeOp.getGlobal() << "' a second time in one program";
    }
  }
  return success();
}

LogicalResult verifyModel(Operation *op, Attribute attr) {
  auto model = dyn_cast<DictionaryAttr>(attr);
  if (!isa<ModuleOp>(op) || !model)
    return op->emitError("'gpt2.model' must be a dictionary on a module");
  if (!model.getAs<StringAttr>("name"))
    return op->emitError("'gpt2.model' needs the string 'name'");
  if (model.get("config_json") && !model.getAs<StringAttr>("config_json"))
    return op->emitError("'gpt2.model' has a 'config_json' that is no string");
  for (StringRef key : {"vocab", "padded_vocab", "positions", "width", "layers",
                        "heads", "inner", "eos", "parameters"}) {
    auto value = model.getAs<IntegerAttr>(key);
    int64_t lowest = key == "eos" ? -1 : 1;
    if (!value || !value.getType().isInteger(64) || value.getInt() < lowest)
      return op->emitError("'gpt2.model' needs the i64 '")
             << key << "' of at least " << lowest;
  }
  return success();
}

LogicalResult verifyPrecision(Operation *op, Attribute attr) {
  auto name = dyn_cast<StringAttr>(attr);
  bool known = name && llvm::StringSwitch<bool>(name.getValue())
                           .Cases({"fp32", "tf32", "fp16", "bf16"}, true)
                           .Default(false);
  if (!isa<ModuleOp>(op) || !known)
    return op->emitError("'gpt2.precision' must be \"fp32\", \"tf32\", "
                         "\"fp16\" or \"bf16\" on a module");
  return success();
}

LogicalResult verifyMaxAccumulation(Operation *op, Attribute attr) {
  auto most = dyn_cast<IntegerAttr>(attr);
  if (isa<ModuleOp>(op) && most && most.getType().isInteger(64) &&
      most.getInt() > 0 && most.getValue().isIntN(31))
    return success();
  return op->emitError(
      "'gpt2.max_accumulation' must be an i64 of at least 1 on "
      "a module");
}

LogicalResult verifyLayer(Operation *op, Attribute attr) {
  auto layer = dyn_cast<IntegerAttr>(attr);
  if (layer && layer.getType().isInteger(64) && layer.getInt() >= 0)
    return success();
  return op->emitError("'gpt2.layer' must be an i64 of at least 0");
}

} // namespace

LogicalResult GPT2Dialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  if (attr.getName() == programAttrName)
    return verifyProgram(op, attr.getValue());
  if (attr.getName() == modelAttrName)
    return verifyModel(op, attr.getValue());
  if (attr.getName() == precisionAttrName)
    return verifyPrecision(op, attr.getValue());
  if (attr.getName() == maxAccumulationAttrName)
    return verifyMaxAccumulation(op, attr.getValue());
  if (attr.getName() == layerAttrName)
    return verifyLayer(op, attr.getValue());
  return op->emitError("unknown attribute '") << attr.getName().strref() << "'";
}
