//===- ProgramBuilder.cpp - One program of a GPT-2 model ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "models/ProgramBuilder.h"

#include "models/ModelGlobals.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;
using gpt2rt::ModelConfig;

/// Numbers the places where a layer drops values, in program order: attention,
/// attention's branch, the MLP's branch. 0 is the embedding. A place has its
/// number whether it drops anything or not.
static int32_t dropoutIdOf(int64_t layer, int64_t place) {
  return static_cast<int32_t>(1 + 3 * layer + place);
}

ProgramBuilder::ProgramBuilder(ModuleOp module, const SymbolTable &symbols,
                               StringRef name, const ModelConfig &config,
                               ProgramAttr program)
    : symbols(symbols), config(config),
      isTraining(program.getRole() == ProgramRole::Accumulate),
      builder(module.getContext()) {
  builder.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(builder, locate(name), name,
                                       builder.getFunctionType({}, {}));
  function->setAttr(programAttrName, program);
  block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
}

Value ProgramBuilder::read(StringRef name, int64_t rows) {
  Value &value = values[name];
  if (value)
    return value;
  auto type = symbols.lookup<GlobalOp>(name).getTensorType();
  SmallVector<int64_t> shape(type.getShape());
  if (rows)
    shape[0] = rows;
  OpBuilder::InsertionGuard guard(builder);
  if (lastRead)
    builder.setInsertionPointAfter(lastRead);
  else
    builder.setInsertionPointToStart(block);
  lastRead = ReadOp::create(builder, locate(name), type.clone(shape), name);
  value = lastRead;
  return value;
}

void ProgramBuilder::write(StringRef name, Value value) {
  WriteOp::create(builder, locate("write"), name, value);
}

Value ProgramBuilder::embed(Value tokens, const Sequences &at) {
  Value wte = read("wte.weight"), wpe = read("wpe.weight");
  return EmbedOp::create(builder, locate("embed"),
                         matrix(rowsOf(tokens), config.width), tokens, wte, wpe,
                         at.starts, at.batch);
}

/// Hashes the numbers of all dropouts outside attention, whose op has its own.
void ProgramBuilder::hashDropoutKeys() {
  SmallVector<int32_t> ids;
  if (config.embdDropout != 0)
    ids.push_back(0);
  if (config.residDropout != 0)
    for (int64_t layer = 0; layer < config.layers; ++layer)
      ids.append({dropoutIdOf(layer, 1), dropoutIdOf(layer, 2)});
  if (!isTraining || ids.empty())
    return;
  SmallVector<Type> types(ids.size(),
                          RankedTensorType::get({1}, builder.getI32Type()));
  auto keys = DropoutKeysOp::create(builder, locate("dropout"), types,
                                    read("rng"), ids);
  for (auto [id, key] : llvm::zip_equal(ids, keys.getKeys()))
    dropoutKeys[id] = key;
}

Value ProgramBuilder::dropout(Value x, StringRef name, double probability,
                              int32_t id, const Sequences &at) {
  if (!isTraining || probability == 0)
    return x;
  return DropoutOp::create(
      builder, locate(name), x.getType(), x, read("rng"), dropoutKeys.at(id),
      builder.getF32FloatAttr(static_cast<float>(probability)),
      builder.getI64IntegerAttr(at.batch));
}

Value ProgramBuilder::layerNorm(Value x, StringRef name) {
  RankedTensorType statistics = matrix(rowsOf(x), 1);
  Value gamma = read((name + ".weight").str());
  Value beta = read((name + ".bias").str());
  return LayerNormOp::create(builder, locate(name), x.getType(), statistics,
                             statistics, x, gamma, beta,
                             builder.getF32FloatAttr(
                                 static_cast<float>(config.layerNormEpsilon)))
      .getY();
}

Value ProgramBuilder::linear(Value x, StringRef name, bool f32Result) {
  Value weight = read((name + ".weight").str());
  Value bias = read((name + ".bias").str());
  return LinearOp::create(builder, locate(name),
                          matrix(rowsOf(x), rowsOf(weight)), x, weight, bias,
                          f32Result);
}

