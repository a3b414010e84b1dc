//===- PlanTables.cpp - Indices of what a plan file names
//-------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Target/PlanTables.h"

#include "dialects/Plan/PlanCost.h"

using namespace mlir;
using namespace mlir::gpt2c;
namespace fb = gpt2rt::fb;

fb::DType mlir::gpt2c::dtypeOf(Type elementType) {
  if (elementType.isF16())
    return fb::DType::F16;
  if (elementType.isBF16())
    return fb::DType::BF16;
  if (elementType.isInteger(32))
    return fb::DType::I32;
  if (elementType.isInteger(8))
    return fb::DType::U8;
  assert(elementType.isF32() && "the dialect has no other buffers");
  return fb::DType::F32;
}

FailureOr<PlanTables> PlanTables::build(ModuleOp module) {
  PlanTables tables;
  for (auto arena : module.getOps<plan::ArenaOp>()) {
    std::optional<uint32_t> &number =
        tables.arenaNumbers[unsigned(arena.getKind())];
    if (number)
      return arena.emitOpError("is the second one of its kind");
    number = tables.arenas.size();
    tables.arenas.push_back(arena);
  }
  for (auto kernel : module.getOps<plan::KernelOp>()) {
    tables.kernelNumbers[kernel.getSymName()] = tables.kernels.size();
    tables.kernels.push_back(kernel);
  }
  if (failed(tables.addGlobals(module)))
    return failure();
  for (auto program : module.getOps<plan::ProgramOp>()) {
    if (failed(tables.addProgram(program, tables.programs.size())))
      return failure();
    tables.programs.push_back(program);
  }
  return tables;
}

FailureOr<uint32_t> PlanTables::arenaOf(Operation *op,
                                        plan::ArenaKind kind) const {
  if (std::optional<uint32_t> number = arenaNumbers[unsigned(kind)])
    return *number;
  return op->emitOpError() << "lies in the " << plan::stringifyArenaKind(kind)
                           << " arena, which the module lacks: run "
                              "plan-memory";
}

LogicalResult PlanTables::addGlobals(ModuleOp module) {
  for (auto global : module.getOps<plan::GlobalOp>()) {
    FailureOr<uint32_t> arena = arenaOf(global, global.getArenaKind());
    if (failed(arena))
      return failure();
    if (!global.getOffset())
      return global.emitOpError("has no offset: run plan-memory");
    globals[global.getSymName()] = buffers.size();
    BufferEntry entry;
    entry.name = global.getSymName();
    entry.type = global.getMemRefType();
    entry.arena = *arena;
    entry.offset = *global.getOffset();
    buffers.push_back(std::move(entry));
  }
  return success();
}

LogicalResult PlanTables::addProgram(plan::ProgramOp program, int32_t number) {
  for (Operation &op : program.getBody().front()) {
    if (auto alloc = dyn_cast<plan::AllocOp>(op)) {
      if (failed(addAlloc(alloc, program.getSymName(), number)))
        return failure();
    } else if (auto ref = dyn_cast<plan::GlobalRefOp>(op)) {
      addGlobalRef(ref);
    }
    if (auto cost = op.getAttrOfType<DictionaryAttr>(plan::costAttrName))
      if (costNumbers.try_emplace(cost, costs.size()).second)
        costs.push_back(cost);
  }
  return success();
}

int32_t PlanTables::costIndex(Operation *instruction) const {
  auto found = costNumbers.find(instruction->getAttr(plan::costAttrName));
  return found == costNumbers.end() ? -1 : found->second;
}

LogicalResult PlanTables::addAlloc(plan::AllocOp alloc, StringRef program,
                                   int32_t number) {
  FailureOr<uint32_t> arena = arenaOf(alloc, alloc.getArenaKind());
  if (failed(arena))
    return failure();
  if (!alloc.getOffset())
    return alloc.emitOpError("has no offset: run plan-memory");
  BufferEntry entry;
  entry.name = (program + "." + Twine(buffers.size())).str();
  entry.type = cast<MemRefType>(alloc.getBuffer().getType());
  entry.arena = *arena;
  entry.offset = *alloc.getOffset();
  entry.program = number;
  entry.first = *alloc.getFirst();
  entry.last = *alloc.getLast();
  values[alloc.getBuffer()] = buffers.size();
  buffers.push_back(std::move(entry));
  return success();
}

void PlanTables::addGlobalRef(plan::GlobalRefOp ref) {
  uint32_t whole = globals.lookup(ref.getGlobal());
  auto type = cast<MemRefType>(ref.getBuffer().getType());
  if (type == buffers[whole].type) {
    values[ref.getBuffer()] = whole;
    return;
  }
  auto [view, isNew] = views.try_emplace({whole, type}, buffers.size());
  if (isNew) {
    BufferEntry entry = buffers[whole];
    entry.type = type;
    entry.viewOf = static_cast<int32_t>(whole);
    buffers.push_back(std::move(entry));
  }
  values[ref.getBuffer()] = view->second;
}
