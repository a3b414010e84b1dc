//===- PlanValidatorTest.cpp - Every lie a plan can tell ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each case changes one field of a valid plan and names what must be said.
//
//===----------------------------------------------------------------------===//

#include "test/unit/Plan/TestPlans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

using namespace gpt2rt;
using namespace gpt2rt::test;
using testing::HasSubstr;

namespace {

using Change = std::function<void(fb::PlanT &)>;

/// The validator's message on the plan for generation after the change.
std::string messageAfter(const Change &change) {
  fb::PlanT plan = generatePlan();
  change(plan);
  Status status = parsePlan(plan).status();
  EXPECT_TRUE(status.ok() || status.code() == ErrorCode::DataLoss);
  return std::string(status.message());
}

fb::BufferT &buffer(fb::PlanT &plan, const char *name) {
  return *plan.buffers[bufferNamed(plan, name)];
}
/// Instructions of prefill: 0 launch, 1 matmul, 2 cache_append, 3 attention,
/// 4 copy, 5 matmul, 6 sample, 7 fill.
fb::InstructionT &prefill(fb::PlanT &plan, size_t index) {
  return *plan.programs[programNamed(plan, "prefill")]->instructions[index];
}

#define CASE(statement, message)                                               \
  EXPECT_THAT(messageAfter([](fb::PlanT &plan) { statement; }),                \
              HasSubstr(message))

TEST(PlanValidator, AcceptsBothModes) {
  EXPECT_EQ(parsePlan(generatePlan()).status().message(), "");
  EXPECT_EQ(parsePlan(evalPlan()).status().message(), "");
  PlanSizes one;
  one.batch = 1;
  EXPECT_EQ(parsePlan(generatePlan(one)).status().message(), "");
}

TEST(PlanValidator, Root) {
  CASE(plan.target = fb::Target(7), "plan.target is 7");
  CASE(plan.precision = fb::Precision(9), "plan.precision is 9");
  CASE(plan.mode = fb::Mode(5), "plan.mode is 5");
  CASE(plan.batch = 0, "plan.batch is 0");
  CASE(plan.batch = 1u << 20, "plan.batch is 1048576");
}

TEST(PlanValidator, Model) {
  CASE(plan.model->vocab = 0, "model.vocab is 0");
  CASE(plan.model->vocab = 129, "model.padded_vocab is 128");
  CASE(plan.model->padded_vocab = 1u << 30, "model.padded_vocab");
  CASE(plan.model->positions = 0, "model.positions is 0");
  CASE(plan.model->eos = -2, "model.eos is -2");
}

TEST(PlanValidator, Payloads) {
  CASE(plan.payloads[0]->size = 65, "payloads[0] lies at 0 with 65 bytes");
  CASE(plan.payloads[0]->offset = ~63ull, "outside the payload section");
  CASE(plan.payloads[0]->offset = 8;
       plan.payloads[0]->size = 1, "payloads[0].offset is 8");
}

TEST(PlanValidator, Modules) {
  CASE(plan.modules[0]->payload = 1, "modules[0].payload is 1");
  CASE(plan.modules[0]->arch = "", "modules[0].arch");
  CASE(plan.modules[0]->format = fb::CodeFormat(9), "modules[0].format is 9");
  CASE(plan.modules[0]->format = fb::CodeFormat::Cubin,
       "a CPU plan holds no such code");
  CASE(plan.target = fb::Target::CUDA, "a CUDA plan holds no such code");
  CASE(plan.payloads[0]->size = 8, "does not begin with an ELF header");
}

TEST(PlanValidator, Kernels) {
  CASE(plan.kernels[0]->name = "a b", "kernels[0].name is 'a b'");
  CASE(plan.kernels[0]->name = "", "kernels[0].name");
  CASE(plan.kernels[0]->images.clear(), "kernels[0].images is empty");
  CASE(plan.kernels[0]->images[0]->module_ = 3,
       "kernels[0].images[0].module is 3");
  CASE(plan.kernels[0]->dynamic_shared_bytes = 1u << 20, "shared memory");
}

void makeCuda(fb::PlanT &plan) {
  plan.target = fb::Target::CUDA;
  plan.modules[0]->format = fb::CodeFormat::Cubin;
  plan.kernels[0]->block_threads = 128;
}

TEST(PlanValidator, LaunchLimits) {
  EXPECT_EQ(messageAfter(makeCuda), "");
  CASE(makeCuda(plan); plan.kernels[0]->block_threads = 1025,
                       "kernels[0].block_threads is 1025");
  CASE(makeCuda(plan); plan.kernels[0]->block_threads = 0, "block_threads");
  CASE(makeCuda(plan); prefill(plan, 0).op.AsLaunch()->grid_x = 0,
                       "programs[1].instructions[0].launch.grid_x is 0");
  CASE(makeCuda(plan); prefill(plan, 0).op.AsLaunch()->grid_y = 65536,
                       "launch.grid_y is 65536");
  CASE(makeCuda(plan); prefill(plan, 0).op.AsLaunch()->grid_z = 70000,
                       "launch.grid_z is 70000");
  CASE(makeCuda(plan); prefill(plan, 0).op.AsLaunch()->scalars.assign(2000, 1),
                       "bytes of kernel parameters");
  CASE(makeCuda(plan); plan.modules[0]->format = fb::CodeFormat::Ptx;
       plan.payloads[0]->size = 4, "zero byte");
}

TEST(PlanValidator, Arenas) {
  CASE(plan.arenas[0]->kind = fb::ArenaKind(7), "arenas[0].kind is 7");
  CASE(plan.arenas[1]->alignment = 0, "arenas[1].alignment is 0");
  CASE(plan.arenas[1]->alignment = 96, "arenas[1].alignment is 96");
  CASE(plan.arenas[1]->alignment = 32, "arenas[1].alignment is 32");
  CASE(plan.arenas[1]->bytes = ~0ull, "does not fit 64 bits");
}

TEST(PlanValidator, BufferSizes) {
  CASE(buffer(plan, "x").dtype = fb::DType(9), "dtype is 9");
  CASE(buffer(plan, "x").shape.clear(), "shape is []");
  CASE(buffer(plan, "x").shape.assign(9, 1), "the rank must be in [1, 8]");
  CASE(buffer(plan, "x").shape[0] = 0, "no dimension may be 0");
  CASE((buffer(plan, "x").shape = {1ull << 63, 2, 2}), "does not fit 64 bits");
  CASE((buffer(plan, "x").shape = {1ull << 62, 1}), "does not fit 64 bits");
  CASE(buffer(plan, "x").bytes = 4,
       "buffer 'x' of shape [4, 8] and type F32 has 128");
  CASE(buffer(plan, "x").shape[1] = 9, "of shape [4, 9] and type F32 has 144");
}

TEST(PlanValidator, BufferSlots) {
  CASE(buffer(plan, "x").arena = 7, "arena is 7, but the plan has 7 arenas");
  CASE(buffer(plan, "x").offset = ~63ull, "would end outside arena 3");
  CASE(buffer(plan, "x").offset = 1u << 20, "would end outside arena 3");
  CASE(buffer(plan, "qkv").offset += 4, "must be a multiple of 64");
  CASE(plan.arenas[0]->bytes -= 64, "would end outside arena 0");
}

TEST(PlanValidator, BufferOwners) {
  CASE(buffer(plan, "x").program = 9, "program is 9, but the plan has 4");
  CASE(buffer(plan, "x").program = -1, "of kind Activations");
  CASE(buffer(plan, "wte").program = 1, "of kind Weights");
  CASE(buffer(plan, "wte").program = -7, "-1 marks a global");
  CASE(buffer(plan, "x").last = 8, "last is 8, but program 1 has 8");
  CASE(buffer(plan, "x").first = 2, "first is 2, but last is 1");
  CASE(buffer(plan, "v").name = "k", "another global has that name");
}

TEST(PlanValidator, Views) {
  auto viewOf = [](fb::PlanT &plan) -> fb::BufferT & {
    for (auto &buffer : plan.buffers)
      if (buffer->name == "logits" && buffer->view_of >= 0)
        return *buffer;
    std::abort();
  };
  auto message = [&](std::function<void(fb::BufferT &)> change) {
    return messageAfter([&](fb::PlanT &plan) { change(viewOf(plan)); });
  };
  EXPECT_THAT(message([](fb::BufferT &view) { view.view_of = 1000; }),
              HasSubstr("view_of is 1000"));
  EXPECT_THAT(message([](fb::BufferT &view) { view.view_of = -2; }),
              HasSubstr("view_of is -2"));
  EXPECT_THAT(message([](fb::BufferT &view) { view.view_of = 0; }),
              HasSubstr("another type, arena or offset"));
  EXPECT_THAT(message([](fb::BufferT &view) { view.dtype = fb::DType::I32; }),
              HasSubstr("another type, arena or offset"));
  EXPECT_THAT(message([](fb::BufferT &view) {
                view.shape = {1, 64};
                view.bytes = 256;
              }),
              HasSubstr("no prefix of the rows of buffer 'logits'"));
}

TEST(PlanValidator, SlotsOfLiveBuffersAreDisjoint) {
  CASE(buffer(plan, "qkv").offset = buffer(plan, "x").offset,
       "lives in instructions 1..3 of program 1");
  CASE(buffer(plan, "attended").offset = buffer(plan, "qkv").offset + 64,
       "buffers[");
  CASE(buffer(plan, "v").offset = buffer(plan, "k").offset, "lives always");
  // x is dead when `attended` comes alive, so they may share.
  EXPECT_EQ(messageAfter([](fb::PlanT &plan) {
              buffer(plan, "attended").offset = buffer(plan, "x").offset;
            }),
            "");
}

TEST(PlanValidator, Programs) {
  CASE(plan.programs[1]->role = fb::Role(8), "programs[1].role is 8");
  CASE(plan.programs[1]->batch = 3, "programs[1].batch is 3");
  CASE(plan.programs[1]->count_slot = 1000, "programs[1].count_slot is 1000");
  CASE(plan.programs[1]->count_slot = -3, "programs[1].count_slot is -3");
  CASE(plan.programs[1]->count_slot = 0, "no I32 state slot");
  CASE(plan.programs[1]->count_slot = -1,
       "launch.dynamic_rows is true, but the program has no count_slot");
}

TEST(PlanValidator, LaunchOperands) {
  CASE(prefill(plan, 0).op.AsLaunch()->kernel = 1, "launch.kernel is 1");
  CASE(prefill(plan, 0).op.AsLaunch()->buffers[1] = 999,
       "programs[1].instructions[0].launch.buffers[1] is 999");
  CASE(prefill(plan, 0).op.AsLaunch()->access.pop_back(),
       "launch.access has 3 entries, but buffers has 4");
  CASE(prefill(plan, 0).op.AsLaunch()->access[2] = fb::Access(4),
       "launch.access[2] is 4");
  CASE(prefill(plan, 0).op.AsLaunch()->rows = 0, "launch.rows is 0");
  CASE(prefill(plan, 0).op.AsLaunch()->rows = 5, "buffer 'x' has 4 rows");
}

TEST(PlanValidator, MatmulOperands) {
  CASE(prefill(plan, 1).op.AsMatmul()->k = 9,
       "programs[1].instructions[1].matmul.k is 9, but buffer 'x' has 8 "
       "columns");
  CASE(prefill(plan, 1).op.AsMatmul()->n = 0, "matmul.n is 0");
  CASE(prefill(plan, 1).op.AsMatmul()->m = 5, "matmul.m is 5");
  CASE(prefill(plan, 1).op.AsMatmul()->weight_nk = false,
       "its shape is [24, 8], not [8, 24]");
  CASE(prefill(plan, 1).op.AsMatmul()->epilogue = fb::Epilogue(6),
       "matmul.epilogue is 6");
  CASE(prefill(plan, 1).op.AsMatmul()->bias = -1, "matmul.bias is -1");
  CASE(prefill(plan, 1).op.AsMatmul()->bias = -9, "matmul.bias is 4294967287");
  CASE(prefill(plan, 1).op.AsMatmul()->bias = bufferNamed(plan, "wte"),
       "matmul.n is 24, but buffer 'wte' has 8 columns");
  CASE(prefill(plan, 1).op.AsMatmul()->a = bufferNamed(plan, "prompt"),
       "not a float");
  CASE(prefill(plan, 1).op.AsMatmul()->workspace = 12345, "workspace is 12345");
}

TEST(PlanValidator, Tuning) {
  auto tuned = [](size_t words, int32_t algorithm, fb::Target target) {
    return messageAfter([=](fb::PlanT &plan) {
      plan.target = target;
      if (target == fb::Target::CUDA)
        plan.modules[0]->format = fb::CodeFormat::Cubin;
      for (auto &kernel : plan.kernels)
        kernel->block_threads = 128;
      plan.tuning = std::make_unique<fb::TuningT>();
      plan.tuning->device = "GPU";
      plan.tuning->algorithms.push_back(
          std::make_unique<fb::MatmulAlgorithmT>());
      plan.tuning->algorithms[0]->words.resize(words);
      prefill(plan, 1).op.AsMatmul()->algorithm = algorithm;
    });
  };
  EXPECT_EQ(tuned(8, 0, fb::Target::CUDA), "");
  EXPECT_THAT(tuned(7, 0, fb::Target::CUDA),
              HasSubstr("tuning.algorithms[0] has 7 words"));
  EXPECT_THAT(tuned(8, 1, fb::Target::CUDA),
              HasSubstr("matmul.algorithm is 1, but the plan has 1"));
  EXPECT_THAT(tuned(8, -2, fb::Target::CUDA),
              HasSubstr("matmul.algorithm is -2"));
  EXPECT_THAT(tuned(8, -1, fb::Target::CPU), HasSubstr("the plan is for CPU"));
  CASE(prefill(plan, 1).op.AsMatmul()->algorithm = 0,
       "matmul.algorithm is 0, but the plan has 0 algorithms");
}

TEST(PlanValidator, Costs) {
  CASE(prefill(plan, 1).cost = 0,
       "programs[1].instructions[1].cost is 0, but the plan has 0 costs");
  CASE(prefill(plan, 1).cost = -2, "cost is -2");
}

TEST(PlanValidator, MatmulBiasTypes) {
  auto narrowBias = [](fb::PlanT &plan) {
    buffer(plan, "qkv_b").dtype = fb::DType::BF16;
    buffer(plan, "qkv_b").bytes /= 2;
  };
  EXPECT_EQ(messageAfter(narrowBias), "");
  EXPECT_THAT(messageAfter([&](fb::PlanT &plan) {
                makeCuda(plan);
                narrowBias(plan);
              }),
              HasSubstr("matmul.bias is buffer 'qkv_b', but its type is BF16 "
                        "and buffer 'qkv' has F32"));
}

TEST(PlanValidator, AttentionOperands) {
  CASE(prefill(plan, 3).op.AsAttention()->heads = 2, "3 * heads * head_size");
  CASE(prefill(plan, 3).op.AsAttention()->heads = 0, "none may be 0");
  CASE(prefill(plan, 3).op.AsAttention()->head_size = 1u << 31, "more than");
  CASE(prefill(plan, 3).op.AsAttention()->tokens = 5,
       "batch * tokens is 5, but buffer 'qkv' has 4 rows");
  CASE(prefill(plan, 3).op.AsAttention()->scale = 0, "attention.scale is 0");
  CASE(prefill(plan, 3).op.AsAttention()->scale =
           std::numeric_limits<float>::quiet_NaN(),
       "attention.scale");
  CASE(prefill(plan, 3).op.AsAttention()->v_cache = -1, "come together");
  CASE(prefill(plan, 3).op.AsAttention()->starts = -1, "come together");
  CASE(prefill(plan, 3).op.AsAttention()->k_cache = bufferNamed(plan, "wte"),
       "not [slots >= 1, 1, positions >= 4, 8]");
  CASE(prefill(plan, 3).op.AsAttention()->starts = bufferNamed(plan, "wte"),
       "not 1 or more of I32");
}

TEST(PlanValidator, CacheAppendOperands) {
  CASE(prefill(plan, 2).op.AsCacheAppend()->qkv = bufferNamed(plan, "x"),
       "cache_append.3 * heads * head_size");
  CASE(prefill(plan, 2).op.AsCacheAppend()->k_cache = bufferNamed(plan, "qkv"),
       "cache_append.k_cache");
  CASE(prefill(plan, 2).op.AsCacheAppend()->count = bufferNamed(plan, "wte"),
       "cache_append.count");
}

TEST(PlanValidator, SampleOperands) {
  CASE(prefill(plan, 6).op.AsSample()->vocab = 129, "sample.vocab is 129");
  CASE(prefill(plan, 6).op.AsSample()->vocab = 0, "sample.vocab is 0");
  CASE(prefill(plan, 6).op.AsSample()->batch = 0, "sample.batch is 0");
  CASE(prefill(plan, 6).op.AsSample()->batch = 2, "sample.batch is 2");
  CASE(prefill(plan, 6).op.AsSample()->positions_limit = 0,
       "sample.positions_limit is 0");
  CASE(prefill(plan, 6).op.AsSample()->logits = bufferNamed(plan, "tokens"),
       "its type is not F32");
  CASE(prefill(plan, 6).op.AsSample()->sampling = bufferNamed(plan, "tokens"),
       "sample.sampling");
}

TEST(PlanValidator, CopyAndLoadWeightOperands) {
  CASE(prefill(plan, 4).op.AsCopy()->dst = bufferNamed(plan, "x"),
       "which lives in instructions 0..1 only");
  CASE(prefill(plan, 4).op.AsCopy()->src = bufferNamed(plan, "qkv"),
       "copy.dst is buffer 'copied'");
  auto load = [](fb::PlanT &plan) -> fb::LoadWeightT & {
    return *plan.programs[0]->instructions[0]->op.AsLoadWeight();
  };
  EXPECT_THAT(messageAfter([&](fb::PlanT &plan) { load(plan).names.clear(); }),
              HasSubstr("load_weight.names is empty"));
  EXPECT_THAT(messageAfter([&](fb::PlanT &plan) { load(plan).rows = 129; }),
              HasSubstr("does not fit buffer 'wte'"));
  EXPECT_THAT(messageAfter([&](fb::PlanT &plan) { load(plan).rows = 0; }),
              HasSubstr("would be empty"));
  EXPECT_THAT(
      messageAfter([&](fb::PlanT &plan) { load(plan).transpose = true; }),
      HasSubstr("a tensor of 8 x 100 does not fit"));
  EXPECT_THAT(messageAfter([&](fb::PlanT &plan) {
                load(plan).dst = bufferNamed(plan, "k");
              }),
              HasSubstr("does not lie in a Weights arena"));
}

TEST(PlanValidator, OperandsOfOtherPrograms) {
  EXPECT_THAT(messageAfter([](fb::PlanT &plan) {
                uint32_t x = bufferNamed(plan, "x"); // prefill's
                plan.programs[2]->instructions[1]->op.AsMatmul()->a = x;
              }),
              HasSubstr("that buffer belongs to program 1"));
}

TEST(PlanValidator, UnknownInstruction) {
  // The tag is a byte of the file: an empty union must not pass for an
  // instruction, and neither must one of a newer format.
  fb::PlanT plan = generatePlan();
  std::string file = packPlan(plan);
  Result<Plan> loaded = Plan::parse(std::as_bytes(std::span(file)));
  ASSERT_TRUE(loaded.ok());
  auto *tag =
      const_cast<uint8_t *>(reinterpret_cast<const flatbuffers::Table *>(
                                loaded->program(1).instructions()->Get(4))
                                ->GetAddressOf(fb::Instruction::VT_OP_TYPE));
  for (uint8_t value : {0, 11, 255}) {
    *tag = value;
    uint64_t checksum = planChecksum(std::as_bytes(std::span(file)));
    std::memcpy(file.data() + offsetof(PlanHeader, checksum), &checksum, 8);
    Status status = Plan::parse(std::as_bytes(std::span(file))).status();
    EXPECT_THAT(
        status.message(),
        HasSubstr(strCat("programs[1].instructions[4].op_type is ", value)));
  }
}

TEST(PlanValidator, ReadsFollowWrites) {
  EXPECT_THAT(messageAfter([](fb::PlanT &plan) {
                auto &instructions = plan.programs[1]->instructions;
                std::swap(instructions[0], instructions[4]);
                for (const char *name : {"x", "attended", "copied", "qkv"}) {
                  buffer(plan, name).first = 0;
                  buffer(plan, name).last = 6;
                }
              }),
              HasSubstr("reads buffer 'attended', which nothing before it has "
                        "written"));
  // An instruction does not feed itself.
  CASE(prefill(plan, 4).op.AsCopy()->src = bufferNamed(plan, "copied"),
       "copy.src reads buffer 'copied'");
}

TEST(PlanValidator, OnlyInitWritesParameters) {
  CASE(prefill(plan, 0).op.AsLaunch()->access[2] = fb::Access::ReadWrite,
       "writes parameter buffer 'wte', which only an Init program may");
  CASE(plan.programs[0]->instructions.erase(
           plan.programs[0]->instructions.begin()),
       "parameter buffer 'wte', which no Init program writes");
  CASE(plan.programs[0]->role = fb::Role::Eval, "only an Init program may");
  CASE(plan.programs[1]->role = fb::Role::Init,
       "programs[1].instructions[0].launch stands in an Init program");
}

TEST(PlanValidator, ModesNeedTheirProgramsAndSlots) {
  CASE(plan.programs[0]->name = "start", "no program 'init'");
  CASE(plan.programs[1]->name = "fill", "no program 'prefill'");
  CASE(plan.programs[3]->name = "decode", "named decode_bBATCH");
  CASE(plan.programs[2]->batch = 2, "named decode_bBATCH");
  CASE(plan.programs[3]->role = fb::Role::Eval, "must have Decode");
  CASE(plan.programs[3]->name = "prefill", "another program has that name");
  CASE(plan.programs[1]->tokens = 17, "tokens in [1, 16]");
  CASE(plan.programs[1]->batch = 2, "it must have batch 1");
  CASE(plan.programs[1]->role = fb::Role::Eval, "must have Prefill");
  CASE(plan.mode = fb::Mode::Eval, "no program 'eval', which Eval plans need");
  for (const char *slot : {"tokens", "positions", "sampling", "prompt", "start",
                           "count", "slot", "logits"})
    EXPECT_THAT(messageAfter([slot](fb::PlanT &plan) {
                  buffer(plan, slot).name = "other";
                }),
                HasSubstr(strCat("no state slot '", slot, "'")));
  CASE(buffer(plan, "prompt").shape = {3};
       buffer(plan, "prompt").bytes = 12,
       "(state slot 'prompt') has 3 values of I32, but Generate plans need 4");
}

TEST(PlanValidator, EvalSlots) {
  for (const char *slot : {"eval_tokens", "targets", "losses", "logits"}) {
    fb::PlanT plan = evalPlan();
    buffer(plan, slot).name = "other";
    EXPECT_THAT(parsePlan(plan).status().message(),
                HasSubstr(strCat("no state slot '", slot, "'")));
  }
}

} // namespace
