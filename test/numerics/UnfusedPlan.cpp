//===- UnfusedPlan.cpp - Plans whose ops are a kernel each ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "UnfusedPlan.h"
#include "compiler/Pipelines/InitAll.h"
#include "compiler/Pipelines/Stages.h"
#include "compiler/Target/PlanFile.h"
#include "mlir/IR/MLIRContext.h"
#include "models/Import.h"
#include "runtime/Support/File.h"

using namespace mlir;
using namespace mlir::gpt2c;

std::string gpt2test::compileUnfused(const std::string &model, int64_t batch,
                                     int64_t seq, double dropout,
                                     const std::string &plan) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  BuildOptions build;
  build.mode = GraphMode::Train;
  build.batch = batch;
  build.seq = seq;
  build.dropout = dropout;
  auto module = importModel(context, model, build);
  if (!module.ok())
    return std::string(module.status().message());
  CompileOptions options;
  options.training = true;
  options.archs = {"x86-64-v3", "x86-64-v4"};
  bool skipped = false;
  for (const Stage &stage : getStages()) {
    if (stage.name == "fusing") {
      skipped = true;
      continue;
    }
    PassManager pm(&context);
    stage.addPasses(pm, options);
    if (failed(pm.run(**module)))
      return stage.name.str() + " failed";
  }
  if (!skipped)
    return "no stage is called 'fusing'";
  FailureOr<CompiledCode> code = generateCode(**module, options);
  if (failed(code))
    return "generating code failed";
  FailureOr<std::string> file = buildPlanFile(**module, *code, "unfused");
  if (failed(file))
    return "writing the plan failed";
  return std::string(gpt2rt::writeFile(plan, *file).message());
}
