//===- TestPlans.cpp - Small valid plans to test with ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/unit/Plan/TestPlans.h"
#include "runtime/Support/DType.h"

#include <gtest/gtest.h>

#include <deque>

using namespace gpt2rt;
using namespace gpt2rt::test;

namespace {

using Shape = std::vector<uint64_t>;

/// Lays out buffers one after another; every program starts again at the
/// bottom of the shared arenas.
class Writer {
public:
  explicit Writer(fb::Mode mode, const PlanSizes &sizes) {
    plan.producer = "TestPlans";
    plan.mode = mode;
    plan.batch = sizes.batch;
    plan.model = std::make_unique<fb::ModelT>();
    plan.model->name = "test";
    plan.model->vocab = sizes.vocab;
    plan.model->padded_vocab = sizes.paddedVocab;
    plan.model->positions = sizes.positions;
    plan.model->width = width;
    plan.model->layers = plan.model->heads = 1;
    plan.model->eos = sizes.eos;
    for (int kind = 0; kind <= int(fb::ArenaKind::MAX); ++kind) {
      auto arena = std::make_unique<fb::ArenaT>();
      arena->kind = static_cast<fb::ArenaKind>(kind);
      arena->alignment = 64;
      plan.arenas.push_back(std::move(arena));
    }
    addCode();
  }

  uint32_t global(fb::ArenaKind kind, const char *name, fb::DType type,
                  Shape shape) {
    return buffer(kind, name, type, std::move(shape), -1);
  }
  uint32_t state(const char *name, Shape shape,
                 fb::DType type = fb::DType::I32) {
    return global(fb::ArenaKind::State, name, type, std::move(shape));
  }
  /// The first `rows` rows of a global.
  uint32_t view(uint32_t whole, uint64_t rows) {
    auto part = std::make_unique<fb::BufferT>(*plan.buffers[whole]);
    part->shape[0] = rows;
    part->bytes = sizeOf(static_cast<DType>(part->dtype));
    for (uint64_t dimension : part->shape)
      part->bytes *= dimension;
    part->view_of = static_cast<int32_t>(whole);
    plan.buffers.push_back(std::move(part));
    return static_cast<uint32_t>(plan.buffers.size() - 1);
  }
  /// A buffer of the current program that lives in [first, last].
  uint32_t local(const char *name, Shape shape, uint32_t first, uint32_t last,
                 fb::ArenaKind kind = fb::ArenaKind::Activations) {
    uint32_t index = buffer(kind, name, fb::DType::F32, std::move(shape),
                            static_cast<int32_t>(plan.programs.size()) - 1);
    plan.buffers[index]->first = first;
    plan.buffers[index]->last = last;
    return index;
  }

  fb::ProgramT &program(std::string name, fb::Role role, uint32_t batch,
                        uint32_t tokens) {
    auto program = std::make_unique<fb::ProgramT>();
    program->name = std::move(name);
    program->role = role;
    program->batch = batch;
    program->tokens = tokens;
    plan.programs.push_back(std::move(program));
    used[int(fb::ArenaKind::Activations)] = 0;
    used[int(fb::ArenaKind::Workspace)] = 0;
    return *plan.programs.back();
  }

  template <typename OpT>
  void instruction(OpT op) {
    auto instruction = std::make_unique<fb::InstructionT>();
    instruction->op.Set(std::move(op));
    plan.programs.back()->instructions.push_back(std::move(instruction));
  }

  void launch(std::vector<uint32_t> in, uint32_t out, uint32_t rows,
              bool dynamicRows = false) {
    fb::LaunchT op;
    op.rows = rows;
    op.dynamic_rows = dynamicRows;
    for (uint32_t index : in) {
      op.buffers.push_back(index);
      op.access.push_back(fb::Access::Read);
    }
    op.buffers.push_back(out);
    op.access.push_back(fb::Access::Write);
    instruction(std::move(op));
  }

  void loadWeight(const char *name, uint32_t dst, uint64_t rows,
                  uint64_t cols) {
    fb::LoadWeightT op;
    op.names = {name};
    op.dst = dst;
    op.rows = rows;
    op.cols = cols;
    instruction(std::move(op));
  }

  fb::PlanT finish() {
    for (auto &arena : plan.arenas)
      arena->bytes = peak[int(arena->kind)];
    return std::move(plan);
  }

