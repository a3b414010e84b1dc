//===- MatvecEmitter.cpp - matvec kernels ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/MatvecEmitter.h"
#include "compiler/Codegen/CUDA/CudaText.h"
#include "compiler/Codegen/CUDA/RowEmitter.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpt2c;
using llvm::formatv;
using llvm::StringRef;

static constexpr char source[] =
#include "compiler/Codegen/CUDA/Templates/matvec.cuh.inc"
    ;

StringRef gpt2c::matvecSource() { return source; }

/// Loads of a lane that are in flight for one weight row: enough to cover the
/// latency, few enough registers for several blocks a multiprocessor.
static constexpr int64_t stepsPerRow = 4;
static constexpr int64_t stepsPerWarp = 12;
/// Blocks below which a warp takes one weight row only: four for each of the
/// 132 multiprocessors of an H100 or H200. Smaller chips have more waves.
static constexpr int64_t balancedBlocks = 528;

MatvecShape::MatvecShape(RankedTensorType weight)
    : n(weight.getDimSize(0)), k(weight.getDimSize(1)), split(1),
      rowsPerWarp(1) {
  unsigned bytes = weight.getElementTypeBitWidth() / 8;
  vector = vectorWidth(k, 16 / bytes);
  while (split < warps && steps() > stepsPerRow)
    split *= 2;
  while (rowsPerWarp < 4 && 2 * rowsPerWarp * steps() <= stepsPerWarp &&
         blocks() >= 2 * balancedBlocks)
    rowsPerWarp *= 2;
}

unsigned MatvecShape::residentBlocks() const {
  return rowsPerWarp * steps() >= 8 ? 2 : 3;
}

int64_t MatvecShape::steps() const {
  return llvm::divideCeil(k / vector, 32 * split);
}

int64_t MatvecShape::blocks() const {
  return llvm::divideCeil(n, warps / split * rowsPerWarp);
}

/// The prologue yields its input: x is read from memory where it is used.
static bool isIdentity(Block &prologue) {
  return isa<BlockArgument>(
      RowProgram::strip(prologue.getTerminator()->getOperand(0)));
}

static int64_t bytesOf(RankedTensorType type, int64_t rows) {
  int64_t bytes = rows * type.getDimSize(1) * type.getElementTypeBitWidth() / 8;
  return llvm::alignTo(bytes, 16);
}

/// One value a column: the norm's scale and shift, which a block fetches ahead.
static bool isColumnVector(Value input) {
  auto type = dyn_cast<RankedTensorType>(input.getType());
  return type && type.getDimSize(0) == 1 && type.getDimSize(1) != 1;
}

int64_t gpt2c::matvecSharedBytes(plan::KernelOp kernel) {
  Block &prologue = kernel.getBody().front();
  if (isIdentity(prologue))
    return 0;
  int64_t bytes = bytesOf(
      cast<RankedTensorType>(prologue.getTerminator()->getOperand(0).getType()),
      MatvecShape::maxRows);
  for (Value input : prologue.getArguments())
    if (isColumnVector(input))
      bytes += bytesOf(cast<RankedTensorType>(input.getType()), 1);
  return bytes;
}

/// Lays out the dynamic shared memory as matvecSharedBytes counts it: x, then
/// the column vectors, which are copied ahead of the wait. Their names become
/// those of the copies.
static void emitSharedMemory(const RowProgram &program, StringRef xType,
                             MutableArrayRef<std::string> inputs,
                             llvm::raw_ostream &os) {
  auto type = cast<RankedTensorType>(program.getOutputs()[0].getType());
  int64_t offset = bytesOf(type, MatvecShape::maxRows) / 16;
  os << formatv("{0} *x = ({0} *)dynamicShared();\n", xType);
  for (auto [input, name] : llvm::zip_equal(program.getInputs(), inputs)) {
    if (!isColumnVector(input))
      continue;
    auto vector = cast<RankedTensorType>(input.getType());
    StringRef element = cudaElementType(vector.getElementType());
    os << formatv("{0} *shared_{1} = ({0} *)(dynamicShared() + {2});\n",
                  element, name, offset)
       << formatv("copyToShared<{0}, {1}>(shared_{2}, {2});\n", element,
                  vector.getDimSize(1), name);
    name = "shared_" + name;
    offset += bytesOf(vector, 1) / 16;
  }
}

/// x = prologue(inputs) into shared memory, rows spread over the block.
static LogicalResult emitPrologue(const RowProgram &program,
                                  ArrayRef<std::string> inputs,
                                  llvm::raw_ostream &os) {
  unsigned threads = MatvecShape::warps * 32;
  std::string output = "x";
  os << "const bool active = true;\n";
  if (program.hasReductions()) {
    os << "const int lane = threadIdx.x;\n";
    RowLayout layout = blockLayout(program, threads);
    return RowEmitter(program, layout, inputs, output, os).emit();
  }
  RowLayout layout;
  layout.vector = vectorWidth(program.getColumns(), 8);
  layout.vectors = program.getColumns() / layout.vector;
  os << formatv("for (int index = threadIdx.x; index < rows * {0}; index += "
                "{1}) {{\n",
                layout.vectors, threads)
     << formatv("const int row = index / {0};\n", layout.vectors)
     << formatv("const int c = index % {0};\n", layout.vectors);
  if (failed(RowEmitter(program, layout, inputs, output, os).emit()))
    return failure();
  os << "}\n__syncthreads();\n";
  return success();
}

namespace {
/// Pieces of one matvec kernel.
struct MatvecParts {
  RowProgram prologue, epilogue;
  SmallVector<std::string> prologueInputs, epilogueInputs, outputs;
};
} // namespace

