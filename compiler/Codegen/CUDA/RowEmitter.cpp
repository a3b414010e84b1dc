//===- RowEmitter.cpp - Row programs as CUDA C++ --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/RowEmitter.h"
#include "compiler/Codegen/CUDA/CudaText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::gpt2c;
using llvm::formatv;
using llvm::StringRef;

/// Rows that the block layout has room for.
static constexpr unsigned maxBlockRows = 8;

static Type elementTypeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

static StringRef combinerName(const Reduction &reduction) {
  if (isa<arith::AddFOp, arith::AddIOp>(reduction.combiner))
    return "Add";
  if (isa<arith::MaximumFOp, arith::MaxSIOp>(reduction.combiner))
    return "Max";
  return "Min";
}

/// What leaves any value as it is under the combiner.
static std::string neutralElement(const Reduction &reduction) {
  bool isFloat = reduction.value.getType().isF32();
  StringRef name = combinerName(reduction);
  if (name == "Add")
    return isFloat ? "0x0p+0f" : "0";
  if (name == "Max")
    return isFloat ? "asFloat(0xff800000)" : "(-2147483647 - 1)";
  return isFloat ? "asFloat(0x7f800000)" : "2147483647";
}

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

void RowEmitter::emitScalarLoads() {
  for (auto [i, input] : llvm::enumerate(program.getInputs())) {
    Form form = program.getForm(input);
    if (form != Form::Row && form != Form::Single)
      continue;
    std::string name = scalars.freshName("s");
    StringRef index = form == Form::Row ? "row" : "0";
    bool isFloat = isa<FloatType>(elementTypeOf(input));
    os << formatv(isFloat ? "const {0} {1} = toFloat({2}[{3}]);\n"
                          : "const {0} {1} = {2}[{3}];\n",
                  cudaScalarType(elementTypeOf(input)), name, inputNames[i],
                  index);
    variables[input] = name;
  }
}

/// One vector of an Element or Column input, at the current `c`.
void RowEmitter::emitVectorLoad(Value input) {
  unsigned number = llvm::find(program.getInputs(), input) -
                    program.getInputs().begin();
  std::string name = scalars.freshName("v");
  bool perRow = program.getForm(input) == Form::Element;
  os << formatv("const {0} {1} = ((const {0} *){2})[{3}];\n", packType(input),
                name, inputNames[number],
                perRow ? formatv("(long long)row * {0} + c", layout.vectors)
                             .str()
                       : "c");
  variables[input] = name;
}