  static constexpr uint32_t width = 8;
  fb::PlanT plan;

private:
  uint32_t buffer(fb::ArenaKind kind, const char *name, fb::DType type,
                  Shape shape, int32_t owner) {
    auto buffer = std::make_unique<fb::BufferT>();
    buffer->name = name;
    buffer->dtype = type;
    buffer->bytes = sizeOf(static_cast<DType>(type));
    for (uint64_t dimension : shape)
      buffer->bytes *= dimension;
    buffer->shape = std::move(shape);
    buffer->arena = static_cast<uint32_t>(kind);
    buffer->offset = used[int(kind)];
    buffer->program = owner;
    used[int(kind)] += (buffer->bytes + 63) / 64 * 64;
    peak[int(kind)] = std::max(peak[int(kind)], used[int(kind)]);
    plan.buffers.push_back(std::move(buffer));
    return static_cast<uint32_t>(plan.buffers.size() - 1);
  }

  void addCode() {
    auto payload = std::make_unique<fb::PayloadT>();
    payload->size = 64;
    plan.payloads.push_back(std::move(payload));
    auto module = std::make_unique<fb::CodeModuleT>();
    module->arch = "x86-64-v3";
    plan.modules.push_back(std::move(module));
    auto kernel = std::make_unique<fb::KernelT>();
    kernel->name = "row_kernel";
    kernel->kind = "row";
    kernel->images.push_back(std::make_unique<fb::KernelImageT>());
    plan.kernels.push_back(std::move(kernel));
  }

  static constexpr int kinds = int(fb::ArenaKind::MAX) + 1;
  uint64_t used[kinds] = {}, peak[kinds] = {};
};

/// What a forward program and its caller share.
struct Globals {
  uint32_t table, qkvWeight, qkvBias, k, v, logits;
};

Globals addGlobals(Writer &out, const PlanSizes &sizes, uint64_t logitsRows) {
  constexpr uint64_t width = Writer::width;
  using fb::ArenaKind;
  using fb::DType;
  Globals globals;
  globals.table = out.global(ArenaKind::Weights, "wte", DType::F32,
                             {sizes.paddedVocab, width});
  globals.qkvWeight =
      out.global(ArenaKind::Weights, "qkv_w", DType::F32, {3 * width, width});
  globals.qkvBias =
      out.global(ArenaKind::Weights, "qkv_b", DType::F32, {3 * width});
  globals.logits =
      out.state("logits", {logitsRows, sizes.paddedVocab}, DType::F32);
  return globals;
}

void addInit(Writer &out, const Globals &globals, const PlanSizes &sizes) {
  constexpr uint64_t width = Writer::width;
  out.program("init", fb::Role::Init, 0, 0);
  out.loadWeight("wte.weight", globals.table, sizes.vocab, width);
  out.loadWeight("h.0.attn.c_attn.weight", globals.qkvWeight, 3 * width, width);
  out.loadWeight("h.0.attn.c_attn.bias", globals.qkvBias, 3 * width, 0);
}

fb::MatmulT matmul(uint32_t a, uint32_t weight, uint32_t d, uint32_t m,
                   uint32_t n, uint32_t k) {
  fb::MatmulT op;
  op.a = a;
  op.weight = weight;
  op.d = d;
  op.m = m;
  op.n = n;
  op.k = k;
  op.weight_nk = true;
  return op;
}

struct StateSlots {
  uint32_t tokens, positions, sampling, prompt, start, count, slot;
};

/// embed, qkv, append, attend, copy, head, sample, fill: instructions 0 to 7.
void addForward(Writer &out, const Globals &globals, const StateSlots &state,
                const PlanSizes &sizes, bool prefill) {
  constexpr uint32_t width = Writer::width;
  fb::ProgramT &program = *out.plan.programs.back();
  uint32_t rows = program.batch * program.tokens;
  uint32_t starts =
      prefill ? state.start : out.view(state.positions, program.batch);
  uint32_t x = out.local("x", {rows, width}, 0, 1);
  uint32_t qkv = out.local("qkv", {rows, 3 * width}, 1, 3);
  uint32_t attended = out.local("attended", {rows, width}, 3, 4);
  uint32_t copied = out.local("copied", {rows, width}, 4, 5);
  uint32_t scratch = out.local("scratch", {64}, 1, 7, fb::ArenaKind::Workspace);
  uint32_t logitRows = prefill ? 1 : program.batch;
  uint32_t logits = out.view(globals.logits, logitRows);

  out.launch({prefill ? state.prompt : state.tokens, starts, globals.table}, x,
             rows, prefill);
  fb::MatmulT project =
      matmul(x, globals.qkvWeight, qkv, rows, 3 * width, width);
  project.bias = static_cast<int32_t>(globals.qkvBias);
  project.epilogue = fb::Epilogue::Bias;
  project.workspace = static_cast<int32_t>(scratch);
  project.dynamic_rows = prefill;
  out.instruction(project);

  fb::CacheAppendT append;
  append.qkv = qkv;
  append.k_cache = globals.k;
  append.v_cache = globals.v;
  append.starts = starts;
  append.batch = program.batch;
  append.tokens = program.tokens;
  append.heads = 1;
  append.head_size = width;
  fb::AttentionT attend;
  attend.qkv = qkv;
  attend.out = attended;
  attend.k_cache = static_cast<int32_t>(globals.k);
  attend.v_cache = static_cast<int32_t>(globals.v);
  attend.starts = static_cast<int32_t>(starts);
  attend.batch = program.batch;
  attend.tokens = program.tokens;
  attend.heads = 1;
  attend.head_size = width;
  attend.scale = 0.5f;
  fb::SampleT sample;
  if (prefill) {
    append.slot = attend.slot = sample.slot = static_cast<int32_t>(state.slot);
    append.count = sample.count = static_cast<int32_t>(state.count);
    program.count_slot = static_cast<int32_t>(state.count);
  }
  out.instruction(append);
  out.instruction(attend);
  fb::CopyT copy;
  copy.src = attended;
  copy.dst = copied;
  out.instruction(copy);
  out.instruction(matmul(copied, globals.table, logits, logitRows,
                         sizes.paddedVocab, width));
  sample.logits = logits;
  sample.sampling = state.sampling;
  sample.tokens = state.tokens;
  sample.positions = state.positions;
  sample.starts = starts;
  sample.batch = logitRows;
  sample.vocab = sizes.vocab;
  sample.positions_limit = sizes.positions;
  out.instruction(sample);
  fb::FillT fill;
  fill.dst = scratch;
  out.instruction(fill);
}

} // namespace

