//===- RowKernel.cpp - Row kernels of their own --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/CudaText.h"
#include "compiler/Codegen/CUDA/KernelTemplate.h"
#include "compiler/Codegen/CUDA/RowEmitter.h"
#include "dialects/Plan/PlanOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::gpt2c;
using llvm::formatv;
using llvm::StringRef;

std::string gpt2c::parameter(Value tensor, StringRef name, bool isOutput) {
  return formatv("{0}{1} *{2}", isOutput ? "" : "const ",
                 cudaElementType(elementTypeOf(tensor)), name);
}

/// Thread to (row, column vector), in the layout's way.
static void emitPlace(const RowLayout &layout, llvm::raw_ostream &os) {
  if (layout.kind == RowLayout::Flat) {
    os << formatv("const unsigned index = blockIdx.x * {0}u + threadIdx.x;\n",
                  layout.blockThreads)
       << formatv("const bool active = index < rows * {0}u;\n", layout.vectors)
       << "const unsigned place = active ? index : 0;\n"
       << formatv("const int row = place / {0}u;\n", layout.vectors)
       << formatv("const int c = place % {0}u;\n", layout.vectors);
    return;
  }
  os << formatv("const int lane = threadIdx.x % {0};\n", layout.lanes)
     << formatv("const int slot = blockIdx.x * {0} + threadIdx.x / {1};\n",
                layout.rowsPerBlock(), layout.lanes)
     << "const bool active = slot < rows;\n"
     << "const int row = active ? slot : rows - 1;\n";
}

/// The rows of this block and the threads that share one.
static void emitRowBlockPlace(const RowLayout &layout, int64_t rows,
                              llvm::raw_ostream &os) {
  os << formatv("constexpr int rows = {0}, groups = {1};\n", rows,
                layout.rowsPerBlock())
     << "const int first = (long long)rows * blockIdx.x / blocks;\n"
     << "const int end = (long long)rows * (blockIdx.x + 1) / blocks;\n"
     << formatv("const int lane = threadIdx.x % {0};\n", layout.lanes)
     << formatv("const int group = threadIdx.x / {0};\n", layout.lanes);
}

/// Where inputs that are kept in shared memory, or arrive there, lie.
static void emitHeld(const RowProgram &program, const RowLayout &layout,
                     llvm::raw_ostream &os) {
  int64_t offset = 0;
  for (auto [i, input] : llvm::enumerate(program.getInputs())) {
    if (program.getForm(input) != Form::Element || input.use_empty())
      continue;
    os << formatv("char *held{0} = (char *)dynamicShared() + {1};\n", i,
                  offset);
    offset += elementTypeOf(input).getIntOrFloatBitWidth() / 8 *
              layout.vectors * layout.vector;
  }
}

LogicalResult gpt2c::emitRowKernel(plan::KernelOp kernel,
                                   llvm::raw_ostream &os) {
  FailureOr<RowProgram> program = RowProgram::analyze(kernel.getBody().front());
  if (failed(program))
    return failure();
  RowLayout layout = chooseRowLayout(*program);
  SmallVector<std::string> inputs, outputs;
  std::string bounds = std::to_string(layout.blockThreads);
  if (layout.blocksPerSM > 1)
    bounds += ", " + std::to_string(layout.blocksPerSM);
  os << formatv("extern \"C\" __global__ void __launch_bounds__({0})\n{1}(",
                bounds, kernel.getSymName());
  for (auto [i, input] : llvm::enumerate(program->getInputs())) {
    inputs.push_back(formatv("p{0}", i));
    os << parameter(input, inputs.back(), /*isOutput=*/false) << ", ";
  }
  for (auto [i, output] : llvm::enumerate(program->getOutputs())) {
    outputs.push_back(formatv("q{0}", i));
    os << parameter(output, outputs.back(), /*isOutput=*/true) << ", ";
  }
  bool hasBlocks = program->hasColumnSums();
  os << (hasBlocks ? "int blocks" : "int rows") << ") {\nlaunchDependents();\n";
  if (hasBlocks)
    emitRowBlockPlace(layout, configInt(kernel.getConfigAttr(), "rows"), os);
  else
    emitPlace(layout, os);
  if (layout.sharedBytes > 0)
    emitHeld(*program, layout, os);
  os << "waitForPrevious();\n";
  RowEmitter emitter(*program, layout, inputs, outputs, os);
  if (failed(hasBlocks ? emitter.emitRowBlock() : emitter.emit()))
    return failure();
  os << "}\n";
  return success();
}