void RowEmitter::emitRegisterLoads() {
  SmallVector<std::pair<std::string, Value>> loads;
  for (BlockArgument input : program.getInputs())
    if (program.getForm(input) == Form::Element && !input.use_empty()) {
      std::string name = scalars.freshName("v");
      variables[input] = name;
      os << formatv("{0} {1}[{2}];\n", packType(input), name, layout.perLane);
      loads.push_back(
          {inputNames[llvm::find(program.getInputs(), input) -
                      program.getInputs().begin()],
           input});
    }
  beginLoop();
  for (auto &[pointer, input] : loads)
    os << formatv("{0} = ((const {1} *){2})[(long long)row * {3} + c];\n",
                  reference(input), packType(input), pointer, layout.vectors);
  endLoop();
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

/// The results of the reductions of `pass`, warps in order.
void RowEmitter::emitEarlierReductions(unsigned pass) {
  for (linalg::GenericOp op : program.getGenerics()) {
    if (!program.isReduction(op) || program.getPass(op) != pass)
      continue;
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      std::string name = scalars.freshName("s");
      StringRef combiner = combinerName(program.getReduction(op, i));
      os << formatv("{0} {1} = {2}[row][0];\n#pragma unroll\n"
                    "for (int w = 1; w < {3}; ++w)\n"
                    "{1} = {4}::of({1}, {2}[row][w]);\n",
                    cudaScalarType(elementTypeOf(result)), name,
                    partials[result], layout.blockThreads / 32, combiner);
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
  beginLoop();
  for (Value input : loads)
    emitVectorLoad(input);
  for (linalg::GenericOp op : operations) {
    if (failed(emitOverColumns(op)))
      return failure();
    for (Value result : op->getResults())
      if ((keepsValues() || last) &&
          program.getForm(result) == Form::Element)
        storeElements(result);
  }
  for (Value input : copies)
    storeElements(input);
  endLoop();
  for (linalg::GenericOp op : operations)
    finishReduction(op);
  return success();
}

void RowEmitter::beginLoop() {
  if (keepsValues()) {
    os << "#pragma unroll\n"
       << formatv("for (int i = 0; i < {0}; ++i) {{\n", layout.perLane)
       << formatv("const int c = i * {0} + lane;\n", layout.lanes);
    bool exact = layout.vectors % layout.lanes == 0;
    os << (exact ? std::string("{\n")
                 : formatv("if (c < {0}) {{\n", layout.vectors).str());
    return;
  }
  os << formatv(isBlock() ? "#pragma unroll 1\n" : "#pragma unroll 4\n")
     << formatv("for (int c = lane; c < {0}; c += {1}) {{\n{{\n",
                layout.vectors, layout.lanes);
}

void RowEmitter::endLoop() { os << "}\n}\n"; }

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void RowEmitter::declareAccumulators(linalg::GenericOp op) {
  if (!program.isReduction(op)) {
    for (Value result : op->getResults()) {
      if (program.getForm(result) != Form::Element || !keepsValues())
        continue;
      variables[result] = scalars.freshName("v");
      os << formatv("{0} {1}[{2}];\n", packType(result), variables[result],
                    layout.perLane);
    }
    return;
  }
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    variables[result] = scalars.freshName("s");
    os << formatv("{0} {1} = {2};\n", cudaScalarType(elementTypeOf(result)),
                  variables[result],
                  neutralElement(program.getReduction(op, i)));
  }
}

void RowEmitter::finishReduction(linalg::GenericOp op) {
  if (!program.isReduction(op))
    return;
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    Reduction reduction = program.getReduction(op, i);
    StringRef name = combinerName(reduction);
    std::string sum = variables[result];
    if (isBlock()) {
      os << formatv("{0} = reduceLanes<{1}, 32>({0});\n"
                    "if (threadIdx.x % 32 == 0)\n"
                    "{2}[row][threadIdx.x / 32] = {0};\n",
                    sum, name, partials[result]);
      continue;
    }
    if (layout.lanes <= 32) {
      os << formatv("{0} = reduceLanes<{1}, {2}>({0});\n", sum, name,
                    layout.lanes);
    } else {
      std::string shared = scalars.freshName("shared");
      os << formatv("__shared__ {0} {1}[{2}];\n",
                    cudaScalarType(elementTypeOf(result)), shared,
                    layout.blockThreads / 32)
         << formatv("{0} = reduceWarps<{1}, {2}>({0}, {3});\n", sum, name,
                    layout.lanes, shared);
    }
    combineInit(op, i);
  }
}

void RowEmitter::combineInit(linalg::GenericOp op, unsigned result) {
  Reduction reduction = program.getReduction(op, result);
  std::string init = scalars.text(reduction.init);
  if (init != neutralElement(reduction))
    os << formatv("{0} = {1}::of({2}, {0});\n",
                  variables[op->getResult(result)], combinerName(reduction),
                  init);
}

/// Ops whose value is the same at every column of the vector.
static llvm::SetVector<Operation *> findInvariant(linalg::GenericOp op,
                                                  const RowProgram &program) {
  llvm::SetVector<Operation *> invariant;
  Block *body = op.getBody();
  auto holds = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == body) {
      if (argument.getArgNumber() >= op.getNumDpsInputs())
        return false;
      Form form =
          program.getForm(op.getDpsInputs()[argument.getArgNumber()]);
      return form == Form::Row || form == Form::Single;
    }
    Operation *def = value.getDefiningOp();
    return !def || def->getBlock() != body || invariant.contains(def);
  };
  for (Operation &inner : body->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      if (index.getDim() == 0)
        invariant.insert(&inner);
      continue;
    }
    if (llvm::all_of(inner.getOperands(), holds))
      invariant.insert(&inner);
  }
  return invariant;
}

