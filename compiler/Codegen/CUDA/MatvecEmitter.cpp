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
static constexpr int64_t stepsPerWarp = 6;
/// Of an H100 or H200. Chips with fewer have more waves, or more tiles a block.
static constexpr int64_t multiprocessors = 132;

MatvecShape::MatvecShape(RankedTensorType weight)
    : n(weight.getDimSize(0)), k(weight.getDimSize(1)), split(1),
      rowsPerWarp(1) {
  unsigned bytes = weight.getElementTypeBitWidth() / 8;
  vector = vectorWidth(k, 16 / bytes);
  while (split < warps && steps() > stepsPerRow)
    split *= 2;
  // A row that takes the whole block pays a barrier a tile.
  int64_t most = split == warps ? 2 * stepsPerRow : stepsPerWarp;
  while (2 * rowsPerWarp * steps() <= most && tiles() >= 8 * multiprocessors)
    rowsPerWarp *= 2;
  // A matrix that barely misses one wave makes it with larger tiles.
  if (loops() && split > 1 && 2 * steps() <= 8) {
    split /= 2;
    if (loops())
      split *= 2;
  }
}

unsigned MatvecShape::residentBlocks() const {
  // One that loops holds two tiles' weights.
  bool many = tiles() > 3 * multiprocessors;
  return rowsPerWarp * steps() * (many ? 2 : 1) >= 7 ? 2 : 3;
}

int64_t MatvecShape::steps() const {
  return llvm::divideCeil(k / vector, 32 * split);
}

int64_t MatvecShape::tiles() const {
  return llvm::divideCeil(n, warps / split * rowsPerWarp);
}

int64_t MatvecShape::blocks() const {
  return std::min<int64_t>(tiles(), residentBlocks() * multiprocessors);
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

/// Names this thread's item of a tile.
static void emitItem(const MatvecShape &shape, StringRef tile,
                     llvm::raw_ostream &os) {
  os << "const int itemRow = matvec.itemRow();\n"
     << formatv("const int itemColumn = matvec.itemColumn({0});\n", tile)
     << formatv("const bool active = itemRow < rows && itemColumn < {0};\n",
                shape.n)
     << "const int row = min(itemRow, rows - 1);\n"
     << formatv("const int c = min(itemColumn, {0});\n", shape.n - 1);
}

/// The accumulator of this thread's item, and the epilogue over it.
static LogicalResult emitEpilogue(RowEmitter &emitter, StringRef turn,
                                  llvm::raw_ostream &os) {
  emitter.emitRowLoads();
  os << "Pack<float, 1> accumulator;\n"
     << formatv("accumulator.value[0] = matvec.multiply(x, rows, {0});\n",
                turn);
  return emitter.emitFlatCompute();
}

/// x where multiply() reads it: the input itself, or the prologue's result in
/// shared memory. The kernel waits for its predecessor here.
static LogicalResult emitX(plan::KernelOp kernel, MatvecParts &parts,
                           llvm::raw_ostream &os) {
  Value value = RowProgram::strip(parts.prologue.getOutputs()[0]);
  StringRef type =
      cudaElementType(cast<RankedTensorType>(value.getType()).getElementType());
  if (isIdentity(kernel.getBody().front())) {
    unsigned number = llvm::find(parts.prologue.getInputs(), value) -
                      parts.prologue.getInputs().begin();
    os << formatv("const {0} *x = {1};\nwaitForPrevious();\n", type,
                  parts.prologueInputs[number]);
    return success();
  }
  emitSharedMemory(parts.prologue, type, parts.prologueInputs, os);
  os << "__syncthreads();\nwaitForPrevious();\n{\n";
  if (failed(emitPrologue(parts.prologue, parts.prologueInputs, os)))
    return failure();
  os << "}\n";
  return success();
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
  os << formatv("using Tile = Matvec<{0}, {1}, {2}, {3}, {4}, {5}, {6}>;\n",
                cudaElementType(weight.getElementType()), xType, shape.n,
                shape.k, shape.vector, shape.split, shape.rowsPerWarp)
     << "launchDependents();\nTile matvec;\n"
     << formatv("matvec.load({0}, blockIdx.x);\n", matrix);
  RowLayout flat;
  flat.vectors = shape.n;
  RowEmitter emitter(parts.epilogue, flat, parts.epilogueInputs, parts.outputs,
                     os);
  std::string accumulator = "accumulator";
  emitter.bindInput(0, accumulator);
  if (!shape.loops()) {
    // What does not depend on the predecessor is loaded ahead of the wait.
    emitItem(shape, "blockIdx.x", os);
    emitter.emitColumnLoads();
    if (failed(emitX(kernel, parts, os)) ||
        failed(emitEpilogue(emitter, "0", os)))
      return failure();
    os << "}\n";
    return success();
  }
  if (failed(emitX(kernel, parts, os)))
    return failure();
  os << "int turn = 0;\n"
     << formatv("for (int tile = blockIdx.x; tile < {0}; tile += gridDim.x) "
                "{{\n",
                shape.tiles())
     << "Tile next;\n"
     << formatv("if (tile + gridDim.x < {0})\n", shape.tiles())
     << formatv("next.load({0}, tile + gridDim.x);\n", matrix);
  emitItem(shape, "tile", os);
  emitter.emitColumnLoads();
  if (failed(emitEpilogue(emitter, "turn", os)))
    return failure();
  os << "matvec = next;\nturn ^= 1;\n}\n}\n";
  return success();
}