fb::PlanT test::generatePlan(const PlanSizes &sizes) {
  Writer out(fb::Mode::Generate, sizes);
  Globals globals = addGlobals(out, sizes, sizes.batch);
  Shape cache = {sizes.batch, 1, sizes.positions, Writer::width};
  globals.k = out.global(fb::ArenaKind::Cache, "k", fb::DType::F32, cache);
  globals.v = out.global(fb::ArenaKind::Cache, "v", fb::DType::F32, cache);
  StateSlots state;
  state.tokens = out.state("tokens", {sizes.batch});
  state.positions = out.state("positions", {sizes.batch});
  state.sampling = out.state("sampling", {sizes.batch, 8});
  state.prompt = out.state("prompt", {sizes.chunk});
  state.start = out.state("start", {1});
  state.count = out.state("count", {1});
  state.slot = out.state("slot", {1});
  addInit(out, globals, sizes);
  out.program("prefill", fb::Role::Prefill, 1, sizes.chunk);
  addForward(out, globals, state, sizes, /*prefill=*/true);
  for (uint32_t batch = 1; batch <= sizes.batch; batch *= 2) {
    out.program(strCat("decode_b", batch), fb::Role::Decode, batch, 1);
    addForward(out, globals, state, sizes, /*prefill=*/false);
  }
  return out.finish();
}

fb::PlanT test::evalPlan(const PlanSizes &sizes) {
  Writer out(fb::Mode::Eval, sizes);
  uint32_t rows = sizes.batch * sizes.chunk;
  Globals globals = addGlobals(out, sizes, rows);
  uint32_t tokens = out.state("eval_tokens", {rows});
  uint32_t targets = out.state("targets", {rows});
  uint32_t losses = out.state("losses", {rows, 1}, fb::DType::F32);
  addInit(out, globals, sizes);
  out.program("eval", fb::Role::Eval, sizes.batch, sizes.chunk);
  uint32_t x = out.local("x", {rows, Writer::width}, 0, 1);
  out.launch({tokens, globals.table}, x, rows);
  out.instruction(matmul(x, globals.table, globals.logits, rows,
                         sizes.paddedVocab, Writer::width));
  out.launch({globals.logits, targets}, losses, rows);
  return out.finish();
}

