//===- TrainPlanTest.cpp - A training module as a plan file ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Target/PlanFile.h"

#include "dialects/Plan/PlanOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Plan/Plan.h"

#include <gmock/gmock.h>

using namespace mlir;
using namespace mlir::gpt2c;
namespace fb = gpt2rt::fb;
using testing::HasSubstr;

namespace {

// One of each instruction that only training has, over two sequences of two.
constexpr const char *planned = R"mlir(
module attributes {
  plan.target = #plan<target cpu>, plan.batch = 2 : i64, plan.mode = "train",
  plan.precision = "fp32",
  plan.model = {name = "toy", vocab = 3 : i64, padded_vocab = 4 : i64,
                positions = 2 : i64, config_json = "{\22n_layer\22: 1}"}
} {
  plan.arena weights bytes 256 alignment 64
  plan.arena state bytes 896 alignment 64
  plan.arena activations bytes 1024 alignment 64
  plan.arena gradients bytes 256 alignment 64
  plan.arena optimizer bytes 256 alignment 64
  plan.global parameter @w : memref<6x2xf32> names ["w"] offset 0
  plan.global gradient @w.grad : memref<6x2xf32> offset 0
  plan.global gradient @wte.grad : memref<4x2xf32> offset 64
  plan.global gradient @wpe.grad : memref<2x2xf32> offset 128
  plan.global moment @w.m : memref<6x2xf32> offset 0
  plan.global state @inputs : memref<4xi32> offset 0
  plan.global state @targets : memref<4xi32> offset 64
  plan.global state @order : memref<4xi32> offset 128
  plan.global state @losses : memref<4xf32> offset 192
  plan.global state @loss_sum : memref<1xf32> offset 256
  plan.global state @step_params : memref<16xf32> offset 320
  plan.global state @rng : memref<4xi32> offset 384
  plan.global state @train_state : memref<8xf32> offset 448
  plan.global state @tokens : memref<1xi32> offset 512
  plan.global state @positions : memref<1xi32> offset 576
  plan.global state @sampling : memref<1x8xi32> offset 640
  plan.global state @start : memref<1xi32> offset 704
  plan.global state @count : memref<1xi32> offset 768
  plan.global state @slot : memref<1xi32> offset 832
  plan.kernel @sums "row" config {row_blocks = 2 : i64, rows = 4 : i64} body {
  ^bb0(%rows: index, %x: tensor<?x2xf32>, %sum: tensor<1x2xf32>):
    plan.yield %sum : tensor<1x2xf32>
  }
  plan.program init @init batch 1 tokens 1 {
    %w = plan.global_ref @w : memref<6x2xf32>
    %g = plan.global_ref @w.grad : memref<6x2xf32>
    %te = plan.global_ref @wte.grad : memref<4x2xf32>
    %pe = plan.global_ref @wpe.grad : memref<2x2xf32>
    %m = plan.global_ref @w.m : memref<6x2xf32>
    plan.load_weight ["w"] rows 6 cols 2 into %w : memref<6x2xf32>
    plan.fill %g with 0.0 : memref<6x2xf32>
    plan.fill %te with 0.0 : memref<4x2xf32>
    plan.fill %pe with 0.0 : memref<2x2xf32>
    plan.fill %m with 0.0 : memref<6x2xf32>
  }
  plan.program accumulate @accumulate batch 2 tokens 2 {
    %x = plan.alloc activation offset 0 first 0 last 5 : memref<4x2xf32>
    %qkv = plan.alloc activation offset 64 first 1 last 4 : memref<4x6xf32>
    %out = plan.alloc activation offset 192 first 2 last 3 : memref<4x2xf32>
    %lse = plan.alloc activation offset 256 first 2 last 3 : memref<4x1xf32>
    %dqkv = plan.alloc activation offset 320 first 3 last 6 : memref<4x6xf32>
    %gamma = plan.alloc activation offset 448 first 7 last 8 : memref<2xf32>
    %p = plan.alloc activation offset 512 first 8 last 8 : memref<2x2xf32>
    %dx = plan.alloc activation offset 576 first 5 last 8 : memref<4x2xf32>
    %w = plan.global_ref @w : memref<6x2xf32>
    %g = plan.global_ref @w.grad : memref<6x2xf32>
    %te = plan.global_ref @wte.grad : memref<4x2xf32>
    %pe = plan.global_ref @wpe.grad : memref<2x2xf32>
    %rng = plan.global_ref @rng : memref<4xi32>
    %inputs = plan.global_ref @inputs : memref<4xi32>
    %order = plan.global_ref @order : memref<4xi32>
    plan.fill %x with 1.0 : memref<4x2xf32>
    plan.matmul %x, %w into %qkv : memref<4x2xf32>, memref<6x2xf32> into memref<4x6xf32>
    plan.attention %qkv rng %rng : memref<4xi32> dropout 0.25 id 3 into %out lse %lse : memref<4x1xf32> batch 2 tokens 2 heads 1 scale 1.0 : memref<4x6xf32> into memref<4x2xf32>
    plan.attention_grad %qkv, %out, %lse, %out rng %rng : memref<4xi32> dropout 0.25 id 3 into %dqkv batch 2 tokens 2 heads 1 scale 1.0 : memref<4x6xf32>, memref<4x2xf32>, memref<4x1xf32>, memref<4x2xf32> into memref<4x6xf32>
    plan.matmul %qkv, %x into %g transpose_a weight_kn accumulate : memref<4x6xf32>, memref<4x2xf32> into memref<6x2xf32>
    plan.matmul %dqkv, %w into %dx weight_kn : memref<4x6xf32>, memref<6x2xf32> into memref<4x2xf32>
    plan.embed_grad %dx tokens %inputs order %order into %te, %pe batch 2 : memref<4x2xf32>, memref<4xi32>, memref<4xi32> into memref<4x2xf32>, memref<2x2xf32>
    plan.fill %gamma with 1.0 : memref<2xf32>
    plan.launch @sums rows 2 ins(%dx, %gamma : memref<4x2xf32>, memref<2xf32>) outs(%p : memref<2x2xf32>)
  }
  plan.program update @update batch 1 tokens 1 {
    %m = plan.global_ref @w.m : memref<6x2xf32>
    %w = plan.global_ref @w : memref<6x2xf32>
    plan.copy %m into %w : memref<6x2xf32> into memref<6x2xf32>
  }
  plan.program validate @validate batch 2 tokens 2 {
    %losses = plan.global_ref @losses : memref<4xf32>
    plan.fill %losses with 0.0 : memref<4xf32>
  }
  plan.program sample @sample batch 1 tokens 2 count @count {
    %tokens = plan.global_ref @tokens : memref<1xi32>
    plan.fill %tokens with 0.0 : memref<1xi32>
  }
}
)mlir";