Value ProgramBuilder::attention(Value qkv, int64_t layer, const Sequences &at) {
  double scale = 1.0;
  if (config.scaleAttnWeights)
    scale /= std::sqrt(static_cast<double>(config.headSize()));
  if (config.scaleAttnByInverseLayerIdx)
    scale /= static_cast<double>(layer + 1);

  Value k, v;
  if (at.starts) {
    int64_t slots = at.slot ? 0 : at.batch;
    std::string kName = layerName(layer, "k"), vName = layerName(layer, "v");
    k = read(kName, slots);
    v = read(vName, slots);
    auto append = CacheAppendOp::create(
        builder, locate(layerName(layer, "attn.append")), k.getType(),
        v.getType(), qkv, k, v, at.starts, at.count, at.slot, at.batch);
    k = append.getKResult();
    v = append.getVResult();
    caches.append({{kName, k}, {vName, v}});
  }
  Value rng;
  FloatAttr dropout;
  IntegerAttr dropoutId;
  if (isTraining && config.attnDropout != 0) {
    rng = read("rng");
    dropout = builder.getF32FloatAttr(static_cast<float>(config.attnDropout));
    dropoutId = builder.getI32IntegerAttr(dropoutIdOf(layer, 0));
  }
  return AttentionOp::create(builder, locate(layerName(layer, "attn")),
                             matrix(rowsOf(qkv), config.width), /*lse=*/Type(),
                             qkv, k, v, at.starts, at.slot, rng,
                             builder.getI64IntegerAttr(at.batch),
                             builder.getI64IntegerAttr(config.heads),
                             builder.getF32FloatAttr(static_cast<float>(scale)),
                             dropout, dropoutId)
      .getResult();
}

Value ProgramBuilder::layer(Value x, int64_t index, const Sequences &at) {
  auto named = [&](StringRef name) { return layerName(index, name); };
  auto add = [&](StringRef name, Value branch, int64_t place) -> Value {
    branch = dropout(branch, named((name + ".drop").str()), config.residDropout,
                     dropoutIdOf(index, place), at);
    return AddOp::create(builder, locate(named((name + ".add").str())), x,
                         branch);
  };
  Value qkv = linear(layerNorm(x, named("ln_1")), named("attn.c_attn"));
  Value attended = attention(qkv, index, at);
  // Only the last valid row predicts the next token, and nothing behind the
  // last layer's caches reads another.
  if (at.count && index == config.layers - 1) {
    attended = lastRow(attended, at);
    x = lastRow(x, at);
  }
  // What a branch adds to the f32 residual stream is not rounded first: that
  // rounding would cost more perplexity in bf16 than all others together.
  x = add("attn", linear(attended, named("attn.c_proj"), /*f32Result=*/true),
          1);
  Value hidden = linear(layerNorm(x, named("ln_2")), named("mlp.c_fc"));
  std::string_view kind = gpt2rt::activationName(config.activation);
  hidden = ActivationOp::create(
      builder, locate(named("mlp.act")), hidden.getType(),
      *symbolizeActivationKind(StringRef(kind.data(), kind.size())), hidden);
  return add("mlp", linear(hidden, named("mlp.c_proj"), /*f32Result=*/true), 2);
}

Value ProgramBuilder::layers(Value x, const Sequences &at) {
  for (int64_t index = 0; index < config.layers; ++index) {
    Operation *before = &block->back();
    x = layer(x, index, at);
    if (isTraining)
      numberLayer(before, index);
  }
  return x;
}

void ProgramBuilder::numberLayer(Operation *before, int64_t index) {
  auto first = std::next(before->getIterator());
  for (Operation &op : llvm::make_range(first, block->end()))
    if (!isa<ReadOp>(op))
      op.setAttr(layerAttrName, builder.getI64IntegerAttr(index));
}

