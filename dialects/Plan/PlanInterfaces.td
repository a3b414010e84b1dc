//===- PlanInterfaces.td - What plan passes ask of an op --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2_DIALECTS_PLAN_PLANINTERFACES_TD
#define GPT2_DIALECTS_PLAN_PLANINTERFACES_TD

include "mlir/IR/OpBase.td"

def InstructionOpInterface : OpInterface<"InstructionOpInterface"> {
  let cppNamespace = "::mlir::plan";
  let description = [{
    An op that becomes one instruction of a program. Instructions run in
    program order and are numbered from 0; lifetimes are counted in those
    numbers. What an instruction reads and writes, its memory effects say.
  }];
  let methods = [
    InterfaceMethod<"Whether the instruction may run on the first `count` rows "
                    "only, in programs that have a count slot.",
                    "bool", "followsCount">,
    InterfaceMethod<[{
        Pairs (read operand, written operand) that may share memory, each
        written operand with one read operand: all reads of an element come
        before its write, by one thread.
      }], "::llvm::SmallVector<std::pair<unsigned, unsigned>>",
      "getInPlaceOperands", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return {};">,
  ];
}

#endif // GPT2_DIALECTS_PLAN_PLANINTERFACES_TD