namespace {

/// A parameter with its gradient and moments.
struct Trained {
  uint32_t parameter, gradient, moment, secondMoment;
};

struct TrainGlobals {
  Trained table, positions, weight;
  uint32_t inputs, targets, order, losses, lossSum, stepParams, rng, trainState;
  uint32_t tokens, count; // of samples
};

Trained addTrained(Writer &out, const std::string &name, Shape shape) {
  auto global = [&](fb::ArenaKind kind, const char *suffix) {
    return out.global(kind, (name + suffix).c_str(), fb::DType::F32, shape);
  };
  return {global(fb::ArenaKind::Weights, ""),
          global(fb::ArenaKind::Gradients, ".grad"),
          global(fb::ArenaKind::Optimizer, ".m"),
          global(fb::ArenaKind::Optimizer, ".v")};
}

TrainGlobals addTrainGlobals(Writer &out, const PlanSizes &sizes) {
  constexpr uint64_t width = Writer::width;
  uint32_t rows = sizes.batch * sizes.chunk;
  TrainGlobals globals;
  globals.table = addTrained(out, "wte", {sizes.paddedVocab, width});
  globals.positions = addTrained(out, "wpe", {sizes.positions, width});
  globals.weight = addTrained(out, "qkv_w", {3 * width, width});
  globals.inputs = out.state("inputs", {rows});
  globals.targets = out.state("targets", {rows});
  globals.order = out.state("order", {rows});
  globals.losses = out.state("losses", {rows}, fb::DType::F32);
  globals.lossSum = out.state("loss_sum", {1}, fb::DType::F32);
  globals.stepParams = out.state("step_params", {16}, fb::DType::F32);
  globals.rng = out.state("rng", {4});
  globals.trainState = out.state("train_state", {8}, fb::DType::F32);
  globals.tokens = out.state("tokens", {1});
  globals.count = out.state("count", {1});
  out.state("positions", {1});
  out.state("sampling", {1, 8});
  out.state("start", {1});
  out.state("slot", {1});
  return globals;
}

void addTrainInit(Writer &out, const TrainGlobals &globals,
                  const PlanSizes &sizes) {
  constexpr uint64_t width = Writer::width;
  out.program("init", fb::Role::Init, 0, 0);
  out.loadWeight("wte.weight", globals.table.parameter, sizes.vocab, width);
  out.loadWeight("wpe.weight", globals.positions.parameter, sizes.positions,
                 width);
  out.loadWeight("h.0.attn.c_attn.weight", globals.weight.parameter, 3 * width,
                 width);
  for (const Trained &trained :
       {globals.table, globals.positions, globals.weight})
    for (uint32_t buffer :
         {trained.gradient, trained.moment, trained.secondMoment}) {
      fb::FillT fill;
      fill.dst = buffer;
      out.instruction(fill);
    }
}

/// embed, qkv, attend, attend's gradient, the weight's, a sum over columns in
/// two blocks of rows, the tables': instructions 0 to 6.
void addAccumulate(Writer &out, const TrainGlobals &globals, std::string name,
                   uint32_t batch, uint32_t tokens) {
  constexpr uint32_t width = Writer::width;
  uint32_t rows = batch * tokens;
  out.program(std::move(name), fb::Role::Accumulate, batch, tokens);
  uint32_t x = out.local("x", {rows, width}, 0, 6);
  uint32_t qkv = out.local("qkv", {rows, 3 * width}, 1, 3);
  uint32_t attended = out.local("attended", {rows, width}, 2, 3);
  uint32_t lse = out.local("lse", {rows, 1}, 2, 3);
  uint32_t dqkv = out.local("dqkv", {rows, 3 * width}, 3, 4);
  uint32_t sums = out.local("sums", {width, 2}, 5, 5);
  out.launch(
      {globals.inputs, globals.table.parameter, globals.positions.parameter}, x,
      rows);
  out.instruction(
      matmul(x, globals.weight.parameter, qkv, rows, 3 * width, width));

  fb::AttentionT attend;
  fb::AttentionGradT gradient;
  attend.qkv = gradient.qkv = qkv;
  attend.out = gradient.out = gradient.dout = attended;
  attend.lse = static_cast<int32_t>(lse);
  gradient.lse = lse;
  gradient.dqkv = dqkv;
  attend.batch = gradient.batch = batch;
  attend.tokens = gradient.tokens = tokens;
  attend.heads = gradient.heads = 1;
  attend.head_size = gradient.head_size = width;
  attend.scale = gradient.scale = 0.5f;
  attend.rng = gradient.rng = static_cast<int32_t>(globals.rng);
  attend.dropout = gradient.dropout = 0.1f;
  out.instruction(attend);
  out.instruction(gradient);

  fb::MatmulT weight =
      matmul(dqkv, x, globals.weight.gradient, 3 * width, width, rows);
  weight.weight_nk = false;
  weight.transpose_a = weight.accumulate = true;
  out.instruction(weight);
  out.launch({x}, sums, /*rows=*/2);
  fb::EmbedGradT embed;
  embed.dx = x;
  embed.tokens = globals.inputs;
  embed.order = globals.order;
  embed.dwte = globals.table.gradient;
  embed.dwpe = globals.positions.gradient;
  embed.batch = batch;
  embed.tokens_per_sequence = tokens;
  out.instruction(embed);
}

/// The programs again for sequences of `tokens`, over the first rows of slots.
void addShorter(Writer &out, TrainGlobals globals, uint32_t batch,
                uint32_t tokens) {
  uint32_t rows = batch * tokens;
  for (uint32_t *slot :
       {&globals.inputs, &globals.targets, &globals.order, &globals.losses})
    *slot = out.view(*slot, rows);
  addAccumulate(out, globals, strCat("accumulate_t", tokens), batch, tokens);
  out.program(strCat("validate_t", tokens), fb::Role::Validate, batch, tokens);
  out.launch({globals.inputs}, globals.losses, rows);
}

} // namespace

