//===- RowEmitter.cpp - Row programs as CUDA C++ --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/RowEmitter.h"
#include "compiler/Codegen/CUDA/CudaText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpt2c;
using llvm::formatv;
using llvm::StringRef;

/// Rows that the block layout has room for.
static constexpr unsigned maxBlockRows = 8;

RowEmitter::RowEmitter(const RowProgram &program, const RowLayout &layout,
                       ArrayRef<std::string> inputNames,
                       ArrayRef<std::string> outputNames, llvm::raw_ostream &os)
    : program(program), layout(layout), inputNames(inputNames),
      outputNames(outputNames), os(os), scalars(os) {
  for (BlockArgument argument : program.getBlock().getArguments())
    if (argument.getType().isIndex())
      scalars.bind(argument, "(long long)rows");
}

void RowEmitter::bindInput(unsigned i, std::string name) {
  variables[program.getInputs()[i]] = std::move(name);
}

std::string RowEmitter::packType(Value tensor) const {
  return formatv("Pack<{0}, {1}>", cudaElementType(elementTypeOf(tensor)),
                 layout.vector);
}

/// The vector of `tensor` in the current step over the columns.
std::string RowEmitter::reference(Value tensor) const {
  std::string name = variables.lookup(RowProgram::strip(tensor));
  bool stepped = keepsValues() && program.getForm(tensor) == Form::Element;
  return stepped ? name + "[i]" : name;
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

unsigned RowEmitter::numberOf(Value input) const {
  return llvm::find(program.getInputs(), input) - program.getInputs().begin();
}

bool RowEmitter::isRowScalar(Value input) const {
  return program.getForm(input) == Form::Row;
}

/// A Row or Single input as a scalar.
std::string RowEmitter::scalarLoad(Value input, StringRef row) const {
  bool isFloat = isa<FloatType>(elementTypeOf(input));
  return formatv(isFloat ? "toFloat({0}[{1}])" : "{0}[{1}]",
                 inputNames[numberOf(input)], isRowScalar(input) ? row : "0");
}

void RowEmitter::emitScalarLoads() {
  for (BlockArgument input : program.getInputs()) {
    Form form = program.getForm(input);
    if (form != Form::Row && form != Form::Single)
      continue;
    std::string name = scalars.freshName("s");
    std::string loaded = roundInputs.lookup(input);
    os << formatv("const {0} {1} = {2};\n",
                  cudaScalarType(elementTypeOf(input)), name,
                  loaded.empty() ? scalarLoad(input, "row") : loaded + "[u]");
    variables[input] = name;
  }
}

/// One vector of an Element or Column input, at the current `c`.
void RowEmitter::emitVectorLoad(Value input) {
  std::string name = scalars.freshName("v");
  std::string pack = packType(input), pointer = inputNames[numberOf(input)];
  bool perRow = program.getForm(input) == Form::Element;
  std::string element = formatv(
      "((const {0} *){1})[{2}]", pack, pointer,
      perRow ? formatv("(long long)row * {0} + c", layout.vectors).str() : "c");
  if (isShared() && perRow) {
    // A lane reads again only what it has put there itself.
    std::string place = formatv("(({0} *)held{1})[c]", pack, numberOf(input));
    element = held.contains(input) ? place : place + " = " + element;
  }
  os << formatv("const {0} {1} = {2};\n", pack, name, element);
  variables[input] = name;
}

/// Declares registers for a row of each Element input that is used.
void RowEmitter::declareInputs(StringRef prefix,
                               llvm::DenseMap<Value, std::string> &to,
                               unsigned count) {
  for (BlockArgument input : program.getInputs())
    if (program.getForm(input) == Form::Element && !input.use_empty()) {
      to[input] = scalars.freshName(prefix);
      os << formatv("{0} {1}[{2}];\n", packType(input), to[input],
                    count * layout.perLane);
    }
}

/// `place`: the first register of the row.
void RowEmitter::loadInputs(const llvm::DenseMap<Value, std::string> &to,
                            StringRef row, StringRef place) {
  beginLoop();
  for (BlockArgument input : program.getInputs())
    if (program.getForm(input) == Form::Element && to.contains(input))
      os << formatv(
          "{0}[{1}i] = ((const {2} *){3})[(long long){4} * {5} + c];\n",
          to.lookup(input), place, packType(input), inputNames[numberOf(input)],
          row, layout.vectors);
  endLoop();
}

void RowEmitter::emitRegisterLoads() {
  declareInputs("v", variables, 1);
  loadInputs(variables, "row", "");
}

void RowEmitter::emitColumnLoads() {
  for (BlockArgument input : program.getInputs())
    if (program.getForm(input) == Form::Column && !variables.count(input) &&
        !input.use_empty())
      emitVectorLoad(input);
}

void RowEmitter::emitRowLoads() {
  emitScalarLoads();
  for (BlockArgument input : program.getInputs())
    if (program.getForm(input) == Form::Element && !variables.count(input) &&
        !input.use_empty())
      emitVectorLoad(input);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

LogicalResult RowEmitter::emit() {
  if (isFlat()) {
    emitColumnLoads();
    emitRowLoads();
    return emitFlatCompute();
  }
  for (Operation &op : program.getBlock())
    if (op.getDialect()->getNamespace() == "arith" && failed(scalars.print(op)))
      return failure();
  if (isBlock())
    return emitBlock();
  emitScalarLoads();
  if (keepsValues())
    emitRegisterLoads();
  return emitRow();
}

/// Everything after the loads of a row.
LogicalResult RowEmitter::emitRow() {
  for (unsigned pass = 0; pass < program.getNumPasses(); ++pass)
    if (failed(emitRowOps(pass)) || failed(emitPass(pass)))
      return failure();
  if (failed(emitRowOps(program.getNumPasses())))
    return failure();
  emitRowStores();
  return success();
}

/// Pass by pass over all rows; what a row's earlier passes gave is taken from
/// shared memory, and the scalars that follow from it are computed again.
LogicalResult RowEmitter::emitBlock() {
  for (linalg::GenericOp op : program.getGenerics())
    if (program.isReduction(op))
      for (Value result : op->getResults()) {
        partials[result] = scalars.freshName("shared");
        os << formatv("__shared__ {0} {1}[{2}][{3}];\n",
                      cudaScalarType(elementTypeOf(result)), partials[result],
                      maxBlockRows, layout.blockThreads / 32);
      }
  for (unsigned pass = 0; pass < program.getNumPasses(); ++pass) {
    os << "for (int row = 0; row < rows; ++row) {\n";
    emitScalarLoads();
    for (unsigned earlier = 0; earlier <= pass; ++earlier) {
      if (earlier)
        emitEarlierReductions(earlier - 1);
      if (failed(emitRowOps(earlier)))
        return failure();
    }
    if (failed(emitPass(pass)))
      return failure();
    os << "}\n__syncthreads();\n";
  }
  return success();
}

/// The results of the reductions of `pass`, warps in order; those past the
/// row's last column have nothing to add.
void RowEmitter::emitEarlierReductions(unsigned pass) {
  int64_t warps = std::min<int64_t>(layout.blockThreads / 32,
                                    llvm::divideCeil(layout.vectors, 32));
  for (linalg::GenericOp op : program.getGenerics()) {
    if (!program.isReduction(op) || program.getPass(op) != pass)
      continue;
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      std::string name = scalars.freshName("s");
      StringRef combiner = program.getReduction(op, i).getCombinerName();
      os << formatv("{0} {1} = {2}[row][0];\n#pragma unroll\n"
                    "for (int w = 1; w < {3}; ++w)\n"
                    "{1} = {4}::of({1}, {2}[row][w]);\n",
                    cudaScalarType(elementTypeOf(result)), name,
                    partials[result], warps, combiner);
      variables[result] = name;
      combineInit(op, i);
    }
  }
}

LogicalResult RowEmitter::emitFlatCompute() {
  for (Operation &op : program.getBlock())
    if (op.getDialect()->getNamespace() == "arith" && failed(scalars.print(op)))
      return failure();
  if (failed(emitRowOps(0)))
    return failure();
  for (linalg::GenericOp op : program.getGenerics()) {
    if (program.isReduction(op) && program.getColumns() != 1)
      return op.emitOpError("reduces over columns that no thread holds");
    if (program.runsOverColumns(op) && failed(emitOverColumns(op)))
      return failure();
  }
  for (Value output : llvm::SetVector<Value>(program.getOutputs().begin(),
                                             program.getOutputs().end()))
    if (program.getForm(output) == Form::Element)
      storeElements(output);
  emitRowStores();
  return success();
}

LogicalResult RowEmitter::emitRowOps(unsigned pass) {
  for (linalg::GenericOp op : program.getGenerics())
    if (!program.runsOverColumns(op) && program.getPass(op) == pass &&
        failed(emitOncePerRow(op)))
      return failure();
  return success();
}

/// What pass over the columns number `pass` runs. Where values are not kept,
/// that is its reductions, in the last pass the outputs, and all that leads to
/// either; outputs are stored last, because they may lie where inputs do.
SmallVector<linalg::GenericOp> RowEmitter::operationsOf(unsigned pass) const {
  llvm::SetVector<Operation *> needed;
  bool last = pass + 1 == program.getNumPasses();
  for (linalg::GenericOp op : llvm::reverse(program.getGenerics())) {
    if (!program.runsOverColumns(op))
      continue;
    bool runs = program.getPass(op) == pass;
    if (!keepsValues())
      runs = needed.contains(op) || (runs && program.isReduction(op)) ||
             (last && llvm::any_of(op->getResults(), [&](Value result) {
                return program.getForm(result) == Form::Element &&
                       llvm::is_contained(program.getOutputs(), result);
              }));
    if (!runs)
      continue;
    needed.insert(op);
    for (Value input : op.getDpsInputs())
      if (Operation *producer = RowProgram::strip(input).getDefiningOp();
          producer && !keepsValues())
        needed.insert(producer);
  }
  SmallVector<linalg::GenericOp> operations;
  for (linalg::GenericOp op : program.getGenerics())
    if (needed.contains(op) && program.runsOverColumns(op) &&
        !(program.isReduction(op) && program.getPass(op) != pass))
      operations.push_back(op);
  return operations;
}

LogicalResult RowEmitter::emitPass(unsigned pass) {
  SmallVector<linalg::GenericOp> operations = operationsOf(pass);
  bool last = pass + 1 == program.getNumPasses();
  llvm::SetVector<Value> loads, copies;
  for (linalg::GenericOp op : operations)
    for (Value input : op.getDpsInputs()) {
      Form form = program.getForm(input);
      Value source = RowProgram::strip(input);
      if (isa<BlockArgument>(source) &&
          (form == Form::Column || (form == Form::Element && !keepsValues())))
        loads.insert(source);
    }
  for (Value output : program.getOutputs())
    if (last && isa<BlockArgument>(output) &&
        program.getForm(output) == Form::Element) {
      copies.insert(output);
      if (!keepsValues())
        loads.insert(output);
    }
  for (linalg::GenericOp op : operations)
    declareAccumulators(op);
  int64_t bound = assumeBound(operations);
  if (bound > 0) {
    beginLoop(0, bound);
    if (failed(emitColumns(operations, loads.getArrayRef(),
                           copies.getArrayRef(), last)))
      return failure();
    endLoop();
  }
  assumed.clear();
  beginLoop(bound, layout.vectors);
  if (failed(emitColumns(operations, loads.getArrayRef(), copies.getArrayRef(),
                         last)))
    return failure();
  endLoop();
  for (Value input : loads)
    if (isShared() && program.getForm(input) == Form::Element)
      held.insert(input);
  for (linalg::GenericOp op : operations)
    finishReduction(op);
  return success();
}

/// What a pass does with one vector of columns.
LogicalResult RowEmitter::emitColumns(ArrayRef<linalg::GenericOp> operations,
                                      ArrayRef<Value> loads,
                                      ArrayRef<Value> copies, bool last) {
  for (Value input : loads)
    emitVectorLoad(input);
  for (linalg::GenericOp op : operations) {
    if (failed(emitOverColumns(op)))
      return failure();
    for (Value result : op->getResults())
      if ((keepsValues() || last) && program.getForm(result) == Form::Element)
        storeElements(result);
  }
  for (Value input : copies)
    storeElements(input);
  return success();
}

/// Over the lane's vectors in [from, to); only wide rows are cut, those in
/// registers at a multiple of the lanes.
void RowEmitter::beginLoop(int64_t from, int64_t to) {
  if (keepsValues()) {
    os << "#pragma unroll\n"
       << formatv("for (int i = {0}; i < {1}; ++i) {{\n", from / layout.lanes,
                  llvm::divideCeil(to, layout.lanes))
       << formatv("const int c = i * {0} + lane;\n", layout.lanes);
    bool exact = to % layout.lanes == 0;
    os << (exact ? std::string("{\n") : formatv("if (c < {0}) {{\n", to).str());
    return;
  }
  // A step over a row in shared memory must leave registers for two blocks.
  os << formatv("#pragma unroll {0}\n", isBlock()    ? 1
                                        : isShared() ? 2
                                                     : 4)
     << formatv("for (int c = lane{0}; c < {1}; c += {2}) {{\n{{\n",
                from == 0 ? "" : " + " + std::to_string(from), to,
                layout.lanes);
}

void RowEmitter::endLoop() { os << "}\n}\n"; }

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

void RowEmitter::storeElements(Value tensor) {
  for (auto [i, output] : llvm::enumerate(program.getOutputs()))
    if (output == tensor)
      os << "if (active) "
         << formatv("(({0} *){1})[(long long)row * {2} + c] = {3};\n",
                    packType(tensor), outputNames[i], layout.vectors,
                    reference(tensor));
}

void RowEmitter::emitRowStores() {
  // An output may lie where an input of the row does: all lanes read first.
  bool readsRows = llvm::any_of(program.getInputs(), [&](Value input) {
    return program.getForm(input) == Form::Row;
  });
  bool first = true;
  for (auto [i, output] : llvm::enumerate(program.getOutputs())) {
    if (program.getForm(output) != Form::Row)
      continue;
    bool inWarp = layout.lanes <= 32 && 32 % layout.lanes == 0;
    if (first && readsRows && layout.lanes > 1)
      os << (inWarp ? "__syncwarp();\n" : "__syncthreads();\n");
    first = false;
    Type type = elementTypeOf(output);
    os << (layout.lanes > 1 ? "if (active && lane == 0) " : "if (active) ")
       << formatv(isa<FloatType>(type) ? "{0}[row] = fromFloat<{2}>({1});\n"
                                       : "{0}[row] = {1};\n",
                  outputNames[i], variables.lookup(output),
                  cudaElementType(type));
  }
}
