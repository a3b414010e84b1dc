//===- MatvecEmitter.cpp - matvec kernels ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/MatvecEmitter.h"
#include "compiler/Codegen/CUDA/CudaText.h"
#include "compiler/Codegen/CUDA/RowEmitter.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::gpt2c;
using llvm::formatv;
using llvm::StringRef;

static constexpr char source[] =
#include "compiler/Codegen/CUDA/Templates/matvec.cuh.inc"
#include "compiler/Codegen/CUDA/Templates/matvec_one.cuh.inc"
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

/// Vectors of x that a lane keeps as floats, 8 registers each: with the weights
/// that meet them, what 64 registers a thread hold.
static constexpr int64_t mostSteps = 3;
/// Shared memory of a block: every supported GPU gives 99 KiB, and two blocks
/// of 96 fit an H100's multiprocessor.
static constexpr int64_t sharedBudget = 96 * 1024;

/// Smaller matrices are read before the wait is over either way, and there the
/// larger block costs more than it gains: 210 us a token of gpt2, not 195.
static constexpr int64_t leastSide = 1600;

bool OneRowShape::serves(plan::KernelOp kernel) {
  ArrayRef<int64_t> sides = kernel.getWeightType().getShape();
  return kernel.getConfigInt("rows") == 1 &&
         std::min(sides[0], sides[1]) >= leastSide;
}

OneRowShape::OneRowShape(plan::KernelOp kernel) {
  RankedTensorType weight = kernel.getWeightType();
  n = weight.getDimSize(0);
  k = weight.getDimSize(1);
  // A thread ends one row of weights.
  int64_t fewest = llvm::divideCeil(n, warps * 32);
  blocks = std::min(n, std::max(multiprocessors, fewest));
  int64_t bytes = weight.getElementTypeBitWidth() / 8;
  vector = vectorWidth(k, 16 / bytes);
  chooseSplit();
  int64_t slot = llvm::divideCeil(k / vector, split) * vector * bytes;
  int64_t budget = sharedBudget - matvecSharedBytes(kernel) -
                   split * rowsPerBlock() * sizeof(float);
  int64_t most = llvm::divideCeil(rowsPerBlock(), warps / split);
  slots = std::clamp<int64_t>(budget / (warps * slot), 1, most);
  ringBytes = llvm::alignTo(warps * slots * slot, 16);
}

/// Fewest steps of a warp: rows that it takes times loads of a lane for one,
/// and half a load for the sum over lanes.
void OneRowShape::chooseSplit() {
  double best = std::numeric_limits<double>::infinity();
  for (unsigned candidate = 1; candidate <= warps; candidate *= 2) {
    int64_t steps =
        llvm::divideCeil(llvm::divideCeil(k / vector, candidate), 32);
    if (steps > mostSteps && candidate < warps)
      continue;
    int64_t rows = llvm::divideCeil(rowsPerBlock(), warps / candidate);
    double cost = rows * (steps + 0.5);
    if (cost >= best)
      continue;
    best = cost;
    split = candidate;
  }
}

int64_t OneRowShape::rowsPerBlock() const {
  return llvm::divideCeil(n, blocks);
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
      kernel.getConfigInt("rows"));
  for (Value input : prologue.getArguments())
    if (isColumnVector(input))
      bytes += bytesOf(cast<RankedTensorType>(input.getType()), 1);
  return bytes;
}

