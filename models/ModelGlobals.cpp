// The globals of a GPT-2 module: which there are, what they are called.
// SPDX-License-Identifier: Apache-2.0
#include "models/ModelGlobals.h"

#include "dialects/GPT2/GPT2Ops.h"

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;

int64_t gpt2c::paddedVocab(const gpt2rt::ModelConfig &config) {
  return llvm::alignTo(config.vocabSize, vocabAlignment);
}

std::string gpt2c::layerName(int64_t layer, StringRef name) {
  return ("h." + Twine(layer) + "." + name).str();
}

StringRef gpt2c::headName(const gpt2rt::ModelConfig &config) {
  return config.tieWordEmbeddings ? "wte.weight" : "lm_head.weight";
}

namespace {

class GlobalBuilder {
public:
  GlobalBuilder(OpBuilder &builder, const gpt2rt::ModelConfig &config,
                const BuildOptions &options)
      : builder(builder), config(config), options(options) {}

  void buildParameters();
  void buildCaches();
  void buildState();

private:
  void buildTrainingState();
  /// What sampling reads and writes, with room for so many sequences.
  void buildSamplingState(int64_t slots);
  void buildLayer(int64_t layer);

  /// A vector that is stored as it is.
  void vector(StringRef name, int64_t size) {
    global(name, GlobalKind::Parameter, {size}, builder.getF32Type())
        .setNamesAttr(builder.getStrArrayAttr({name}));
  }
  /// A table with a row for every word, padded.
  void vocabTable(StringRef name, ArrayRef<StringRef> names);
  /// A [inputs, outputs] weight of HF's Conv1D, transposed.
  void conv1d(StringRef name, int64_t inputs, int64_t outputs);
  void state(StringRef name, ArrayRef<int64_t> shape, Type element) {
    global(name, GlobalKind::State, shape, element);
  }

  GlobalOp global(StringRef name, GlobalKind kind, ArrayRef<int64_t> shape,
                  Type element) {
    return GlobalOp::create(
        builder, builder.getUnknownLoc(), builder.getStringAttr(name),
        TypeAttr::get(RankedTensorType::get(shape, element)),
        GlobalKindAttr::get(builder.getContext(), kind), /*names=*/nullptr,
        /*source=*/nullptr, /*transpose=*/nullptr);
  }

  OpBuilder &builder;
  const gpt2rt::ModelConfig &config;
  const BuildOptions &options;
};

void GlobalBuilder::vocabTable(StringRef name, ArrayRef<StringRef> names) {
  GlobalOp table =
      global(name, GlobalKind::Parameter, {paddedVocab(config), config.width},
             builder.getF32Type());
  table.setNamesAttr(builder.getStrArrayAttr(names));
  if (paddedVocab(config) != config.vocabSize)
    table.setSource(ArrayRef<int64_t>{config.vocabSize, config.width});
}

void GlobalBuilder::conv1d(StringRef name, int64_t inputs, int64_t outputs) {
  GlobalOp weight = global(name, GlobalKind::Parameter, {outputs, inputs},
                           builder.getF32Type());
  weight.setNamesAttr(builder.getStrArrayAttr({name}));
  weight.setTranspose(true);
}

void GlobalBuilder::buildLayer(int64_t layer) {
  auto named = [&](StringRef name) { return layerName(layer, name); };
  int64_t width = config.width, inner = config.inner;
  auto linear = [&](StringRef name, int64_t inputs, int64_t outputs) {
    conv1d(named((name + ".weight").str()), inputs, outputs);
    vector(named((name + ".bias").str()), outputs);
  };
  vector(named("ln_1.weight"), width);
  vector(named("ln_1.bias"), width);
  linear("attn.c_attn", width, 3 * width);
  linear("attn.c_proj", width, width);
  vector(named("ln_2.weight"), width);
  vector(named("ln_2.bias"), width);
  linear("mlp.c_fc", width, inner);
  linear("mlp.c_proj", inner, width);
}

void GlobalBuilder::buildParameters() {
  // A checkpoint of a tied model may hold the shared tensor under either name.
  if (config.tieWordEmbeddings)
    vocabTable("wte.weight", {"wte.weight", "lm_head.weight"});
  else
    vocabTable("wte.weight", {"wte.weight"});
  global("wpe.weight", GlobalKind::Parameter, {config.nPositions, config.width},
         builder.getF32Type())
      .setNamesAttr(builder.getStrArrayAttr({"wpe.weight"}));
  for (int64_t layer = 0; layer < config.layers; ++layer)
    buildLayer(layer);
  vector("ln_f.weight", config.width);
  vector("ln_f.bias", config.width);
  if (!config.tieWordEmbeddings)
    vocabTable("lm_head.weight", {"lm_head.weight"});
}

void GlobalBuilder::buildCaches() {
  int64_t shape[] = {options.batch, config.heads, options.seq,
                     config.headSize()};
  for (int64_t layer = 0; layer < config.layers; ++layer)
    for (StringRef part : {"k", "v"})
      global(layerName(layer, part), GlobalKind::Cache, shape,
             builder.getF32Type());
}

// Names, order and shapes of all slots are docs/architecture.md's.
void GlobalBuilder::buildTrainingState() {
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
  int64_t rows = options.batch * options.seq;
  state("inputs", {rows}, i32);
  state("targets", {rows}, i32);
  state("order", {rows}, i32);
  state("losses", {rows}, f32);
  state("loss_sum", {1}, f32);
  state("step_params", {16}, f32);
  state("rng", {4}, i32);
  state("train_state", {8}, f32);
  buildSamplingState(/*slots=*/1);
}

void GlobalBuilder::buildSamplingState(int64_t slots) {
  Type i32 = builder.getI32Type();
  state("tokens", {slots}, i32);
  state("positions", {slots}, i32);
  state("sampling", {slots, 8}, i32);
  state("start", {1}, i32);
  state("count", {1}, i32);
  state("slot", {1}, i32);
}

void GlobalBuilder::buildState() {
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
  int64_t vocab = paddedVocab(config), batch = options.batch;
  if (options.mode == GraphMode::Train)
    return buildTrainingState();
  if (options.mode == GraphMode::Eval) {
    int64_t rows = batch * options.seq;
    state("eval_tokens", {rows}, i32);
    state("targets", {rows}, i32);
    state("logits", {rows, vocab}, f32);
    state("losses", {rows}, f32);
    return;
  }
  buildSamplingState(batch);
  state("prompt", {options.chunk}, i32);
  state("logits", {batch, vocab}, f32);
}

} // namespace

void gpt2c::buildGlobals(OpBuilder &builder, const gpt2rt::ModelConfig &config,
                         const BuildOptions &options) {
  GlobalBuilder globals(builder, config, options);
  globals.buildParameters();
  if (options.mode == GraphMode::Generate)
    globals.buildCaches();
  globals.buildState();
}
