//===- TrainValidatorTest.cpp - Lies that a plan for training can tell ----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/unit/Plan/TestPlans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

using namespace gpt2rt;
using namespace gpt2rt::test;
using testing::HasSubstr;

namespace {

/// The validator's message on the plan for training after the change.
std::string messageAfter(const std::function<void(fb::PlanT &)> &change) {
  fb::PlanT plan = trainPlan();
  change(plan);
  Status status = parsePlan(plan).status();
  EXPECT_TRUE(status.ok() || status.code() == ErrorCode::DataLoss);
  return std::string(status.message());
}

fb::BufferT &buffer(fb::PlanT &plan, const char *name) {
  return *plan.buffers[bufferNamed(plan, name)];
}
fb::ProgramT &program(fb::PlanT &plan, const char *name) {
  return *plan.programs[programNamed(plan, name)];
}
/// Instructions of accumulate: 0 launch, 1 matmul, 2 attention,
/// 3 attention_grad, 4 matmul, 5 launch, 6 embed_grad.
fb::InstructionT &accumulate(fb::PlanT &plan, size_t index) {
  return *program(plan, "accumulate").instructions[index];
}

#define CASE(statement, message)                                               \
  EXPECT_THAT(messageAfter([](fb::PlanT &plan) { statement; }),                \
              HasSubstr(message))

TEST(TrainValidator, Accepts) {
  EXPECT_EQ(parsePlan(trainPlan()).status().message(), "");
  EXPECT_EQ(parsePlan(olderTrainPlan()).status().message(), "");
}

TEST(TrainValidator, MatmulSums) {
  CASE(accumulate(plan, 4).op.AsMatmul()->transpose_a = false,
       "matmul.k is 8, but buffer 'dqkv' has 24 columns");
  CASE(accumulate(plan, 4).op.AsMatmul()->m = 8, "matmul.m is 8");
  CASE(accumulate(plan, 4).op.AsMatmul()->k = 9, "matmul.k is 9");
  CASE(auto &op = *accumulate(plan, 4).op.AsMatmul();
       op.epilogue = fb::Epilogue::Bias;
       op.bias = bufferNamed(plan, "loss_sum"),
       "sums are F32 and have no epilogue");
  CASE(program(plan, "accumulate").count_slot = bufferNamed(plan, "rng");
       accumulate(plan, 4).op.AsMatmul()->dynamic_rows = true,
       "dynamic_rows is true, but transpose_a is, too");
}

TEST(TrainValidator, Attention) {
  CASE(accumulate(plan, 2).op.AsAttention()->dropout = 1,
       "attention.dropout is 1, but it must be in [0, 1)");
  CASE(accumulate(plan, 2).op.AsAttention()->dropout =
           std::numeric_limits<float>::quiet_NaN(),
       "attention.dropout");
  CASE(accumulate(plan, 2).op.AsAttention()->dropout = 0, "rng needs dropout");
  CASE(accumulate(plan, 2).op.AsAttention()->rng = -1, "dropout needs rng");
  CASE(accumulate(plan, 2).op.AsAttention()->rng =
           bufferNamed(plan, "train_state"),
       "not 4 or more of I32");
  CASE(accumulate(plan, 2).op.AsAttention()->lse = bufferNamed(plan, "rng"),
       "attention.lse is buffer 'rng', but its type is not F32");
  CASE(accumulate(plan, 2).op.AsAttention()->lse =
           bufferNamed(plan, "attended"),
       "attention.heads is 1, but buffer 'attended' has 8 columns");
}

TEST(TrainValidator, AttentionGrad) {
  CASE(accumulate(plan, 3).op.AsAttentionGrad()->dqkv =
           bufferNamed(plan, "attended"),
       "attention_grad.3 * heads * head_size is 24");
  CASE(accumulate(plan, 3).op.AsAttentionGrad()->dout =
           bufferNamed(plan, "dqkv"),
       "attention_grad.heads * head_size is 8");
  CASE(accumulate(plan, 3).op.AsAttentionGrad()->heads = 0, "none may be 0");
  CASE(accumulate(plan, 3).op.AsAttentionGrad()->lse = 999,
       "attention_grad.lse is 999");
  CASE(accumulate(plan, 3).op.AsAttentionGrad()->scale = -1, "scale is -1");
  CASE(buffer(plan, "dqkv").dtype = fb::DType::BF16;
       buffer(plan, "dqkv").bytes /= 2,
       "attention_grad.dqkv is buffer 'dqkv', but its type is not that of "
       "buffer 'qkv'");
  CASE(buffer(plan, "lse").first = 3, "which lives in instructions 3..3 only");
}

TEST(TrainValidator, EmbedGrad) {
  CASE(accumulate(plan, 6).op.AsEmbedGrad()->batch = 0, "none may be 0");
  CASE(accumulate(plan, 6).op.AsEmbedGrad()->batch = 3,
       "embed_grad.batch * tokens is 12, but buffer 'x' has 8 rows");
  CASE(accumulate(plan, 6).op.AsEmbedGrad()->order =
           bufferNamed(plan, "losses"),
       "embed_grad.order is buffer 'losses'");
  CASE(accumulate(plan, 6).op.AsEmbedGrad()->dwte =
           bufferNamed(plan, "loss_sum"),
       "columns of dx is 8, but buffer 'loss_sum' has 1 columns");
  CASE(accumulate(plan, 6).op.AsEmbedGrad()->dwpe = bufferNamed(plan, "inputs"),
       "its type is not F32");
}

TEST(TrainValidator, RowBlocks) {
  CASE(accumulate(plan, 5).op.AsLaunch()->rows = 9,
       "launch.rows is 9, but buffer 'sums' has 8 rows");
}

TEST(TrainValidator, WhoWritesWhat) {
  CASE(program(plan, "accumulate").role = fb::Role::Validate,
       "writes gradient buffer 'qkv_w.grad', which only Init, Accumulate and "
       "Update programs may");
  CASE(program(plan, "update").role = fb::Role::Accumulate,
       "writes moment buffer 'qkv_w.m', which only an Init program may, or an "
       "Update program");
  CASE(program(plan, "init").instructions.pop_back(),
       "moment buffer 'qkv_w.v', which no Init program writes");
  // An update does not stand in for init.
  CASE(program(plan, "init")
           .instructions.erase(program(plan, "init").instructions.begin() + 2),
       "parameter buffer 'qkv_w', which no Init program writes");
  CASE(program(plan, "init").instructions.back()->op.AsFill()->dst =
           bufferNamed(plan, "rng"),
       "does not lie in a Gradients or Optimizer arena");
}

TEST(TrainValidator, ProgramsAndSlots) {
  CASE(program(plan, "update").name = "step",
       "no program 'update', which Train plans need");
  CASE(program(plan, "validate").role = fb::Role::Eval, "must have Validate");
  CASE(program(plan, "validate").tokens = 3,
       "program 'validate' has batch 2 and tokens 3");
  CASE(program(plan, "accumulate").tokens = 17, "tokens in [1, 16]");
  for (const char *slot : {"inputs", "targets", "order", "losses", "loss_sum",
                           "step_params", "rng", "train_state"})
    EXPECT_THAT(messageAfter([slot](fb::PlanT &plan) {
                  buffer(plan, slot).name = "other";
                }),
                HasSubstr(strCat("no state slot '", slot, "'")));
}

TEST(TrainValidator, Sample) {
  CASE(program(plan, "sample").role = fb::Role::Eval,
       "program 'sample' must have Sample");
  CASE(
      program(plan, "sample").batch = 2,
      "program 'sample' has batch 2 and tokens 4, but it must have batch 1 and "
      "the 4 of 'accumulate'");
  CASE(program(plan, "sample").tokens = 3, "has batch 1 and tokens 3");
  CASE(program(plan, "sample").count_slot = -1,
       "program 'sample' has count_slot -1, but it must be state slot 'count'");
  for (const char *slot :
       {"tokens", "positions", "sampling", "start", "count", "slot"})
    EXPECT_THAT(messageAfter([slot](fb::PlanT &plan) {
                  buffer(plan, slot).name = "other";
                }),
                HasSubstr(strCat("no state slot '", slot, "'")));
}

/// The message on a plan that also runs sequences of 2 and 3 of 4 tokens.
std::string messageOfShorter(const std::function<void(fb::PlanT &)> &change) {
  PlanSizes sizes;
  sizes.shorter = {2, 3};
  fb::PlanT plan = trainPlan(sizes);
  change(plan);
  return std::string(parsePlan(plan).status().message());
}

#define SHORTER(statement, message)                                            \
  EXPECT_THAT(messageOfShorter([](fb::PlanT &plan) { statement; }),            \
              HasSubstr(message))

TEST(TrainValidator, ShorterSequences) {
  EXPECT_EQ(messageOfShorter([](fb::PlanT &) {}), "");
  // A second program of a length, and one that is no shorter than all.
  SHORTER(program(plan, "accumulate_t3").name = "accumulate_t2",
          "another program has that name");
  SHORTER(program(plan, "accumulate_t3").tokens = 2,
          "program 'accumulate_t3' has batch 2 and tokens 2, but programs "
          "beside 'accumulate' are named accumulate_tTOKENS and have batch 2 "
          "and tokens in [1, 3]");
  SHORTER(auto &longest = program(plan, "accumulate_t3"); longest.tokens = 4;
          longest.name = "accumulate_t4", "'accumulate_t4' has batch 2 and "
                                          "tokens 4");
  SHORTER(program(plan, "validate_t2").tokens = 0,
          "program 'validate_t2' has batch 2 and tokens 0");
  SHORTER(program(plan, "validate_t2").batch = 1,
          "program 'validate_t2' has batch 1 and tokens 2");
  SHORTER(program(plan, "accumulate_t2").name = "more",
          "program 'more' has batch 2 and tokens 2");
  // Without its partner.
  SHORTER(plan.programs.pop_back(), "no program 'validate_t3'");
  SHORTER(
      auto one = std::make_unique<fb::ProgramT>(program(plan, "validate_t2"));
      one->name = "validate_t1"; one->tokens = 1;
      plan.programs.push_back(std::move(one)), "no program 'accumulate_t1'");
}

} // namespace