LogicalResult RowEmitter::emitOverColumns(linalg::GenericOp op) {
  Block *body = op.getBody();
  llvm::SmallPtrSet<Operation *, 4> combiners;
  if (program.isReduction(op))
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      combiners.insert(program.getReduction(op, i).combiner);
  for (auto [i, input] : llvm::enumerate(op.getDpsInputs())) {
    Form form = program.getForm(input);
    if (form == Form::Row || form == Form::Single)
      scalars.bind(body->getArgument(i),
                   variables.lookup(RowProgram::strip(input)));
  }
  llvm::SetVector<Operation *> invariant = findInvariant(op, program);
  SmallVector<Operation *> perElement;
  for (Operation &inner : body->without_terminator()) {
    if (combiners.contains(&inner))
      continue;
    auto extract = dyn_cast<tensor::ExtractOp>(inner);
    if (invariant.contains(&inner)) {
      if (failed(emitBodyOp(inner)))
        return failure();
    } else if (!extract || !emitVectorExtract(extract)) {
      perElement.push_back(&inner);
    }
  }
  return emitElements(op, perElement);
}

LogicalResult RowEmitter::emitElements(linalg::GenericOp op,
                                       ArrayRef<Operation *> perElement) {
  Block *body = op.getBody();
  bool isReduction = program.isReduction(op);
  SmallVector<std::string> results;
  if (!isReduction)
    for (Value result : op->getResults()) {
      results.push_back(scalars.freshName("w"));
      os << formatv("{0} {1}[{2}];\n", cudaScalarType(elementTypeOf(result)),
                    results.back(), layout.vector);
    }
  os << "#pragma unroll\n"
     << formatv("for (int k = 0; k < {0}; ++k) {{\n", layout.vector);
  for (auto [i, input] : llvm::enumerate(op.getDpsInputs())) {
    Form form = program.getForm(input);
    BlockArgument argument = body->getArgument(i);
    if ((form == Form::Element || form == Form::Column) &&
        !argument.use_empty())
      scalars.declare(argument, reference(input) + ".get(k)");
  }
  for (Operation *inner : perElement) {
    // The pack rounds what is only stored.
    bool packed = !isReduction && isa<arith::TruncFOp>(inner) &&
                  llvm::all_of(inner->getUsers(), llvm::IsaPred<linalg::YieldOp>);
    if (packed)
      scalars.bind(inner->getResult(0), scalars.text(inner->getOperand(0)));
    else if (failed(emitBodyOp(*inner)))
      return failure();
  }
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    Value yielded = isReduction ? program.getReduction(op, i).value
                                : body->getTerminator()->getOperand(i);
    std::string value = scalars.text(yielded);
    if (value.empty())
      return op.emitOpError("yields a value that it does not compute");
    if (isReduction)
      os << formatv("{0} = {1}::of({0}, {2});\n", variables.lookup(result),
                    combinerName(program.getReduction(op, i)), value);
    else
      os << formatv("{0}[k] = {1};\n", results[i], value);
  }
  os << "}\n";
  if (isReduction)
    return success();
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    if (!keepsValues()) {
      variables[result] = scalars.freshName("v");
      os << formatv("{0} {1};\n", packType(result), variables[result]);
    }
    os << formatv("{0}.set({1});\n", reference(result), results[i]);
  }
  return success();
}

