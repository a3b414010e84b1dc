//===- ColumnSums.cpp - Row programs over blocks of rows as CUDA C++ ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A block of threads serves a block of rows: its groups of lanes take rows in
// turn, each lane adds up its own columns in registers, and at the end the
// groups' sums are added in order. So a partial sum depends on the row block
// alone. The number of rounds is the same for all groups, because reductions
// meet at barriers; a group without a row repeats the last one, not `active`.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/CudaText.h"
#include "compiler/Codegen/CUDA/RowEmitter.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::gpt2c;
using llvm::formatv;
using llvm::StringRef;

void RowEmitter::declareColumnSums() {
  for (linalg::GenericOp op : program.getGenerics()) {
    if (!program.isColumnSum(op))
      continue;
    for (Value result : op->getResults()) {
      variables[result] = scalars.freshName("a");
      os << (program.getForm(result) == Form::Column
                 ? formatv("float {0}[{1}][{2}] = {{};\n", variables[result],
                           layout.perLane, layout.vector)
                       .str()
                 : formatv("float {0} = 0.0f;\n", variables[result]).str());
    }
  }
}

/// Starts the loads of the row that the group takes next, or, where a row is
/// kept in shared memory, brings it to the second-level cache.
void RowEmitter::prefetchNextRow() {
  if (!layout.prefetches && !isShared())
    return;
  os << "if (round + groups < end) {\n"
     << "const int next = min(round + groups + group, end - 1);\n";
  for (BlockArgument input : program.getInputs()) {
    if (isShared() && program.getForm(input) == Form::Element)
      os << formatv(
          "prefetchRow<{2}>((const {0} *){1} + (long long)next * {2}, "
          "lane, {3});\n",
          packType(input), inputNames[numberOf(input)], layout.vectors,
          layout.lanes);
    if (layout.prefetches && isRowScalar(input))
      os << formatv("{0} = {1};\n", nextInputs[input],
                    scalarLoad(input, "next"));
  }
  if (layout.prefetches)
    loadInputs(nextInputs, "next");
  os << "}\n";
}

/// Moves what was loaded ahead into the present row's variables.
void RowEmitter::takeLoaded() {
  declareInputs("v", variables);
  beginLoop();
  for (BlockArgument input : program.getInputs())
    if (program.getForm(input) == Form::Element && nextInputs.count(input))
      os << formatv("{0}[i] = {1}[i];\n", variables[input], nextInputs[input]);
  endLoop();
}

LogicalResult RowEmitter::emitRowBlock() {
  if (!keepsValues() && program.getColumnResults() != 0)
    return emitError(program.getBlock().getParentOp()->getLoc(),
                     "adds up rows of ")
           << program.getColumns()
           << " columns, which do not fit the registers of a block";
  for (Operation &op : program.getBlock())
    if (op.getDialect()->getNamespace() == "arith" && failed(scalars.print(op)))
      return failure();
  declareColumnSums();
  if (layout.prefetches) {
    os << "const int start = min(first + group, end - 1);\n";
    declareInputs("n", nextInputs);
    loadInputs(nextInputs, "start");
    for (BlockArgument input : program.getInputs())
      if (isRowScalar(input)) {
        nextInputs[input] = scalars.freshName("n");
        os << formatv("{0} {1} = {2};\n", cudaScalarType(elementTypeOf(input)),
                      nextInputs[input], scalarLoad(input, "start"));
      }
  }
  os << "#pragma unroll 1\n"
     << "for (int round = first; round < end; round += groups) {\n"
     << "const bool active = round + group < end;\n"
     << "const int row = active ? round + group : end - 1;\n";
  emitScalarLoads();
  if (layout.prefetches)
    takeLoaded();
  else if (keepsValues())
    emitRegisterLoads();
  prefetchNextRow();
  if (failed(emitRow()))
    return failure();
  // The next row's reduction writes the shared memory that lanes may still be
  // reading; of several, the second one's barrier stands between.
  if (program.getNumReductions() == 1 && layout.lanes > 32)
    os << "__syncthreads();\n";
  os << "}\n";
  finishColumnSums();
  return success();
}

void RowEmitter::finishColumnSums() {
  for (auto [i, output] : llvm::enumerate(program.getOutputs())) {
    auto op = output.getDefiningOp<linalg::GenericOp>();
    if (!op || !program.isColumnSum(op))
      continue;
    if (program.getForm(output) == Form::Single)
      finishSingle(output, outputNames[i]);
    else
      finishColumns(output, outputNames[i]);
  }
}

/// One sum a block: what the first lane of each group has.
void RowEmitter::finishSingle(Value sum, StringRef output) {
  std::string name = variables.lookup(sum);
  std::string shared = scalars.freshName("shared");
  os << formatv("__shared__ float {0}[{1}];\n", shared,
                layout.blockThreads / 32)
     << formatv("{0} = reduceWarps<Add, {1}>(lane == 0 ? {0} : 0.0f, {2});\n",
                name, layout.blockThreads, shared)
     << formatv("if (threadIdx.x == 0)\n{0}[blockIdx.x] = {1};\n", output,
                name);
}

/// Partial sums of a column lie side by side, one a block.
void RowEmitter::finishColumns(Value sum, StringRef output) {
  std::string name = variables.lookup(sum);
  unsigned groups = layout.rowsPerBlock();
  std::string shared = scalars.freshName("shared");
  if (groups > 1) {
    os << formatv("__shared__ float {0}[{1}][{2}];\nif (group > 0) {{\n",
                  shared, groups - 1, program.getColumns());
    beginLoop();
    os << formatv("#pragma unroll\nfor (int k = 0; k < {0}; ++k)\n"
                  "{1}[group - 1][c * {0} + k] = {2}[i][k];\n",
                  layout.vector, shared, name);
    endLoop();
    os << "}\n__syncthreads();\n";
  }
  os << "if (group == 0) {\n";
  beginLoop();
  os << formatv("#pragma unroll\nfor (int k = 0; k < {0}; ++k) {{\n",
                layout.vector);
  if (groups > 1)
    os << formatv("for (int g = 0; g < {0}; ++g)\n"
                  "{1}[i][k] += {2}[g][c * {3} + k];\n",
                  groups - 1, name, shared, layout.vector);
  os << formatv("{0}[(long long)(c * {1} + k) * blocks + blockIdx.x] = "
                "{2}[i][k];\n}\n",
                output, layout.vector, name);
  endLoop();
  os << "}\n";
}
