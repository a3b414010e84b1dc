//===- Stages.cpp - The compiler's stages in order
//--------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Stages.h"

#include "compiler/Codegen/CPU/CPUCodegen.h"
#include "compiler/Codegen/CUDA/CUDACodegen.h"
#include "compiler/Conversion/Passes.h"
#include "compiler/Memory/Passes.h"
#include "dialects/Plan/PlanOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::gpt2c;

namespace {

/// Rows up to which a CUDA matvec kernel beats cuBLASLt, and its limit.
constexpr int64_t cudaMatvecRows = 8;

// What cuBLASLt asks for on Hopper and later, and on older GPUs.
constexpr int64_t largeMatmulWorkspace = int64_t(32) << 20;
constexpr int64_t smallMatmulWorkspace = int64_t(4) << 20;

// Partial sums of a sum over rows: what keeps a GPU's cores busy, and what a
// CPU adds up quickly.
constexpr int64_t cudaRowBlocks = 512, cpuRowBlocks = 64;

// What a large GPU and a few CPU cores reach in practice, operations and bytes
// a second. Only their ratio tells one recomputation from another.
constexpr double cudaLowRate = 3e14, cudaFullRate = 4e13, cudaByteRate = 2e12;
constexpr double cpuRate = 1e11, cpuByteRate = 2e10;

int64_t matvecRows(const CompileOptions &options) {
  // The CPU executor has its own matvec behind plan.matmul.
  bool hasMatvecs = options.target == plan::Target::CUDA && !options.training;
  return hasMatvecs ? cudaMatvecRows : 0;
}

bool isHopperOrLater(StringRef arch) {
  unsigned number = 0;
  return arch.consume_front("sm_") && !arch.consumeInteger(10, number) &&
         number >= 90;
}

void addTraining(OpPassManager &pm, const CompileOptions &options) {
  if (!options.training)
    return;
  BuildTrainingOptions training;
  training.rowBlocks =
      options.target == plan::Target::CUDA ? cudaRowBlocks : cpuRowBlocks;
  pm.addPass(createBuildTraining(training));
}

void addPrecision(OpPassManager &pm, const CompileOptions &options) {
  MixedPrecisionOptions precision;
  precision.precision = options.precision;
  precision.narrowBiases = options.target == plan::Target::CUDA;
  pm.addPass(createMixedPrecision(precision));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  if (options.lean)
    pm.addPass(createLeanStorage());
  if (options.training) {
    ChunkLmHeadOptions head;
    head.chunks = options.headChunks;
    pm.addPass(createChunkLmHead(head));
  }
}

void addFusion(OpPassManager &pm, const CompileOptions &options) {
  FuseOptions fusion;
  fusion.matvecRows = matvecRows(options);
  pm.addPass(createFuse(fusion));
}

void addRematerialization(OpPassManager &pm, const CompileOptions &options) {
  if (options.training)
    pm.addPass(createRematerialize(rematerializeOptions(options)));
}

void addConversion(OpPassManager &pm, const CompileOptions &options) {
  ConvertGPT2ToPlanPassOptions conversion;
  conversion.target = options.target;
  conversion.matvecRows = matvecRows(options);
  conversion.recordCosts = true;
  pm.addPass(createConvertGPT2ToPlanPass(conversion));
}

void addSelection(OpPassManager &pm, const CompileOptions &options) {
  if (options.target == plan::Target::CPU) {
    pm.addNestedPass<plan::ProgramOp>(createAssignCpuWorkspacesPass());
    return;
  }
  pm.addPass(createNarrowCudaBiasesPass());
  SelectCudaKernelsPassOptions selection;
  selection.matmulWorkspace = llvm::any_of(options.archs, isHopperOrLater)
                                  ? largeMatmulWorkspace
                                  : smallMatmulWorkspace;
  pm.addPass(createSelectCudaKernelsPass(selection));
}

void addMemory(OpPassManager &pm, const CompileOptions &) {
  pm.addPass(createPlanMemoryPass());
}

} // namespace

ArrayRef<Stage> mlir::gpt2c::getStages() {
  static constexpr Stage stages[] = {
      {"differentiating", addTraining},
      {"choosing precision", addPrecision},
      {"fusing", addFusion},
      {"choosing what to recompute", addRematerialization},
      {"lowering to buffers", addConversion},
      {"selecting kernels", addSelection},
      {"planning memory", addMemory},
  };
  return stages;
}

/// Stages before the one that rematerializes.
static constexpr size_t firstStages = 3;

ArrayRef<Stage> mlir::gpt2c::getFirstStages() {
  return getStages().take_front(firstStages);
}

ArrayRef<Stage> mlir::gpt2c::getLastStages() {
  return getStages().drop_front(firstStages);
}

/// Hopper chips have a table of their own, in 16 bits; "none" asks for rates.
static std::string costTableOf(const CompileOptions &options, bool isLow) {
  if (!options.rematCosts.empty())
    return options.rematCosts == "none" ? "" : options.rematCosts;
  bool isHopper = options.target == plan::Target::CUDA &&
                  llvm::is_contained(options.archs, "sm_90");
  return isHopper && isLow ? "h200" : "";
}

RematerializeOptions
mlir::gpt2c::rematerializeOptions(const CompileOptions &options) {
  RematerializeOptions result;
  result.mode = options.remat;
  result.budget = options.rematBudget;
  bool isCuda = options.target == plan::Target::CUDA;
  bool isLow = options.precision == Precision::FP16 ||
               options.precision == Precision::BF16;
  result.costTable = costTableOf(options, isLow);
  result.matmulRate = isCuda ? (isLow ? cudaLowRate : cudaFullRate) : cpuRate;
  result.byteRate = isCuda ? cudaByteRate : cpuByteRate;
  return result;
}

FailureOr<CompiledCode>
mlir::gpt2c::generateCode(ModuleOp module, const CompileOptions &options) {
  if (options.target == plan::Target::CPU) {
    CpuCodegenOptions cpu;
    cpu.archs = options.archs;
    return compileForCpu(module, cpu);
  }
  CudaCodegenOptions cuda;
  cuda.archs.assign(options.archs.begin(), options.archs.end());
  cuda.threads = options.threads;
  return compileForCuda(module, cuda);
}
