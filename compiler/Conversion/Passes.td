//===- Passes.td - From the gpt2 dialect to the plan dialect -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2_COMPILER_CONVERSION_PASSES_TD
#define GPT2_COMPILER_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertGPT2ToPlanPass : Pass<"convert-gpt2-to-plan", "::mlir::ModuleOp"> {
  let summary = "Turn programs over tensors into plan programs over buffers";
  let description = [{
    Every `func.func` with a `gpt2.program` attribute becomes a `plan.program`,
    and a program `init` loads the parameters and clears gradients and moments. Fused row regions and single
    decomposable ops become `plan.kernel`s, shared where they are equal up to
    the row count; `gpt2.linear` becomes `plan.matmul`, or a matvec kernel where
    its rows are few enough, and its gradients `plan.matmul`. A kernel with sums
    over columns runs over blocks of rows, whose bounds its config fixes. A value that is written to a global is computed
    straight into it unless the global's old value is still needed: kernels
    that read the old value element by element, such as an optimizer's step,
    write over it. Results that nothing uses are not stored.
  }];
  let options = [
    Option<"target", "target", "::mlir::plan::Target",
           /*default=*/"::mlir::plan::Target::CPU", "Machine of the plan", [{
      ::llvm::cl::values(
        clEnumValN(::mlir::plan::Target::CPU, "cpu", "x86-64"),
        clEnumValN(::mlir::plan::Target::CUDA, "cuda", "NVIDIA GPUs"))
    }]>,
    Option<"matvecRows", "matvec-rows", "int64_t", /*default=*/"0",
           "Linears of at most this many rows become matvec kernels">,
    Option<"recordCosts", "record-costs", "bool", /*default=*/"false",
           "Note what an op costs at the first instruction it becomes">
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "Kernels after sharing">,
    Statistic<"numLaunches", "launches", "Launches of kernels">,
    Statistic<"numDirect", "direct-writes",
              "Values computed straight into a global">,
    Statistic<"numCopies", "copies", "Copies that could not be avoided">
  ];
  let dependentDialects = ["::mlir::plan::PlanDialect"];
}

def SelectCudaKernelsPass : Pass<"select-cuda-kernels", "::mlir::ModuleOp"> {
  let summary = "Choose template kernels, grids and workspaces for CUDA";
  let description = [{
    Attention, its gradient, the embedding's, cache append and sampling become
    launches of template kernels; with one token a sequence, attention takes
    over the cache append before it.
    Every launch gets its grid, and matmuls get cuBLASLt's workspace.
  }];
  let options = [
    Option<"matmulWorkspace", "matmul-workspace", "int64_t",
           /*default=*/"4194304",
           "Bytes of workspace that a matmul may use (0: none)">
  ];
  let statistics = [
    Statistic<"numTemplates", "templates", "Launches of template kernels">,
    Statistic<"numFusedAppends", "fused-appends",
              "Cache appends that attention took over">
  ];
  let dependentDialects = ["::mlir::plan::PlanDialect"];
}

def NarrowCudaBiasesPass : Pass<"narrow-cuda-biases", "::mlir::ModuleOp"> {
  let summary = "Give CUDA matmuls their bias in the type of their result";
  let description = [{
    cuBLASLt adds a bias in the type of the result, while parameters that are
    vectors are stored in f32. Such a bias becomes a parameter of its own, named
    `<bias>.f16` or `<bias>.bf16`, which `init` loads from the same tensor of
    the checkpoint. The f32 one stays where something else reads it (a matvec
    kernel) and goes where nothing does. In training `mixed-precision` makes such
    copies, because `update` must write them: a bias that needs one here is an
    error.
  }];
  let statistics = [
    Statistic<"numCopies", "copies", "Biases added in another type">,
    Statistic<"numDropped", "dropped", "Biases that only matmuls read">
  ];
  let dependentDialects = ["::mlir::plan::PlanDialect"];
}

def AssignCpuWorkspacesPass
    : Pass<"assign-cpu-workspaces", "::mlir::plan::ProgramOp"> {
  let summary = "Give CPU instructions the scratch memory that they work in";
  let description = [{
    Matmuls that oneDNN runs, attention and its gradient get a workspace each, as large as
    `runtime/Plan/CpuWorkspace.h` says; the executor lives within it.
  }];
  let statistics = [
    Statistic<"numWorkspaces", "workspaces", "Instructions with a workspace">
  ];
}

#endif // GPT2_COMPILER_CONVERSION_PASSES_TD