LogicalResult RowEmitter::emitOncePerRow(linalg::GenericOp op) {
  Block *body = op.getBody();
  for (auto [i, input] : llvm::enumerate(op.getDpsInputs()))
    scalars.bind(body->getArgument(i),
                 variables.lookup(RowProgram::strip(input)));
  bool isReduction = program.isReduction(op);
  llvm::SmallPtrSet<Operation *, 4> combiners;
  if (isReduction)
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      combiners.insert(program.getReduction(op, i).combiner);
  for (Operation &inner : body->without_terminator())
    if (!combiners.contains(&inner) && failed(emitBodyOp(inner)))
      return failure();
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    Value yielded = body->getTerminator()->getOperand(i);
    if (isReduction)
      yielded = program.getReduction(op, i).value;
    std::string value = scalars.text(yielded);
    if (value.empty())
      return op.emitOpError("yields a value that it does not compute");
    // A reduction over the one column there is.
    if (isReduction)
      value = formatv("{0}::of({1}, {2})",
                      combinerName(program.getReduction(op, i)),
                      scalars.text(program.getReduction(op, i).init), value);
    std::string name = scalars.freshName("s");
    os << formatv("const {0} {1} = {2};\n",
                  cudaScalarType(elementTypeOf(result)), name, value);
    variables[result] = name;
  }
  return success();
}

LogicalResult RowEmitter::emitBodyOp(Operation &op) {
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    bool once = !program.runsOverColumns(op.getParentOfType<linalg::GenericOp>());
    if (index.getDim() == 0)
      scalars.declare(index, "row");
    else if (once)
      scalars.declare(index, "0");
    else if (layout.vector == 1)
      scalars.declare(index, "c");
    else
      scalars.declare(index, formatv("c * {0} + k", layout.vector).str());
    return success();
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return emitExtract(extract);
  return scalars.print(op);
}

/// A gather of one element.
LogicalResult RowEmitter::emitExtract(tensor::ExtractOp op) {
  Value table = RowProgram::strip(op.getTensor());
  std::string row = scalars.text(op.getIndices()[0]);
  std::string column = scalars.text(op.getIndices()[1]);
  if (row.empty() || column.empty())
    return op.emitOpError("has an index that its kernel does not compute");
  unsigned number = llvm::find(program.getInputs(), table) -
                    program.getInputs().begin();
  int64_t width = cast<RankedTensorType>(table.getType()).getDimSize(1);
  std::string element = formatv("{0}[{1} * {2} + {3}]", inputNames[number],
                                row, width, column);
  scalars.declare(op.getResult(), isa<FloatType>(elementTypeOf(table))
                                      ? "toFloat(" + element + ")"
                                      : element);
  return success();
}

/// A gather of a whole vector, where the row is the same for all its columns.
bool RowEmitter::emitVectorExtract(tensor::ExtractOp op) {
  Value table = RowProgram::strip(op.getTensor());
  auto column = op.getIndices()[1].getDefiningOp<linalg::IndexOp>();
  std::string row = scalars.text(op.getIndices()[0]);
  int64_t width = cast<RankedTensorType>(table.getType()).getDimSize(1);
  if (layout.vector == 1 || !column || column.getDim() != 1 || row.empty() ||
      width != program.getColumns())
    return false;
  unsigned number = llvm::find(program.getInputs(), table) -
                    program.getInputs().begin();
  std::string name = scalars.freshName("v");
  os << formatv("const {0} {1} = ((const {0} *){2})[{3} * {4} + c];\n",
                packType(table), name, inputNames[number], row,
                layout.vectors);
  scalars.bind(op.getResult(), name + ".get(k)");
  return true;
}

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
    if (first && readsRows && layout.lanes > 1)
      os << (layout.lanes > 32 ? "__syncthreads();\n" : "__syncwarp();\n");
    first = false;
    Type type = elementTypeOf(output);
    os << (layout.lanes > 1 ? "if (active && lane == 0) " : "if (active) ")
       << formatv(isa<FloatType>(type) ? "{0}[row] = fromFloat<{2}>({1});\n"
                                       : "{0}[row] = {1};\n",
                  outputNames[i], variables.lookup(output),
                  cudaElementType(type));
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

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
