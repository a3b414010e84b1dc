//===- RowKernel.cpp - Row kernels of their own --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/CudaText.h"
#include "compiler/Codegen/CUDA/RowEmitter.h"
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

LogicalResult gpt2c::emitRowKernel(StringRef name, Block &body,
                                   llvm::raw_ostream &os) {
  FailureOr<RowProgram> program = RowProgram::analyze(body);
  if (failed(program))
    return failure();
  RowLayout layout = chooseRowLayout(*program);
  SmallVector<std::string> inputs, outputs;
  os << formatv("extern \"C\" __global__ void __launch_bounds__({0})\n{1}(",
                layout.blockThreads, name);
  for (auto [i, input] : llvm::enumerate(program->getInputs())) {
    inputs.push_back(formatv("p{0}", i));
    os << parameter(input, inputs.back(), /*isOutput=*/false) << ", ";
  }
  for (auto [i, output] : llvm::enumerate(program->getOutputs())) {
    outputs.push_back(formatv("q{0}", i));
    os << parameter(output, outputs.back(), /*isOutput=*/true) << ", ";
  }
  os << "int rows) {\nlaunchDependents();\n";
  emitPlace(layout, os);
  os << "waitForPrevious();\n";
  RowEmitter emitter(*program, layout, inputs, outputs, os);
  if (failed(emitter.emit()))
    return failure();
  os << "}\n";
  return success();
}
