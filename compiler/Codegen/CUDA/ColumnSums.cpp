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

/// Registers for the rows that are loaded ahead.
void RowEmitter::declareLoadedRows() {
  declareInputs("n", nextInputs, layout.rowsPerRound);
  for (BlockArgument input : program.getInputs())
    if (isRowScalar(input)) {
      nextInputs[input] = scalars.freshName("n");
      os << formatv("{0} {1}[{2}];\n", cudaScalarType(elementTypeOf(input)),
                    nextInputs[input], layout.rowsPerRound);
    }
}

/// Starts the loads of the group's rows of a round.
void RowEmitter::loadRows(StringRef round) {
  os << formatv("#pragma unroll\nfor (int u = 0; u < {0}; ++u) {{\n",
                layout.rowsPerRound)
     << formatv("const int next = min({0} + u * groups + group, end - 1);\n",
                round);
  for (BlockArgument input : program.getInputs())
    if (isRowScalar(input))
      os << formatv("{0}[u] = {1};\n", nextInputs[input],
                    scalarLoad(input, "next"));
  loadInputs(nextInputs, "next", formatv("u * {0} + ", layout.perLane).str());
  os << "}\n";
}

/// Moves what was loaded ahead into the present round's registers.
void RowEmitter::takeRows() {
  declareInputs("m", roundInputs, layout.rowsPerRound);
  for (BlockArgument input : program.getInputs())
    if (isRowScalar(input)) {
      roundInputs[input] = scalars.freshName("m");
      os << formatv("{0} {1}[{2}];\n", cudaScalarType(elementTypeOf(input)),
                    roundInputs[input], layout.rowsPerRound);
    }
  for (BlockArgument input : program.getInputs())
    if (roundInputs.count(input))
      os << formatv("#pragma unroll\nfor (int j = 0; j < {0}; ++j)\n"
                    "{1}[j] = {2}[j];\n",
                    layout.rowsPerRound *
                        (isRowScalar(input) ? 1 : layout.perLane),
                    roundInputs[input], nextInputs[input]);
}

/// Row u of the round.
void RowEmitter::takeRow() {
  declareInputs("v", variables, 1);
  for (BlockArgument input : program.getInputs())
    if (program.getForm(input) == Form::Element && roundInputs.count(input))
      os << formatv("#pragma unroll\nfor (int i = 0; i < {0}; ++i)\n"
                    "{1}[i] = {2}[u * {0} + i];\n",
                    layout.perLane, variables[input], roundInputs[input]);
}

/// Where a row is kept in shared memory, brings the next one to the
/// second-level cache.
void RowEmitter::prefetchRow() {
  os << "if (round + groups < end) {\n"
     << "const int next = min(round + groups + group, end - 1);\n";
  for (BlockArgument input : program.getInputs())
    if (program.getForm(input) == Form::Element)
      os << formatv(
          "prefetchRow<{2}>((const {0} *){1} + (long long)next * {2}, "
          "lane, {3});\n",
          packType(input), inputNames[numberOf(input)], layout.vectors,
          layout.lanes);
  os << "}\n";
}

/// Starts to copy a row to shared memory, each lane the vectors that it reads.
void RowEmitter::stageRow(StringRef row) {
  beginLoop();
  for (BlockArgument input : program.getInputs())
    if (program.getForm(input) == Form::Element && !input.use_empty()) {
      unsigned number = numberOf(input);
      os << formatv("copyAsync<16>(({0} *)held{1} + c, (const {0} *){2} + "
                    "(long long){3} * {4} + c, true);\n",
                    packType(input), number, inputNames[number], row,
                    layout.vectors);
    }
  endLoop();
}

/// Moves a row that has arrived to registers and lets the next one come.
void RowEmitter::takeStagedRow() {
  declareInputs("v", variables, 1);
  os << "awaitCopies();\n";
  beginLoop();
  for (BlockArgument input : program.getInputs())
    if (program.getForm(input) == Form::Element && !input.use_empty())
      os << formatv("{0}[i] = (({1} *)held{2})[c];\n", variables[input],
                    packType(input), numberOf(input));
  endLoop();
  os << "if (place + groups < end) {\n";
  stageRow("(place + groups)");
  os << "}\n";
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
  unsigned step = layout.rowsPerRound;
  if (layout.prefetches) {
    declareLoadedRows();
    loadRows("first");
  } else if (layout.isStaged) {
    stageRow("(first + group)");
  }
  os << "#pragma unroll 1\n"
     << formatv("for (int round = first; round < end; round += {0} * groups) "
                "{{\n",
                step);
  if (layout.prefetches) {
    takeRows();
    os << formatv("if (round + {0} * groups < end) {{\n", step);
    loadRows(formatv("round + {0} * groups", step).str());
    os << "}\n";
  } else if (isShared()) {
    prefetchRow();
  }
  os << formatv("#pragma unroll\nfor (int u = 0; u < {0}; ++u) {{\n", step)
     << "const int place = round + u * groups + group;\n"
     << "const bool active = place < end;\n"
     << "const int row = active ? place : end - 1;\n";
  if (layout.isStaged) // no registers for what a row computes of its columns
    os << "const int lane = hidden(threadIdx.x);\n";
  emitScalarLoads();
  if (layout.prefetches)
    takeRow();
  else if (layout.isStaged)
    takeStagedRow();
  else if (keepsValues())
    emitRegisterLoads();
  if (failed(emitRow()))
    return failure();
  // The next row's reduction writes the shared memory that lanes may still be
  // reading; of several, the second one's barrier stands between.
  if (program.getNumReductions() == 1 && layout.lanes > 32)
    os << "__syncthreads();\n";
  os << "}\n}\n";
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
