//===- PlanTables.h - Indices of what a plan file names ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The plan file names buffers, arenas and kernels by index. These tables give
// out the indices, in an order that depends on the module alone.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Plan/PlanOps.h"
#include "runtime/Plan/plan_generated.h"
#include "llvm/ADT/StringMap.h"

#include <array>
#include <optional>

namespace mlir::gpt2c {

/// The plan file's spelling of an element type; i8 buffers are bytes (U8).
gpt2rt::fb::DType dtypeOf(Type elementType);

/// One row of the file's buffer table.
struct BufferEntry {
  std::string name;
  MemRefType type;
  uint32_t arena = 0;
  uint64_t offset = 0;
  int32_t program = -1;
  uint32_t first = 0;
  uint32_t last = 0;
  int32_t viewOf = -1;
};

/// Globals first, then the buffers and views of one program after another.
class PlanTables {
public:
  /// Fails, with a diagnostic, where memory has not been planned.
  static FailureOr<PlanTables> build(ModuleOp module);

  ArrayRef<plan::ArenaOp> getArenas() const { return arenas; }
  ArrayRef<plan::KernelOp> getKernels() const { return kernels; }
  ArrayRef<plan::ProgramOp> getPrograms() const { return programs; }
  ArrayRef<BufferEntry> getBuffers() const { return buffers; }
  /// What ops cost, each once.
  ArrayRef<DictionaryAttr> getCosts() const { return costs; }

  uint32_t indexOf(Value buffer) const { return values.lookup(buffer); }
  /// -1 for an absent optional operand.
  int32_t indexOrNone(Value buffer) const {
    return buffer ? static_cast<int32_t>(indexOf(buffer)) : -1;
  }
  /// Of an instruction's cost; -1 where it has none.
  int32_t costIndex(Operation *instruction) const;
  uint32_t globalIndex(StringRef name) const { return globals.lookup(name); }
  uint32_t kernelIndex(StringRef name) const {
    return kernelNumbers.lookup(name);
  }

private:
  LogicalResult addGlobals(ModuleOp module);
  LogicalResult addProgram(plan::ProgramOp program, int32_t number);
  LogicalResult addAlloc(plan::AllocOp alloc, StringRef program,
                         int32_t number);
  void addGlobalRef(plan::GlobalRefOp ref);
  /// The arena that `op` lies in.
  FailureOr<uint32_t> arenaOf(Operation *op, plan::ArenaKind kind) const;

  SmallVector<plan::ArenaOp> arenas;
  SmallVector<plan::KernelOp> kernels;
  SmallVector<plan::ProgramOp> programs;
  std::vector<BufferEntry> buffers;
  SmallVector<DictionaryAttr> costs;
  DenseMap<Attribute, int32_t> costNumbers;
  std::array<std::optional<uint32_t>, plan::getMaxEnumValForArenaKind() + 1>
      arenaNumbers;
  llvm::StringMap<uint32_t> globals, kernelNumbers;
  DenseMap<std::pair<uint32_t, Type>, uint32_t> views;
  DenseMap<Value, uint32_t> values;
};

} // namespace mlir::gpt2c
