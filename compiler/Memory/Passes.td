//===- Passes.td - Memory planning -----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2_COMPILER_MEMORY_PASSES_TD
#define GPT2_COMPILER_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanMemoryPass : Pass<"plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every buffer and global its arena and offset";
  let description = [{
    Globals lie one after another in the arena of their kind. The buffers of a
    program are packed by several greedy orders, of which the smallest result
    is kept; programs never run at the same time, so all of them share the
    activations and workspace arenas, which are as large as the largest program
    needs. A remark says how far each program is from its lower bound, the most
    bytes live at one instruction.

    Slots are aligned to 256 bytes and parameters to 512 on CUDA; to 64 bytes on
    the CPU, whose arenas start at 2 MiB boundaries (huge pages).
  }];
  let options = [
    Option<"inPlace", "in-place", "bool", /*default=*/"true",
           "Let row kernels write over inputs that they are the last to use">
  ];
  let statistics = [
    Statistic<"numBuffers", "buffers", "Buffers with a lifetime">,
    Statistic<"numReused", "in-place", "Buffers that took over an input's">,
    Statistic<"activationBytes", "activation-bytes",
              "Bytes of the activations arena">,
    Statistic<"lowerBoundBytes", "lower-bound-bytes",
              "Most activation bytes live at one instruction">,
    Statistic<"totalBytes", "total-bytes", "Bytes of all arenas">
  ];
}

#endif // GPT2_COMPILER_MEMORY_PASSES_TD