/// The parameter list, and the names in it.
static std::string emitParameters(MatvecParts &parts, RankedTensorType weight,
                                  llvm::raw_ostream &os) {
  unsigned number = 0;
  for (Value input : parts.prologue.getInputs()) {
    parts.prologueInputs.push_back(formatv("p{0}", number++));
    os << parameter(input, parts.prologueInputs.back(), false) << ", ";
  }
  std::string matrix = formatv("p{0}", number++);
  os << formatv("const {0} *{1}, ", cudaElementType(weight.getElementType()),
                matrix);
  for (Value input : parts.epilogue.getInputs()) {
    // The accumulators have no pointer.
    parts.epilogueInputs.push_back(
        parts.epilogueInputs.empty() ? "" : formatv("p{0}", number++).str());
    if (!parts.epilogueInputs.back().empty())
      os << parameter(input, parts.epilogueInputs.back(), false) << ", ";
  }
  for (auto [i, output] : llvm::enumerate(parts.epilogue.getOutputs())) {
    parts.outputs.push_back(formatv("q{0}", i));
    os << parameter(output, parts.outputs.back(), true) << ", ";
  }
  os << "int rows) {\n";
  return matrix;
}

static LogicalResult check(plan::KernelOp kernel, const MatvecParts &parts) {
  RankedTensorType weight = kernel.getWeightType();
  if (cudaElementType(weight.getElementType()).empty() ||
      !isa<FloatType>(weight.getElementType()))
    return kernel.emitOpError("weight type ")
           << weight << " has no CUDA form; use f32, f16 or bf16";
  if (parts.epilogue.hasReductions())
    return kernel.emitOpError("the epilogue of a matvec must not reduce");
  for (Value output : parts.epilogue.getOutputs())
    if (parts.epilogue.getForm(output) != Form::Element &&
        weight.getDimSize(0) != 1)
      return kernel.emitOpError("the epilogue of a matvec yields one value an "
                                "element");
  // What sm_86, sm_89 and sm_120 give a block.
  constexpr int64_t sharedLimit = 99 * 1024;
  if (int64_t bytes = matvecSharedBytes(kernel); bytes > sharedLimit)
    return kernel.emitOpError("x of a matvec takes ")
           << bytes << " bytes of shared memory, more than " << sharedLimit;
  return success();
}

/// The epilogue over this thread's item; what does not depend on x is loaded
/// by `loads`, ahead of the wait.
static void emitItem(const MatvecShape &shape, llvm::raw_ostream &os) {
  os << "const int itemRow = matvec.itemRow();\n"
     << "const int itemColumn = matvec.itemColumn();\n"
     << formatv("const bool active = itemRow < rows && itemColumn < {0};\n",
                shape.n)
     << "const int row = min(itemRow, rows - 1);\n"
     << formatv("const int c = min(itemColumn, {0});\n", shape.n - 1);
}

LogicalResult gpt2c::emitMatvecKernel(plan::KernelOp kernel,
                                      llvm::raw_ostream &os) {
  FailureOr<RowProgram> prologue =
      RowProgram::analyze(kernel.getBody().front());
  FailureOr<RowProgram> epilogue =
      RowProgram::analyze(kernel.getEpilogue().front());
  if (failed(prologue) || failed(epilogue))
    return failure();
  MatvecParts parts{*prologue, *epilogue, {}, {}, {}};
  if (failed(check(kernel, parts)))
    return failure();
  RankedTensorType weight = kernel.getWeightType();
  MatvecShape shape(weight);
  Value xValue = RowProgram::strip(prologue->getOutputs()[0]);
  StringRef xType = cudaElementType(
      cast<RankedTensorType>(xValue.getType()).getElementType());

  os << formatv(
      "extern \"C\" __global__ void __launch_bounds__({0}, {1})\n{2}(",
      shape.warps * 32, shape.residentBlocks(), kernel.getSymName());
  std::string matrix = emitParameters(parts, weight, os);
  os << "launchDependents();\n"
     << formatv("Matvec<{0}, {1}, {2}, {3}, {4}, {5}, {6}> matvec;\n",
                cudaElementType(weight.getElementType()), xType, shape.n,
                shape.k, shape.vector, shape.split, shape.rowsPerWarp)
     << formatv("matvec.load({0});\n", matrix);
  emitItem(shape, os);
  RowLayout flat;
  flat.vectors = shape.n;
  RowEmitter emitter(parts.epilogue, flat, parts.epilogueInputs, parts.outputs,
                     os);
  std::string accumulator = "accumulator";
  emitter.bindInput(0, accumulator);
  emitter.emitColumnLoads();
  if (isIdentity(kernel.getBody().front())) {
    unsigned number = llvm::find(prologue->getInputs(), xValue) -
                      prologue->getInputs().begin();
    os << formatv("const {0} *x = {1};\nwaitForPrevious();\n", xType,
                  parts.prologueInputs[number]);
  } else {
    emitSharedMemory(parts.prologue, xType, parts.prologueInputs, os);
    os << "__syncthreads();\nwaitForPrevious();\n{\n";
    if (failed(emitPrologue(parts.prologue, parts.prologueInputs, os)))
      return failure();
    os << "}\n";
  }
  emitter.emitRowLoads();
  os << formatv("Pack<float, 1> {0};\n", accumulator)
     << formatv("{0}.value[0] = matvec.multiply(x, rows);\n", accumulator);
  if (failed(emitter.emitFlatCompute()))
    return failure();
  os << "}\n";
  return success();
}