Value ProgramBuilder::lastRow(Value x, const Sequences &at) {
  return SelectRowOp::create(builder, locate("last"), matrix(1, config.width),
                             x, at.count);
}

Value ProgramBuilder::logits(Value x, bool f32Result) {
  x = layerNorm(x, "ln_f");
  Value head = read(headName(config));
  return LinearOp::create(builder, locate("lm_head"),
                          matrix(rowsOf(x), rowsOf(head)), x, head,
                          /*bias=*/nullptr, f32Result);
}

Value ProgramBuilder::loss(Value logits, Value targets) {
  auto losses = RankedTensorType::get({rowsOf(logits)}, builder.getF32Type());
  return CrossEntropyOp::create(builder, locate("loss"), losses, logits,
                                targets, config.vocabSize,
                                /*first=*/IntegerAttr());
}

int64_t ProgramBuilder::cachedPositions() {
  return cast<RankedTensorType>(read(layerName(0, "k")).getType())
      .getDimSize(2);
}

void ProgramBuilder::finish() {
  func::ReturnOp::create(builder, locate("return"));
}

/// Samples from `logits` into the first `slots` slots (0: all) of sequences of
/// at most `limit` positions and writes what the program changed.
void ProgramBuilder::sample(Value logits, int64_t slots, const Sequences &at,
                            int64_t limit) {
  Value sampling = read("sampling", slots);
  Value tokens = read("tokens", slots), positions = read("positions", slots);
  auto op =
      SampleOp::create(builder, locate("sample"), tokens.getType(),
                       positions.getType(), logits, sampling, tokens, positions,
                       at.starts, at.count, at.slot, config.vocabSize, limit);
  for (auto &[name, value] : caches)
    write(name, value);
  if (!caches.empty()) // training has no slot for logits
    write("logits", logits);
  write("tokens", op.getTokensResult());
  write("positions", op.getPositionsResult());
  finish();
}

void ProgramBuilder::buildPrefill(int64_t chunk) {
  Value prompt = read("prompt", chunk);
  Sequences at = {1, read("start"), read("count"), read("slot")};
  Value scores = logits(layers(embed(prompt, at), at));
  sample(scores, /*slots=*/0, at, cachedPositions());
}

void ProgramBuilder::buildDecode(int64_t batch) {
  Value tokens = read("tokens", batch);
  Sequences at = {batch, read("positions", batch), Value(), Value()};
  Value scores = logits(layers(embed(tokens, at), at));
  sample(scores, batch, at, cachedPositions());
}

void ProgramBuilder::buildEval(int64_t batch, int64_t rows) {
  Value tokens = read("eval_tokens", rows);
  Value targets = read("targets", rows);
  Sequences at = {batch, Value(), Value(), Value()};
  Value scores = logits(layers(embed(tokens, at), at));
  Value losses = loss(scores, targets);
  write("logits", scores);
  write("losses", losses);
  finish();
}

/// The forward half of accumulate, or validate, over the first `rows` rows of
/// the slots. Their logits take the place of their own gradient, so they have
/// the type that the head's product asks for.
void ProgramBuilder::buildTraining(int64_t batch, int64_t rows) {
  Value inputs = read("inputs", rows), targets = read("targets", rows);
  Sequences at = {batch, Value(), Value(), Value()};
  hashDropoutKeys();
  Value x = dropout(embed(inputs, at), "embed.drop", config.embdDropout,
                    /*id=*/0, at);
  write("losses", loss(logits(layers(x, at), /*f32Result=*/false), targets));
  finish();
}

/// Draws a token behind the first `count` of one sequence. There is no cache: a
/// text is drawn rarely, and causal attention keeps what lies behind out.
void ProgramBuilder::buildTrainingSample(int64_t tokens) {
  Value inputs = read("inputs", tokens), count = read("count");
  Sequences at = {1, Value(), count, Value()};
  Value scores = logits(layers(embed(inputs, at), at));
  sample(scores, /*slots=*/0, {1, read("start"), count, read("slot")}, tokens);
}
