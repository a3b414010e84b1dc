// Turns a model description into programs of the gpt2 dialect.
// SPDX-License-Identifier: Apache-2.0
#include "models/GraphBuilder.h"

#include "models/ModelGlobals.h"
#include "models/ProgramBuilder.h"

using namespace mlir;
using namespace mlir::gpt2;
using namespace mlir::gpt2c;
using gpt2rt::ModelConfig;

static void setModelAttr(ModuleOp module, const ModelConfig &config,
                         StringRef name, const BuildOptions &options) {
  Builder builder(module.getContext());
  auto number = [&](StringRef key, int64_t value) {
    return builder.getNamedAttr(key, builder.getI64IntegerAttr(value));
  };
  module->setAttr(
      modelAttrName,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("name", builder.getStringAttr(name)),
           builder.getNamedAttr(
               "config_json", builder.getStringAttr(printModelConfig(config))),
           number("vocab", config.vocabSize),
           number("padded_vocab", paddedVocab(config)),
           number("positions", options.seq), number("width", config.width),
           number("layers", config.layers), number("heads", config.heads),
           number("inner", config.inner),
           number("eos", config.eosTokenId.value_or(-1)),
           number("parameters", config.paramCount())}));
}

static void buildPrograms(ModuleOp module, const ModelConfig &config,
                          const BuildOptions &options) {
  SymbolTable symbols(module);
  MLIRContext *context = module.getContext();
  auto program = [&](StringRef name, ProgramRole role, int64_t batch,
                     int64_t tokens, StringRef count = {}) {
    FlatSymbolRefAttr slot;
    if (!count.empty())
      slot = FlatSymbolRefAttr::get(context, count);
    return ProgramBuilder(module, symbols, name, config,
                          ProgramAttr::get(context, role, batch, tokens, slot));
  };
  if (options.mode == GraphMode::Eval) {
    program("eval", ProgramRole::Eval, options.batch, options.seq)
        .buildEval(options.batch, options.batch * options.seq);
    return;
  }
  if (options.mode == GraphMode::Train) {
    int64_t batch = options.batch;
    auto addPrograms = [&](const Twine &suffix, int64_t tokens) {
      program(("accumulate" + suffix).str(), ProgramRole::Accumulate, batch,
              tokens)
          .buildTraining(batch, batch * tokens);
      program(("validate" + suffix).str(), ProgramRole::Validate, batch, tokens)
          .buildTraining(batch, batch * tokens);
    };
    addPrograms("", options.seq);
    program("sample", ProgramRole::Sample, 1, options.seq, "count")
        .buildTrainingSample(options.seq);
    for (int64_t bucket : options.seqBuckets)
      addPrograms("_t" + Twine(bucket), bucket);
    return;
  }
  program("prefill", ProgramRole::Prefill, 1, options.chunk, "count")
      .buildPrefill(options.chunk);
  for (int64_t bucket : options.buckets)
    program(("decode_b" + Twine(bucket)).str(), ProgramRole::Decode, bucket, 1)
        .buildDecode(bucket);
}

gpt2rt::Result<OwningOpRef<ModuleOp>>
gpt2c::buildGraph(MLIRContext &context, const ModelConfig &given,
                  StringRef name, const BuildOptions &options) {
  gpt2rt::Result<BuildOptions> resolved = resolveOptions(options, given);
  if (!resolved.ok())
    return resolved.status();
  ModelConfig config = given;
  if (options.dropout)
    config.residDropout = config.embdDropout = config.attnDropout =
        *options.dropout;
  context.loadDialect<GPT2Dialect>();
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  setModelAttr(*module, config, name, *resolved);
  builder.setInsertionPointToEnd(module->getBody());
  buildGlobals(builder, config, *resolved);
  buildPrograms(*module, config, *resolved);
  return module;
}