fb::PlanT test::trainPlan(const PlanSizes &sizes) {
  Writer out(fb::Mode::Train, sizes);
  TrainGlobals globals = addTrainGlobals(out, sizes);
  addTrainInit(out, globals, sizes);
  addAccumulate(out, globals, "accumulate", sizes.batch, sizes.chunk);
  out.program("update", fb::Role::Update, 1, 1);
  constexpr uint32_t rows = 3 * Writer::width; // of qkv_w
  out.launch({globals.weight.gradient}, globals.weight.moment, rows);
  out.launch({globals.weight.moment}, globals.weight.parameter, rows);
  out.program("validate", fb::Role::Validate, sizes.batch, sizes.chunk);
  out.launch({globals.inputs}, globals.losses, sizes.batch * sizes.chunk);
  out.program("sample", fb::Role::Sample, 1, sizes.chunk).count_slot =
      static_cast<int32_t>(globals.count);
  out.launch({out.view(globals.inputs, sizes.chunk), globals.count},
             globals.tokens, 1);
  for (uint32_t tokens : sizes.shorter)
    addShorter(out, globals, sizes.batch, tokens);
  return out.finish();
}

fb::PlanT test::olderTrainPlan(const PlanSizes &sizes) {
  fb::PlanT plan = trainPlan(sizes);
  plan.programs.erase(plan.programs.begin() + programNamed(plan, "sample"));
  return plan;
}

uint32_t test::bufferNamed(const fb::PlanT &plan, const std::string &name) {
  for (uint32_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i]->name == name)
      return i;
  ADD_FAILURE() << "no buffer " << name;
  return 0;
}

uint32_t test::programNamed(const fb::PlanT &plan, const std::string &name) {
  for (uint32_t i = 0; i < plan.programs.size(); ++i)
    if (plan.programs[i]->name == name)
      return i;
  ADD_FAILURE() << "no program " << name;
  return 0;
}

static uint64_t requiredFeatures(const fb::PlanT &plan) {
  uint64_t features = plan.mode == fb::Mode::Train ? planTrainingFeature : 0;
  for (auto &program : plan.programs)
    if (program->role == fb::Role::Sample)
      features |= planSampleFeature;
  return features;
}

std::string test::packPlan(const fb::PlanT &plan) {
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishPlanBuffer(builder, fb::Plan::Pack(builder, &plan));
  std::string code(64, '\0'); // an ELF header, as far as the loader looks
  code.replace(0, 4, "\177ELF");
  Result<std::string> file = assemblePlanFile(
      std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())),
      std::as_bytes(std::span(code)), requiredFeatures(plan));
  EXPECT_TRUE(file.ok());
  return *file;
}

Result<Plan> test::parsePlan(const fb::PlanT &plan) {
  static std::deque<std::string> files;
  files.push_back(packPlan(plan));
  return Plan::parse(std::as_bytes(std::span(files.back())));
}
