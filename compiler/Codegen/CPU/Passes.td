// Passes that turn row kernels into LLVM functions.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2_COMPILER_CODEGEN_CPU_PASSES
#define GPT2_COMPILER_CODEGEN_CPU_PASSES

include "mlir/Pass/PassBase.td"

def LowerRowKernels : Pass<"lower-row-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn plan.kernel bodies into loops over rows and vectors";
  let description = [{
    Replaces every `plan.kernel` of kind `row` by a function

    ```mlir
    func.func @name(%in..., %out... : memref<?xC...>,
                    %row_begin: index, %row_end: index)
    ```

    that walks the rows of a range. A row is walked in as few passes over its
    columns as its reductions allow (each reduction must be complete before
    what reads it starts); within a pass every value stays in registers. A value
    that a later pass reads is read back from the output that it is stored to,
    computed again where that is cheap, or kept in a temporary on the stack
    (at most 256 KiB a kernel).

    A column sum (a generic of loops reduction, parallel) becomes partial sums.
    The kernel's config holds `rows` and `row_blocks` B; the range then counts
    blocks, block i being the rows from rows * i / B on. Its sums are added up
    in row order in a buffer on the stack and written to column i of an output
    of shape C x B.

    Vectors have 16 elements for every target and sums use 64 partial sums in a
    fixed order, so results depend neither on the instruction set, nor on what
    a kernel was fused with, nor on how rows are split over threads.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "Number of kernels lowered">,
    Statistic<"numPasses", "num-passes", "Number of passes over columns">,
    Statistic<"stackBytes", "stack-bytes", "Bytes of row temporaries">
  ];
}

def ExpandRowMath : Pass<"expand-row-math", "::mlir::ModuleOp"> {
  let summary = "Expand exp, log, tanh, erf and bf16 rounding to arithmetic";
  let description = [{
    Replaces the functions that would call libm by MLIR's polynomial
    approximations, and conversions between f32 and bf16 by integer arithmetic
    (round to nearest even, NaN kept): x86-64-v4 has no instruction for it, and
    that of avx512_bf16 flushes denormals. What is left maps to instructions.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def AddKernelEntries : Pass<"add-kernel-entries", "::mlir::ModuleOp"> {
  let summary = "Give kernels the signature that the runtime calls";
  let description = [{
    Rewrites each `llvm.func` made from a function of rank-2 memrefs and a row
    range to `void name(void *const *buffers, int64_t row_begin, int64_t
    row_end)`: addresses are loaded from `buffers`; sizes and strides that the
    row count would decide are never read.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // GPT2_COMPILER_CODEGEN_CPU_PASSES