/// Lays out the dynamic shared memory as matvecSharedBytes counts it: x, then
/// the column vectors, which are copied ahead of the wait. Their names become
/// those of the copies.
static void emitSharedMemory(const RowProgram &program, StringRef xType,
                             int64_t mostRows,
                             MutableArrayRef<std::string> inputs,
                             llvm::raw_ostream &os) {
  auto type = cast<RankedTensorType>(program.getOutputs()[0].getType());
  int64_t offset = bytesOf(type, mostRows) / 16;
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
                                  unsigned threads, bool oneRow,
                                  llvm::raw_ostream &os) {
  std::string output = "x";
  os << "const bool active = true;\n";
  if (program.hasReductions()) {
    os << "const int lane = threadIdx.x;\n";
    if (oneRow) {
      os << "const int row = 0;\n";
      RowLayout layout = singleRowLayout(program, threads);
      if (failed(RowEmitter(program, layout, inputs, output, os).emit()))
        return failure();
      os << "__syncthreads();\n";
      return success();
    }
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
                           unsigned threads, llvm::raw_ostream &os) {
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
  emitSharedMemory(parts.prologue, type, kernel.getConfigInt("rows"),
                   parts.prologueInputs, os);
  os << "__syncthreads();\nwaitForPrevious();\n{\n";
  if (failed(emitPrologue(parts.prologue, parts.prologueInputs, threads,
                          OneRowShape::serves(kernel), os)))
    return failure();
  os << "}\n";
  return success();
}

/// The kernel for one row, behind its parameters.
static LogicalResult emitOneRow(plan::KernelOp kernel, MatvecParts &parts,
                                StringRef matrix, RowEmitter &emitter,
                                StringRef xType, llvm::raw_ostream &os) {
  OneRowShape shape(kernel);
  unsigned threads = OneRowShape::warps * 32;
  os << formatv("using Product = OneRow<{0}, {1}, {2}, {3}, {4}, {5}, {6}, ",
                cudaElementType(kernel.getWeightType().getElementType()), xType,
                shape.n, shape.k, shape.vector, OneRowShape::warps,
                shape.blocks)
     << formatv("{0}, {1}>;\n", shape.split, shape.slots)
     << formatv("__shared__ float partials[{0}][{1}];\n", shape.split,
                shape.rowsPerBlock())
     << "launchDependents();\nProduct matvec;\n"
     << formatv("matvec.start({0}, dynamicShared() + {1});\n", matrix,
                matvecSharedBytes(kernel) / 16)
     << "const int row = 0, item = threadIdx.x;\n"
     << "const bool active = item < matvec.count;\n"
     << "const int c = matvec.first + min(item, matvec.count - 1);\n";
  // What does not depend on the predecessor is loaded ahead of the wait.
  emitter.emitColumnLoads();
  if (failed(emitX(kernel, parts, threads, os)))
    return failure();
  emitter.emitRowLoads();
  os << "matvec.multiply(x, partials);\n"
     << "Pack<float, 1> accumulator;\n"
     << "accumulator.value[0] = addParts(partials, c - matvec.first);\n";
  if (failed(emitter.emitFlatCompute()))
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
  bool oneRow = OneRowShape::serves(kernel);
  Value xValue = RowProgram::strip(prologue->getOutputs()[0]);
  StringRef xType = cudaElementType(
      cast<RankedTensorType>(xValue.getType()).getElementType());

  os << formatv(
      "extern \"C\" __global__ void __launch_bounds__({0}, {1})\n{2}(",
      oneRow ? OneRowShape::warps * 32 : shape.warps * 32,
      oneRow ? OneRowShape::residentBlocks : shape.residentBlocks(),
      kernel.getSymName());
  std::string matrix = emitParameters(parts, weight, os);
  RowLayout flat;
  flat.vectors = shape.n;
  RowEmitter emitter(parts.epilogue, flat, parts.epilogueInputs, parts.outputs,
                     os);
  std::string accumulator = "accumulator";
  emitter.bindInput(0, accumulator);
  if (oneRow)
    return emitOneRow(kernel, parts, matrix, emitter, xType, os);
  os << formatv("using Tile = Matvec<{0}, {1}, {2}, {3}, {4}, {5}, {6}>;\n",
                cudaElementType(weight.getElementType()), xType, shape.n,
                shape.k, shape.vector, shape.split, shape.rowsPerWarp)
     << "launchDependents();\nTile matvec;\n"
     << formatv("matvec.load({0}, blockIdx.x);\n", matrix);
  unsigned threads = shape.warps * 32;
  if (!shape.loops()) {
    // What does not depend on the predecessor is loaded ahead of the wait.
    emitItem(shape, "blockIdx.x", os);
    emitter.emitColumnLoads();
    if (failed(emitX(kernel, parts, threads, os)) ||
        failed(emitEpilogue(emitter, "0", os)))
      return failure();
    os << "}\n";
    return success();
  }
  if (failed(emitX(kernel, parts, threads, os)))
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
