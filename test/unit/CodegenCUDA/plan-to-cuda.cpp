//===- plan-to-cuda.cpp - Kernels of a plan module, for tests -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// plan-to-cuda FILE.mlir                     prints the CUDA source
// plan-to-cuda FILE.mlir --arch=sm_80,sm_90  compiles it and prints what the
//                                            assembler said of every kernel
//                        [--threads=N] [--out=DIR [--rows=N,...]]
//                                            ... and writes the cubins
//                                            and DIR/geometry.txt: a line for
//                                            every kernel and number of rows
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/CUDACodegen.h"
#include "compiler/Codegen/CUDA/KernelGeometry.h"
#include "compiler/Codegen/CUDA/MatvecEmitter.h"
#include "dialects/Plan/PlanOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using llvm::StringRef;

static void writeModules(const gpt2c::CompiledCode &code, StringRef folder) {
  for (const gpt2c::CompiledKernel &kernel : code.kernels)
    for (const gpt2c::KernelImage &image : kernel.images) {
      const gpt2c::CodeModule &module = code.modules[image.module];
      bool isPtx = module.format == gpt2c::CodeFormat::Ptx;
      std::string path = llvm::formatv("{0}/{1}.{2}.{3}", folder, kernel.name,
                                       module.arch, isPtx ? "ptx" : "cubin");
      std::error_code error;
      llvm::raw_fd_ostream(path, error) << module.bytes;
      if (error)
        llvm::errs() << path << ": " << error.message() << "\n";
    }
}

/// Row counts that the kernel may be launched with, as far as tests go.
static SmallVector<int64_t> rowCounts(plan::KernelOp kernel,
                                      ArrayRef<int64_t> more) {
  SmallVector<int64_t> counts;
  int64_t most = kernel.isMatvec() ? kernel.getConfigInt("rows")
                 : kernel.isRow()  ? 64
                                   : 4;
  if (kernel.getConfigAttr().contains("row_blocks"))
    most = 1;
  int64_t unit = gpt2c::rowUnit(kernel);
  for (int64_t i = 1; i <= most; ++i)
    counts.push_back(i * unit);
  for (int64_t rows : more)
    if (most > 1 && rows % unit == 0)
      counts.push_back(rows);
  return counts;
}

/// A line for every kernel and row count: NAME ROWS THREADS SHARED and the
/// grid's three dimensions.
static void writeGeometry(ModuleOp module, StringRef folder,
                          ArrayRef<int64_t> more) {
  std::error_code error;
  llvm::raw_fd_ostream os((folder + "/geometry.txt").str(), error);
  for (auto kernel : module.getOps<plan::KernelOp>())
    for (int64_t rows : rowCounts(kernel, more)) {
      auto geometry = gpt2c::geometryFor(kernel, rows);
      if (failed(geometry))
        break;
      os << llvm::formatv("{0} {1} {2} {3} {4} {5} {6}\n", kernel.getSymName(),
                          rows, geometry->blockThreads,
                          geometry->dynamicSharedBytes, geometry->gridX,
                          geometry->gridY, geometry->gridZ);
    }
}

static int compile(ModuleOp module, const gpt2c::CudaCodegenOptions &options,
                   StringRef folder, ArrayRef<int64_t> moreRows) {
  FailureOr<gpt2c::CompiledCode> code = gpt2c::compileForCuda(module, options);
  if (failed(code))
    return 1;
  for (const gpt2c::CompiledKernel &kernel : code->kernels)
    for (const gpt2c::KernelImage &image : kernel.images) {
      const gpt2c::CodeModule &compiled = code->modules[image.module];
      bool isPtx = compiled.format == gpt2c::CodeFormat::Ptx;
      llvm::outs() << llvm::formatv(
          "{0} {1} {2} bytes {3} registers {4} shared {5} dynamic {6} local "
          "{7} threads {8}\n",
          kernel.name, compiled.arch, isPtx ? "ptx" : "cubin",
          compiled.bytes.size(), image.registers, image.staticSharedBytes,
          kernel.dynamicSharedBytes, image.spillBytes, kernel.blockThreads);
    }
  if (!folder.empty()) {
    writeModules(*code, folder);
    writeGeometry(module, folder, moreRows);
  }
  return 0;
}

int main(int argc, char **argv) {
  gpt2c::CudaCodegenOptions options;
  StringRef path, folder;
  SmallVector<int64_t> moreRows;
  for (int i = 1; i < argc; ++i) {
    StringRef argument = argv[i];
    if (argument.consume_front("--arch="))
      for (StringRef arch : llvm::split(argument, ','))
        options.archs.push_back(arch.str());
    else if (argument.consume_front("--threads="))
      argument.getAsInteger(10, options.threads);
    else if (argument.consume_front("--rows="))
      for (StringRef count : llvm::split(argument, ','))
        count.getAsInteger(10, moreRows.emplace_back());
    else if (argument.consume_front("--out="))
      folder = argument;
    else
      path = argument;
  }
  DialectRegistry registry;
  registry.insert<plan::PlanDialect, linalg::LinalgDialect, arith::ArithDialect,
                  math::MathDialect, tensor::TensorDialect>();
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  if (!module)
    return 1;
  if (!options.archs.empty())
    return compile(*module, options, folder, moreRows);
  llvm::outs() << gpt2c::emitCudaSource(*module);
  return 0;
}