class TrainPlanTest : public testing::Test {
protected:
  TrainPlanTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<plan::PlanDialect>();
    // What the loader takes for an ELF image.
    code.modules.push_back(
        {"x86-64-v3", CodeFormat::Elf, "\177ELF" + std::string(60, '\0')});
    CompiledKernel kernel;
    kernel.name = "sums";
    kernel.images.push_back({});
    code.kernels.push_back(kernel);
    auto module = parseSourceString<ModuleOp>(planned, &context);
    FailureOr<std::string> built = buildPlanFile(*module, code, "test");
    EXPECT_TRUE(succeeded(built));
    if (succeeded(built))
      file = *built;
  }

  MLIRContext context;
  CompiledCode code;
  std::string file;
};

TEST_F(TrainPlanTest, PrintsWhatTheModuleSays) {
  ASSERT_FALSE(file.empty());
  std::string text = printPlanFile(file);
  EXPECT_THAT(text, HasSubstr(R"(
arena Gradients bytes 256 alignment 64
arena Optimizer bytes 256 alignment 64
)"));
  EXPECT_THAT(text, HasSubstr("buffer w.m F32 [6x2] Optimizer+0\n"));
  EXPECT_THAT(text, HasSubstr(R"(
program accumulate Accumulate batch 2 tokens 2
  0 fill 1.000000e+00 out accumulate.19
  1 matmul 4x6x2 in accumulate.19 weight w out accumulate.20
  2 attention batch 2 tokens 2 heads 1x2 in accumulate.20 rng rng dropout 2.500000e-01 id 3 out accumulate.21 lse accumulate.22
  3 attention_grad batch 2 tokens 2 heads 1x2 in accumulate.20 in accumulate.21 lse accumulate.22 in accumulate.21 rng rng dropout 2.500000e-01 id 3 out accumulate.23
  4 matmul 6x2x4 in accumulate.20 weight accumulate.19 transposed inout w.grad
  5 matmul 4x2x6 in accumulate.23 weight w out accumulate.26
  6 embed_grad batch 2 tokens 2 in accumulate.26 tokens inputs order order inout wte.grad inout wpe.grad
  7 fill 1.000000e+00 out accumulate.24
  8 launch sums rows 2 in accumulate.26 in accumulate.24 out accumulate.25
program update Update)"));
}

TEST_F(TrainPlanTest, AsksForTrainingAndSamples) {
  ASSERT_FALSE(file.empty());
  gpt2rt::Result<gpt2rt::Plan> plan =
      gpt2rt::Plan::parse(std::as_bytes(std::span(file)));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->header().requiredFeatures,
            gpt2rt::planTrainingFeature | gpt2rt::planSampleFeature);
  EXPECT_EQ(plan->header().minor, 2);
  EXPECT_EQ(plan->root().mode(), fb::Mode::Train);
  EXPECT_EQ(plan->root().model()->config_json()->str(), "{\"n_layer\": 1}");
  EXPECT_EQ(plan->arenaBytes(fb::ArenaKind::Gradients), 256u);
}

} // namespace
