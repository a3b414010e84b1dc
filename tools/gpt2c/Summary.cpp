//===- Summary.cpp - What a written plan holds
//------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "tools/gpt2c/Summary.h"

#include "dialects/Plan/PlanOps.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::gpt2c;

namespace {

/// "474.70 MiB" in a unit that leaves 1 to 4 digits before the point.
struct Bytes {
  uint64_t bytes;
};
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, Bytes size) {
  constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(size.bytes);
  unsigned unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  return os << llvm::format(unit == 0 ? "%.0f " : "%.2f ", value)
            << units[unit];
}

/// Bytes of the activations arena that a program uses.
uint64_t activationsOf(plan::ProgramOp program) {
  uint64_t end = 0;
  for (auto alloc : program.getBody().getOps<plan::AllocOp>())
    if (alloc.getArenaKind() == plan::ArenaKind::Activations &&
        alloc.getOffset())
      end = std::max(end, *alloc.getOffset() + uint64_t(alloc.getBytes()));
  return end;
}

/// Programs share the activations: the arena is as large as the largest needs.
void printPrograms(llvm::raw_ostream &os, ModuleOp module) {
  for (auto program : module.getOps<plan::ProgramOp>()) {
    os << llvm::format("  program %-15s %5zu instructions",
                       program.getSymName().str().c_str(),
                       size_t(llvm::range_size(program.getInstructions())));
    if (uint64_t bytes = activationsOf(program))
      os << ", activations " << Bytes{bytes};
    os << '\n';
  }
}

void printCode(llvm::raw_ostream &os, const CompiledCode &code) {
  os << "  kernels " << code.kernels.size() << ", for ";
  SmallVector<StringRef> archs;
  for (const CodeModule &module : code.modules)
    if (!llvm::is_contained(archs, module.arch))
      archs.push_back(module.arch);
  llvm::interleaveComma(archs, os);
  os << '\n';
}

void printArenas(llvm::raw_ostream &os, ModuleOp module) {
  uint64_t total = 0;
  for (auto arena : module.getOps<plan::ArenaOp>()) {
    total += arena.getBytes();
    os << llvm::format("  %-12s %14llu bytes  ",
                       plan::stringifyArenaKind(arena.getKind()).data(),
                       static_cast<unsigned long long>(arena.getBytes()))
       << Bytes{arena.getBytes()} << '\n';
  }
  os << llvm::format("  %-12s %14llu bytes  ", "total",
                     static_cast<unsigned long long>(total))
     << Bytes{total} << '\n';
}

} // namespace

void mlir::gpt2c::printSummary(llvm::raw_ostream &os, ModuleOp module,
                               const CompiledCode &code, StringRef path,
                               uint64_t fileBytes) {
  os << "wrote " << path << ", " << Bytes{fileBytes} << '\n';
  printPrograms(os, module);
  printCode(os, code);
  os << "memory that gpt2-run will allocate\n";
  printArenas(os, module);
}
