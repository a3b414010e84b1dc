//===- Lifetimes.cpp - When the buffers of a program are live
//---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Memory/Lifetimes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::gpt2c;

FailureOr<SmallVector<BufferLifetime>>
mlir::gpt2c::computeLifetimes(plan::ProgramOp program) {
  llvm::MapVector<Value, BufferLifetime> lives;
  for (auto alloc : program.getBody().getOps<plan::AllocOp>())
    lives.insert({alloc.getBuffer(), BufferLifetime()});
  for (auto [i, op] : llvm::enumerate(program.getInstructions())) {
    for (const plan::BufferAccess &access : plan::getAccesses(op)) {
      auto found = lives.find(access.operand->get());
      if (found == lives.end())
        continue;
      BufferLifetime &life = found->second;
      if (!life.alloc) {
        if (access.reads)
          return op->emitOpError()
                 << "reads operand " << access.operand->getOperandNumber()
                 << " before anything has written it";
        life.alloc = found->first.getDefiningOp<plan::AllocOp>();
        life.first = i;
      }
      life.last = i;
    }
  }
  SmallVector<BufferLifetime> result;
  for (auto &[buffer, life] : lives)
    if (life.alloc)
      result.push_back(life);
  return result;
}

namespace {

/// The only instruction after which nothing touches the buffer.
bool isLastUse(Value buffer, Operation *instruction) {
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    return user == instruction || user->isBeforeInBlock(instruction);
  });
}

bool isFirstUse(Value buffer, Operation *instruction) {
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    return user == instruction || instruction->isBeforeInBlock(user);
  });
}

unsigned countUses(Value buffer, Operation *instruction) {
  return llvm::count(instruction->getOperands(), buffer);
}

bool canShare(Value input, Value output, Operation *instruction) {
  return input.getDefiningOp<plan::AllocOp>() &&
         output.getDefiningOp<plan::AllocOp>() &&
         input.getType() == output.getType() && input != output &&
         countUses(input, instruction) == 1 &&
         countUses(output, instruction) == 1 && isLastUse(input, instruction) &&
         isFirstUse(output, instruction);
}

} // namespace

unsigned mlir::gpt2c::reuseInPlace(plan::ProgramOp program) {
  unsigned reused = 0;
  for (plan::InstructionOpInterface op : program.getInstructions())
    for (auto [read, written] : op.getInPlaceOperands()) {
      Value input = op->getOperand(read), output = op->getOperand(written);
      if (!canShare(input, output, op))
        continue;
      Operation *alloc = output.getDefiningOp();
      output.replaceAllUsesWith(input);
      alloc->erase();
      ++reused;
    }
  return reused;
}

void mlir::gpt2c::removeUnusedBuffers(plan::ProgramOp program) {
  for (Operation &op : llvm::make_early_inc_range(program.getBody().front()))
    if (isa<plan::AllocOp, plan::GlobalRefOp>(op) && op.use_empty())
      op.erase();
}
