//===- RowOperations.cpp - One operation of a row program as CUDA C++ ----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/CudaText.h"
#include "compiler/Codegen/CUDA/RowEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::gpt2c;
using llvm::formatv;
using llvm::StringRef;

void RowEmitter::declareAccumulators(linalg::GenericOp op) {
  if (program.isColumnSum(op))
    return; // kept from row to row
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
                  program.getReduction(op, i).getNeutralElement());
  }
}

void RowEmitter::finishReduction(linalg::GenericOp op) {
  if (!program.isReduction(op))
    return;
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    Reduction reduction = program.getReduction(op, i);
    StringRef name = reduction.getCombinerName();
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
  if (init != reduction.getNeutralElement())
    os << formatv("{0} = {1}::of({2}, {0});\n",
                  variables[op->getResult(result)], reduction.getCombinerName(),
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
      Form form = program.getForm(op.getDpsInputs()[argument.getArgNumber()]);
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
  if (program.isReduction(op) || program.isColumnSum(op))
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

/// Computes and combines the elements of a vector, or leaves them in `results`.
LogicalResult RowEmitter::emitElementLoop(linalg::GenericOp op,
                                          ArrayRef<Operation *> perElement,
                                          ArrayRef<std::string> results) {
  Block *body = op.getBody();
  bool isColumnSum = program.isColumnSum(op);
  bool isReduction = program.isReduction(op) || isColumnSum;
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
    if (auto known = assumed.find(inner); known != assumed.end()) {
      scalars.bind(inner->getResult(0), known->second.str());
      continue;
    }
    // The pack rounds what is only stored.
    bool packed =
        !isReduction && isa<arith::TruncFOp>(inner) &&
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
    if (isColumnSum)
      os << formatv("{0}[i][k] += active ? {1} : 0.0f;\n",
                    variables.lookup(result), value);
    else if (isReduction)
      os << formatv("{0} = {1}::of({0}, {2});\n", variables.lookup(result),
                    program.getReduction(op, i).getCombinerName(), value);
    else
      os << formatv("{0}[k] = {1};\n", results[i], value);
  }
  os << "}\n";
  return success();
}

LogicalResult RowEmitter::emitElements(linalg::GenericOp op,
                                       ArrayRef<Operation *> perElement) {
  bool isReduction = program.isReduction(op) || program.isColumnSum(op);
  SmallVector<std::string> results;
  if (!isReduction)
    for (Value result : op->getResults()) {
      results.push_back(scalars.freshName("w"));
      os << formatv("{0} {1}[{2}];\n", cudaScalarType(elementTypeOf(result)),
                    results.back(), layout.vector);
    }
  if (failed(layout.isWide() ? emitWideElements(op, perElement, results)
                             : emitElementLoop(op, perElement, results)))
    return failure();
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
  bool isColumnSum = program.isColumnSum(op);
  bool isReduction = program.isReduction(op) || isColumnSum;
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
    if (isColumnSum) {
      os << formatv("{0} += active ? {1} : 0.0f;\n", variables.lookup(result),
                    value);
      continue;
    }
    // A reduction over the one column there is.
    if (isReduction)
      value = formatv("{0}::of({1}, {2})",
                      program.getReduction(op, i).getCombinerName(),
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
    bool once =
        !program.runsOverColumns(op.getParentOfType<linalg::GenericOp>());
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
  unsigned number =
      llvm::find(program.getInputs(), table) - program.getInputs().begin();
  int64_t width = cast<RankedTensorType>(table.getType()).getDimSize(1);
  std::string element =
      formatv("{0}[{1} * {2} + {3}]", inputNames[number], row, width, column);
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
  unsigned number =
      llvm::find(program.getInputs(), table) - program.getInputs().begin();
  std::string name = scalars.freshName("v");
  os << formatv("const {0} {1} = ((const {0} *){2})[{3} * {4} + c];\n",
                packType(table), name, inputNames[number], row, layout.vectors);
  scalars.bind(op.getResult(), name + ".get(k)");
  return true;
}
