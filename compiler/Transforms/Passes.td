// Passes over the gpt2 dialect.
// SPDX-License-Identifier: Apache-2.0

#ifndef GPT2C_COMPILER_TRANSFORMS_PASSES_TD
#define GPT2C_COMPILER_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def MixedPrecision : Pass<"mixed-precision", "::mlir::ModuleOp"> {
  let summary = "Choose the types of parameters, caches and activations";
  let description = [{
    Takes an f32 module. With `fp16` or `bf16`, matrices and KV caches are
    stored in the low type and vectors stay f32; each op of a program computes
    in the type that its `PrecisionOpInterface` class asks for, and casts are
    inserted where an operand has another. `fp32` and `tf32` change no type:
    they only mark the module, and `tf32` concerns matrix products on CUDA. The
    module gets the attribute `gpt2.precision`; a module that has it is refused.

    The statistics are also an analysis remark of the category
    `mixed-precision`, for packages of LLVM that keep none (Debian's).
  }];
  let options = [
    Option<"precision", "precision", "::mlir::gpt2c::Precision",
           "::mlir::gpt2c::Precision::FP32", "Type of products and storage",
           [{::llvm::cl::values(
              clEnumValN(::mlir::gpt2c::Precision::FP32, "fp32",
                         "f32 throughout"),
              clEnumValN(::mlir::gpt2c::Precision::TF32, "tf32",
                         "f32 storage, tensor cores on CUDA"),
              clEnumValN(::mlir::gpt2c::Precision::FP16, "fp16",
                         "f16 products and storage"),
              clEnumValN(::mlir::gpt2c::Precision::BF16, "bf16",
                         "bf16 products and storage"))}]>
  ];
  let statistics = [
    Statistic<"numCasts", "casts-inserted", "Number of casts inserted">,
    Statistic<"numParameters", "parameters-retyped",
              "Number of parameters stored in the low type">,
    Statistic<"numCaches", "caches-retyped",
              "Number of KV caches stored in the low type">
  ];
  let dependentDialects = ["::mlir::gpt2::GPT2Dialect"];
}

// Of the module, so that remarks come in one order.
def Fuse : Pass<"fuse", "::mlir::ModuleOp"> {
  let summary = "Form the regions that become one kernel";
  let description = [{
    First, every `gpt2.linear` of at most `matvec-rows` rows takes its
    elementwise consumers as an epilogue and cheap producers that nothing else
    uses as a prologue (`gpt2.fused matvec`): every block of a matvec kernel
    repeats the prologue. Then decomposable ops that feed each other and have
    equal rows and widths are grouped greedily in program order
    (`gpt2.fused row`); what other ops use leaves the region as a result. A
    linear outside a matvec region keeps its bias as the epilogue of a library
    call. Regions are never formed where they would need each other's results.

    Remarks of the category `fuse` say what was formed and why a neighbour of a
    region stayed outside, and count it all for each program.
  }];
  let options = [
    Option<"matvecRows", "matvec-rows", "int64_t", "0",
           "Most rows of a linear that becomes a matvec region (0: none)">
  ];
  let statistics = [
    Statistic<"numRowRegions", "row-regions", "Number of row regions formed">,
    Statistic<"numMatvecRegions", "matvec-regions",
              "Number of matvec regions formed">,
    Statistic<"numFusedOps", "ops-fused", "Number of ops moved into regions">,
    Statistic<"numPrologueOps", "prologue-ops",
              "Number of ops in prologues of matvec regions">,
    Statistic<"numEpilogueOps", "epilogue-ops",
              "Number of ops in epilogues of matvec regions">
  ];
  let dependentDialects = ["::mlir::gpt2::GPT2Dialect"];
}

#endif // GPT2C_COMPILER_TRANSFORMS_PASSES_TD
