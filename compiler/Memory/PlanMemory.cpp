//===- PlanMemory.cpp - Arenas and offsets
//----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Memory/Lifetimes.h"
#include "compiler/Memory/Packing.h"
#include "compiler/Memory/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

#include <array>

namespace mlir::gpt2c {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "compiler/Memory/Passes.h.inc"
} // namespace mlir::gpt2c

using namespace mlir;
using namespace mlir::gpt2c;
using plan::ArenaKind;

namespace {

constexpr uint64_t huge = uint64_t(2) << 20;

/// Where slots and arenas may start, in bytes.
struct Alignments {
  uint64_t slot, parameter, arena;

  static Alignments forModule(ModuleOp module) {
    auto target = module->getAttrOfType<plan::TargetAttr>(plan::targetAttrName);
    if (target && target.getValue() == plan::Target::CUDA)
      return {256, 512, 512};
    return {64, 64, huge};
  }
  uint64_t of(ArenaKind kind) const {
    return kind == ArenaKind::Weights ? parameter : slot;
  }
};

struct PlanMemory : gpt2c::impl::PlanMemoryPassBase<PlanMemory> {
  using PlanMemoryPassBase::PlanMemoryPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module.getOps<plan::ArenaOp>().empty()) {
      module.emitError("memory is already planned");
      return signalPassFailure();
    }
    alignments = Alignments::forModule(module);
    arenaBytes.fill(0);
    for (auto global : module.getOps<plan::GlobalOp>())
      place(global);
    for (auto program : module.getOps<plan::ProgramOp>())
      if (failed(planProgram(program)))
        return signalPassFailure();
    createArenas(module);
  }

private:
  uint64_t &bytesIn(ArenaKind kind) { return arenaBytes[unsigned(kind)]; }

  void place(plan::GlobalOp global) {
    ArenaKind kind = global.getArenaKind();
    uint64_t &end = bytesIn(kind);
    global.setOffset(end);
    end = llvm::alignTo(end + plan::bytesOf(global.getMemRefType()),
                        alignments.of(kind));
  }

  LogicalResult planProgram(plan::ProgramOp program) {
    if (inPlace)
      numReused += reuseInPlace(program);
    removeUnusedBuffers(program);
    FailureOr<SmallVector<BufferLifetime>> lives = computeLifetimes(program);
    if (failed(lives))
      return failure();
    numBuffers += lives->size();
    for (ArenaKind kind : {ArenaKind::Activations, ArenaKind::Workspace})
      planArena(program, kind, *lives);
    return success();
  }

  /// Packs the program's buffers of one kind.
  void planArena(plan::ProgramOp program, ArenaKind kind,
                 ArrayRef<BufferLifetime> lives) {
    SmallVector<PackItem> items;
    SmallVector<plan::AllocOp> allocs;
    for (const BufferLifetime &life : lives) {
      plan::AllocOp alloc = life.alloc;
      if (alloc.getArenaKind() != kind)
        continue;
      items.push_back({uint64_t(alloc.getBytes()), life.first, life.last});
      allocs.push_back(alloc);
    }
    if (items.empty())
      return;
    Packing packing = pack(items, alignments.of(kind));
    uint64_t bound = packLowerBound(items, alignments.of(kind));
    for (auto [alloc, item, offset] :
         llvm::zip_equal(allocs, items, packing.offsets)) {
      alloc.setOffset(offset);
      alloc.setFirst(item.first);
      alloc.setLast(item.last);
    }
    bytesIn(kind) = std::max(bytesIn(kind), packing.peak);
    if (kind == ArenaKind::Activations)
      lowerBoundBytes.updateMax(bound);
    report(program, kind, packing, bound);
  }

  void report(plan::ProgramOp program, ArenaKind kind, const Packing &packing,
              uint64_t bound) {
    auto opts = remark::RemarkOpts::name("PlannedMemory")
                    .category("plan-memory")
                    .function(program.getSymName());
    remark::analysis(program.getLoc(), opts)
        << remark::metric("Arena", stringifyArenaKind(kind).str())
        << remark::metric("Bytes", packing.peak)
        << remark::metric("LowerBound", bound)
        << remark::metric("Buffers", packing.offsets.size())
        << remark::metric("Order", std::string(name(packing.order)));
  }

  void createArenas(ModuleOp module) {
    OpBuilder builder(module.getContext());
    builder.setInsertionPointToStart(module.getBody());
    for (unsigned kind = 0; kind < arenaBytes.size(); ++kind) {
      if (arenaBytes[kind] == 0)
        continue;
      totalBytes += arenaBytes[kind];
      plan::ArenaOp::create(builder, module.getLoc(), ArenaKind(kind),
                            arenaBytes[kind], alignments.arena);
    }
    activationBytes += bytesIn(ArenaKind::Activations);
  }

  Alignments alignments = {};
  std::array<uint64_t, plan::getMaxEnumValForArenaKind() + 1> arenaBytes = {};
};

} // namespace
