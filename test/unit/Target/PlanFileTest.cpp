//===- PlanFileTest.cpp - A plan module as a plan file
//----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Target/PlanFile.h"

#include "dialects/Plan/PlanOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Plan/Plan.h"

#include <gmock/gmock.h>

using namespace mlir;
using namespace mlir::gpt2c;
using testing::HasSubstr;

namespace {

// The smallest plan that the validator takes: an eval program of two rows.
constexpr const char *planned = R"mlir(
module attributes {
  plan.target = #plan<target cpu>, plan.batch = 1 : i64, plan.mode = "eval",
  plan.precision = "fp32",
  plan.model = {name = "toy", vocab = 3 : i64, padded_vocab = 4 : i64,
                positions = 8 : i64}
} {
  plan.arena weights bytes 64 alignment 64
  plan.arena state bytes 320 alignment 64
  plan.arena activations bytes 64 alignment 64
  plan.global parameter @w : memref<4xf32> names ["a", "b"] offset 0
  plan.global state @eval_tokens : memref<2xi32> offset 0
  plan.global state @targets : memref<2xi32> offset 64
  plan.global state @losses : memref<2xf32> offset 128
  plan.global state @logits : memref<2x4xf32> offset 192
  plan.global state @count : memref<1xi32> offset 256
  plan.kernel @relu "row" body {
  ^bb0(%rows: index, %x: tensor<?x4xf32>, %w: tensor<1x4xf32>):
    plan.yield %x : tensor<?x4xf32>
  }
  plan.program init @init batch 1 tokens 1 {
    %w = plan.global_ref @w : memref<4xf32>
    plan.load_weight ["a", "b"] rows 3 cols 0 into %w : memref<4xf32>
  }
  plan.program eval @eval batch 1 tokens 2 count @count {
    %x = plan.alloc activation offset 0 first 0 last 1 : memref<2x4xf32>
    %w = plan.global_ref @w : memref<4xf32>
    %logits = plan.global_ref @logits : memref<2x4xf32>
    %first = plan.global_ref @logits : memref<1x4xf32>
    plan.fill %x with 2.0 : memref<2x4xf32>
    plan.launch @relu rows 2 ins(%x, %w : memref<2x4xf32>, memref<4xf32>)
        outs(%logits : memref<2x4xf32>) dynamic_rows
    plan.copy %w into %first : memref<4xf32> into memref<1x4xf32>
  }
}
)mlir";

class PlanFileTest : public testing::Test {
protected:
  PlanFileTest()
      : context(MLIRContext::Threading::DISABLED),
        handler(&context, [this](Diagnostic &diagnostic) {
          errors += diagnostic.str() + "\n";
          return success();
        }) {
    context.loadDialect<plan::PlanDialect>();
    // What the loader takes for an ELF image.
    code.modules.push_back(
        {"x86-64-v3", CodeFormat::Elf, "\177ELF" + std::string(60, '\0')});
    CompiledKernel kernel;
    kernel.name = "relu";
    kernel.images.push_back({});
    kernel.rowsGrain = 16;
    code.kernels.push_back(kernel);
  }

  /// The module of `planned` with one part of its text replaced.
  OwningOpRef<ModuleOp> parse(std::string from = "", std::string to = "") {
    std::string text = planned;
    if (!from.empty()) {
      size_t at = text.find(from);
      EXPECT_NE(at, std::string::npos);
      text.replace(at, from.size(), to);
    }
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << errors;
    return module;
  }

  /// What building the changed plan says.
  std::string errorOf(std::string from, std::string to) {
    OwningOpRef<ModuleOp> module = parse(from, to);
    EXPECT_TRUE(failed(buildPlanFile(*module, code, "test")));
    return errors;
  }

  MLIRContext context;
  std::string errors;
  ScopedDiagnosticHandler handler;
  CompiledCode code;
};

TEST_F(PlanFileTest, HoldsWhatTheModuleSays) {
  OwningOpRef<ModuleOp> module = parse();
  FailureOr<std::string> file = buildPlanFile(*module, code, "test");
  ASSERT_TRUE(succeeded(file)) << errors;
  EXPECT_EQ(printPlanFile(*file),
            R"(plan toy target CPU precision FP32 mode Eval batch 1 by test
model vocab 3 padded 4 positions 8 width 0 layers 0 heads 0 inner 0 eos -1 parameters 0
arena Weights bytes 64 alignment 64
arena State bytes 320 alignment 64
arena Activations bytes 64 alignment 64
buffer w F32 [4] Weights+0
buffer eval_tokens I32 [2] State+0
buffer targets I32 [2] State+64
buffer losses F32 [2] State+128
buffer logits F32 [2x4] State+192
buffer count I32 [1] State+256
buffer eval.6 F32 [2x4] Activations+0 live 0..1
buffer logits F32 [1x4] State+192 view
kernel relu row grain 16 x86-64-v3/Elf
program init Init batch 1 tokens 1
  0 load_weight a 3x0 out w
program eval Eval batch 1 tokens 2 count count
  0 fill 2.000000e+00 out eval.6
  1 launch relu rows 2 in eval.6 in w out logits dynamic
  2 copy in w out logits
)");
}

TEST_F(PlanFileTest, EqualModulesGiveEqualBytes) {
  OwningOpRef<ModuleOp> first = parse(), second = parse();
  FailureOr<std::string> a = buildPlanFile(*first, code, "test");
  FailureOr<std::string> b = buildPlanFile(*second, code, "test");
  ASSERT_TRUE(succeeded(a) && succeeded(b)) << errors;
  EXPECT_EQ(*a, *b);
}

TEST_F(PlanFileTest, UnplannedMemoryIsAnError) {
  EXPECT_THAT(errorOf("names [\"a\", \"b\"] offset 0", "names [\"a\"]"),
              HasSubstr("has no offset: run plan-memory"));
}

TEST_F(PlanFileTest, MissingArenaIsAnError) {
  EXPECT_THAT(errorOf("plan.arena activations bytes 64 alignment 64", ""),
              HasSubstr("lies in the activations arena, which the module "
                        "lacks: run plan-memory"));
}

TEST_F(PlanFileTest, CodeOfAnotherModuleIsAnError) {
  code.kernels[0].name = "gelu";
  EXPECT_THAT(errorOf("toy", "other"), HasSubstr("got the code of 'gelu'"));
  code.kernels.clear();
  EXPECT_THAT(errorOf("toy", "other"),
              HasSubstr("has 1 kernels but code for 0"));
}

TEST_F(PlanFileTest, MissingModelIsAnError) {
  OwningOpRef<ModuleOp> module = parse();
  (*module)->removeAttr(plan::modelAttrName);
  EXPECT_TRUE(failed(buildPlanFile(*module, code, "test")));
  EXPECT_THAT(errors, HasSubstr("has no plan.model attribute"));
}

TEST_F(PlanFileTest, WhatTheRuntimeWouldRefuseIsNotWritten) {
  // The slot of @x ends outside the arena.
  EXPECT_THAT(errorOf("plan.arena activations bytes 64",
                      "plan.arena activations bytes 16"),
              HasSubstr("gpt2c made a plan that gpt2-run would refuse"));
}

} // namespace
