// Passes over the gpt2 dialect.
// SPDX-License-Identifier: Apache-2.0

#ifndef GPT2C_COMPILER_TRANSFORMS_PASSES_TD
#define GPT2C_COMPILER_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def BuildTraining : Pass<"build-training", "::mlir::ModuleOp"> {
  let summary = "Add gradients, optimizer state and the update program";
  let description = [{
    Takes an f32 module with a program of the role accumulate that ends in a
    loss (`gpt2.cross_entropy`), and appends the loss's gradient to it: ops are
    differentiated in reverse order through `DifferentiableOpInterface`, and
    gradients of a value with several users are added in that order. Every
    parameter NAME that the loss depends on gets the globals NAME.grad, NAME.m
    and NAME.v. `accumulate` adds to NAME.grad; the new program `update` takes
    the norm of all gradients, decides what the step does, and makes an AdamW
    step of each parameter (matrices decay), which zeroes its gradient.
    Matrices come first everywhere. A tied embedding is one parameter: both of
    its gradients go into one sum. A parameter that the loss does not depend on
    gets no gradient and no step; a remark names it. Programs of the role
    accumulate for other lengths of sequences add to the same gradients.

    accumulate and validate also add the losses of their rows to `loss_sum`.
    The slots `order`, `loss_sum`, `step_params` and `train_state` must exist.
  }];
  let options = [
    Option<"rowBlocks", "row-blocks", "int64_t", "64",
           "Most partial sums of a sum over rows">
  ];
  let statistics = [
    Statistic<"numParameters", "parameters-trained",
              "Number of parameters that get a gradient">,
    Statistic<"numOps", "ops-added", "Number of ops added to accumulate">
  ];
  let dependentDialects = ["::mlir::gpt2::GPT2Dialect"];
}

def MixedPrecision : Pass<"mixed-precision", "::mlir::ModuleOp"> {
  let summary = "Choose the types of parameters, caches and activations";
  let description = [{
    Takes an f32 module. With `fp16` or `bf16`, matrices and KV caches are
    stored in the low type and vectors stay f32; each op of a program computes
    in the type that its `PrecisionOpInterface` class asks for, and casts are
    inserted where an operand has another. `fp32` and `tf32` change no type:
    they only mark the module, and `tf32` concerns matrix products and attention
    on CUDA. The module gets the attribute `gpt2.precision`; a module that has it
    is refused.

    A parameter NAME that an update program steps stays f32. If it is a matrix,
    the other programs read a working copy NAME.low in the low type, which the
    step writes, too. With `narrow-biases`, so does a bias that is added to a
    result in the low type: cuBLASLt takes no other. Gradients of parameters and
    moments stay f32. With `fp16` the update scales the loss dynamically.

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
                         "bf16 products and storage"))}]>,
    Option<"narrowBiases", "narrow-biases", "bool", "false",
           "Keep working copies of trained biases of low results, too">
  ];
  let statistics = [
    Statistic<"numCasts", "casts-inserted", "Number of casts inserted">,
    Statistic<"numParameters", "parameters-retyped",
              "Number of parameters stored in the low type">,
    Statistic<"numCaches", "caches-retyped",
              "Number of KV caches stored in the low type">,
    Statistic<"numCopies", "working-copies",
              "Number of working copies of trained parameters">
  ];
  let dependentDialects = ["::mlir::gpt2::GPT2Dialect"];
}

def LeanStorage : Pass<"lean-storage", "::mlir::ModuleOp"> {
  let summary = "Keep no 16-bit weights and only 16-bit gradients";
  let description = [{
    For devices that hold little more than the f32 masters and moments of a
    model. Working copies of matrices go: each product casts its weight from the
    master right before it runs. The gradient of a matrix that one product
    computes is written in the low type in place of being added up in f32; other
    gradients (vectors, embeddings) stay. So a step can have one micro-batch
    only: the module gets `gpt2.max_accumulation = 1`, which export writes into
    the plan.

    Runs behind `mixed-precision` and CSE, which would join the casts, and before
    `fuse`.
  }];
  let statistics = [
    Statistic<"numCopies", "working-copies-dropped",
              "Number of working copies of matrices dropped">,
    Statistic<"numGradients", "gradients-narrowed",
              "Number of gradients stored in the low type">,
    Statistic<"numCasts", "casts-inserted", "Number of casts inserted">
  ];
  let dependentDialects = ["::mlir::gpt2::GPT2Dialect"];
}

