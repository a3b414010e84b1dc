// Everything that gpt2c and gpt2-opt register.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Pipelines/InitAll.h"

#include "compiler/Codegen/CPU/CPUCodegen.h"
#include "compiler/Codegen/CPU/Passes.h"
#include "compiler/Conversion/Passes.h"
#include "compiler/Memory/Passes.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/GPT2/GPT2Dialect.h"
#include "dialects/Plan/PlanDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void gpt2c::registerAllDialects(DialectRegistry &registry) {
  registry
      .insert<gpt2::GPT2Dialect, plan::PlanDialect, arith::ArithDialect,
              func::FuncDialect, linalg::LinalgDialect, math::MathDialect,
              memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect>();
  registerCpuCodegen(registry);
}

void gpt2c::registerAllPasses() {
  registerTransformsPasses();
  registerGpt2TransformsPasses();
  registerGpt2ConversionPasses();
  registerGpt2MemoryPasses();
  registerCodegenCPUPasses();
  registerCpuKernelPipeline();
}