def ChunkLmHead : Pass<"chunk-lm-head", "::mlir::ModuleOp"> {
  let summary = "Compute logits and their gradients a part of the rows at a time";
  let description = [{
    In `accumulate` and `validate`, the product with the head, the loss and the
    products with its gradient run for one chunk of rows after the other, so that
    the logits of one chunk exist at a time. Chunk i of N has the rows from
    R * i / N to R * (i + 1) / N. The weight's gradient is summed chunk by chunk:
    N is part of what a plan computes. Programs for shorter sequences get as many
    chunks as keep theirs no larger. Runs behind `build-training`, and behind
    `mixed-precision` and CSE, before `fuse`.
  }];
  let options = [
    Option<"chunks", "chunks", "int64_t", "1", "Parts of the rows (1: leave all)">
  ];
  let statistics = [
    Statistic<"numHeads", "heads-split", "Number of LM heads split">
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
    (`gpt2.fused row`), as long as the kernel has at most `max-inputs` inputs;
    what other ops use leaves the region as a result. A
    linear outside a matvec region keeps its bias as the epilogue of a library
    call. Regions are never formed where they would need each other's results.

    A program of the role accumulate holds values from its forward half to its
    backward half, so the ops of its row regions stand close: between the first
    and the last one there are only row kernels, no product or attention. So no
    forward op is computed late or backward op early, and no value lives longer
    than a few kernels more.

    Remarks of the category `fuse` say what was formed and why a neighbour of a
    region stayed outside, and count it all for each program.
  }];
  let options = [
    Option<"matvecRows", "matvec-rows", "int64_t", "0",
           "Most rows of a linear that becomes a matvec region (0: none)">,
    Option<"maxInputs", "max-inputs", "int64_t", "16",
           "Most inputs of a row region">
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

def Rematerialize : Pass<"rematerialize", "::mlir::ModuleOp"> {
  let summary = "Compute forward values again in the backward half";
  let description = [{
    Of what a layer (`gpt2.layer`) of an `accumulate` program computes for its
    backward half, `block` keeps row statistics and what the next layer reads;
    `auto` keeps the values that make the program cheapest while its activations
    fit `budget`. The rest is computed again right before the first backward op
    that uses it: by clones of the same ops, so that every bit is the same.

    `auto` tries every subset of a layer's values, keeps those that no other
    beats in bytes kept, bytes needed at its own peak and time, and chooses one
    for each layer by dynamic programming over (layer, bytes). Time comes from
    `CostOpInterface` and the rates, or from a table of measured times: a JSON
    object such as
    {"linear 8x16xbf16 32x16xbf16 32xf32 -> 8x32xbf16": 11.5}, microseconds by
    op, operand types and result types; a region's name joins its ops by "+".

    Runs after `fuse`. CSE behind it would undo it.
  }];
  let options = [
    Option<"mode", "mode", "::mlir::gpt2c::RematMode",
           "::mlir::gpt2c::RematMode::None", "What is computed again",
           [{::llvm::cl::values(
              clEnumValN(::mlir::gpt2c::RematMode::None, "none", "nothing"),
              clEnumValN(::mlir::gpt2c::RematMode::Block, "block",
                         "all but statistics and what the next layer reads"),
              clEnumValN(::mlir::gpt2c::RematMode::Auto, "auto",
                         "what the budget asks for"))}]>,
    Option<"budget", "budget", "int64_t", "0",
           "Most bytes of activations live at once (mode=auto)">,
    Option<"costTable", "cost-table", "std::string", "",
           "JSON file of measured microseconds">,
    Option<"matmulRate", "matmul-rate", "double", "3e14",
           "Operations a second of the device">,
    Option<"byteRate", "byte-rate", "double", "3e12",
           "Bytes a second of the device's memory">
  ];
  let statistics = [
    Statistic<"numValues", "values-recomputed",
              "Number of values computed again">,
    Statistic<"numOps", "ops-added", "Number of ops and regions added">,
    Statistic<"keptBytes", "kept-bytes",
              "Bytes kept from the forward to the backward half">,
    Statistic<"peakBytes", "peak-bytes",
              "Most activation bytes live, before memory is planned">
  ];
  let dependentDialects = ["::mlir::gpt2::GPT2Dialect"];
}

#endif // GPT2C_COMPILER_TRANSFORMS_PASSES_TD
