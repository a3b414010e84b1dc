//===- ConfigParser.cpp - Reading and writing config.json -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Follows transformers' GPT2Config: the same defaults for absent keys and the
// same aliases. Where transformers would run a model that we would compute
// differently, the key is refused.
//
//===----------------------------------------------------------------------===//

#include "models/ConfigReader.h"
#include "models/ModelConfig.h"

#include <algorithm>

using namespace gpt2rt;

namespace {

/// Keys of real config.json files that never change the logits.
// clang-format off
constexpr std::string_view harmlessKeys[] = {
    // Bookkeeping, and how transformers runs the model
    "attn_implementation", "chunk_size_feed_forward", "dtype", "is_decoder",
    "language", "license", "n_ctx", "name_or_path", "output_attentions",
    "output_hidden_states", "output_past", "return_dict", "torch_dtype",
    "torchscript", "transformers.js_config", "transformers_js_config",
    "transformers_version", "use_bfloat16", "use_cache",
    // Training
    "gradient_checkpointing",
    // Tokenizer
    "decoder_start_token_id", "model_max_length", "n_special", "pad_token_id",
    "predict_special_tokens", "prefix", "sep_token_id", "tokenizer_class",
    "unk_token_id", "vocab_file",
    // Classification heads and tasks
    "finetuning_task", "id2label", "label2id", "num_labels", "problem_type",
    "task_specific_params", "tf_legacy_loss",
    // Generation defaults
    "bad_words_ids", "begin_suppress_tokens", "diversity_penalty", "do_sample",
    "early_stopping", "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty", "forced_bos_token_id",
    "forced_eos_token_id", "length_penalty", "max_length", "max_new_tokens",
    "min_length", "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_return_sequences", "output_scores", "remove_invalid_values",
    "repetition_penalty", "return_dict_in_generate", "suppress_tokens",
    "temperature", "top_k", "top_p", "typical_p"};
// clang-format on

/// Keys that must hold one value, because any other is another model.
struct FixedKey {
  const char *key;
  std::string_view only; // JSON text of the one value
  std::string_view why;
};
constexpr FixedKey fixedKeys[] = {
    {"add_cross_attention", "false", "cross-attention is not supported"},
    {"is_encoder_decoder", "false", "encoder-decoder models are not supported"},
    {"tie_encoder_decoder", "false",
     "encoder-decoder models are not supported"},
    {"multi_query", "false",
     "multi-query attention (GPTBigCode, SantaCoder) is not supported"},
    {"attention_head_type", "\"multihead\"",
     "multi-query attention (GPTBigCode, SantaCoder) is not supported"},
    {"position_embedding_type", "\"absolute\"",
     "only learned absolute positions are supported"},
    {"pruned_heads", "{}", "pruned heads are not supported"},
    {"quantization_config", "null",
     "quantized checkpoints are not read: give the original weights and use "
     "--quantize"},
    {"auto_map", "null", "models that bring their own code are not supported"},
    {"cross_attention_hidden_size", "null", "cross-attention is not supported"},
};

struct ActivationAlias {
  std::string_view name;
  Activation activation;
};
/// The first name of an activation is the one that is written.
constexpr ActivationAlias activationAliases[] = {
    {"gelu_new", Activation::GeluTanh},
    {"gelu_pytorch_tanh", Activation::GeluTanh},
    {"gelu_python_tanh", Activation::GeluTanh},
    {"gelu_accurate", Activation::GeluTanh},
    {"gelu", Activation::GeluErf},
    {"gelu_python", Activation::GeluErf},
    {"gelu_fast", Activation::GeluFast},
    {"quick_gelu", Activation::QuickGelu},
    {"relu", Activation::Relu},
    {"silu", Activation::Silu},
    {"swish", Activation::Silu},
    {"tanh", Activation::Tanh},
};

// Far above any GPT-2, and low enough that every product of two dimensions
// and an element size fits 64 bits.
constexpr int64_t maxVocab = int64_t(1) << 24;
constexpr int64_t maxPositions = int64_t(1) << 20;
constexpr int64_t maxWidth = int64_t(1) << 16;
constexpr int64_t maxInner = int64_t(1) << 18;
constexpr int64_t maxLayers = 1024;

bool isHarmless(std::string_view key) {
  return key.starts_with('_') || key.starts_with("summary_") ||
         std::ranges::find(harmlessKeys, key) != std::end(harmlessKeys);
}

void checkFixedKeys(ConfigReader &reader) {
  for (const FixedKey &fixed : fixedKeys)
    if (const Json *value = reader.lookUp(fixed.key);
        value && value->dump() != fixed.only)
      reader.fail(fixed.key, " must be ", fixed.only, ": ", fixed.why);
}

/// What nobody read and nobody knows to be harmless may change the model.
void checkUnreadKeys(const Json &object, ConfigReader &reader) {
  for (auto &[key, value] : object.items())
    if (!reader.wasRead(key) && !isHarmless(key))
      reader.fail("key ", quote(key),
                  " is not known and could change the model: remove it if it "
                  "does not");
}

/// model_type and architectures: GPT-2 with a language-model head.
void checkIdentity(ConfigReader &reader) {
  std::optional<std::string> modelType = reader.text("model_type");
  if (modelType == "gpt_bigcode")
    reader.fail("model_type is 'gpt_bigcode': multi-query attention "
                "(GPTBigCode, SantaCoder) is not supported");
  if (modelType && modelType != "gpt2")
    reader.fail("model_type is ", quote(*modelType), ", expected 'gpt2'");

  const Json *architectures = reader.lookUp("architectures");
  if (!architectures)
    return;
  if (!architectures->is_array())
    return reader.fail("architectures is ", jsonTypeName(*architectures),
                       ", expected a list");
  constexpr std::string_view known[] = {
      "GPT2LMHeadModel", "GPT2Model", "GPT2DoubleHeadsModel",
      "TFGPT2LMHeadModel", "FlaxGPT2LMHeadModel"};
  for (const Json &entry : *architectures) {
    const auto *className = entry.get_ptr<const std::string *>();
    if (!className)
      return reader.fail("architectures holds ", jsonTypeName(entry),
                         ", expected strings");
    if (std::ranges::find(known, *className) == std::end(known))
      reader.fail("architecture ", quote(*className),
                  " is not a GPT-2 language model (expected GPT2LMHeadModel)");
  }
}

void readSizes(ConfigReader &reader, ModelConfig &config) {
  config.vocabSize = reader.requiredSize({"vocab_size"}, maxVocab);
  config.width = reader.requiredSize({"n_embd", "hidden_size"}, maxWidth);
  config.layers =
      reader.requiredSize({"n_layer", "num_hidden_layers"}, maxLayers);
  config.heads =
      reader.requiredSize({"n_head", "num_attention_heads"}, maxWidth);
  // Old files give n_ctx alone. Where both are there, transformers reads
  // n_positions only.
  config.nPositions =
      reader.size({"n_positions", "max_position_embeddings"}, maxPositions);
  if (!config.nPositions)
    config.nPositions = reader.size({"n_ctx"}, maxPositions);
  if (!config.nPositions)
    reader.fail("n_positions is missing");
  config.inner = reader.size({"n_inner"}, maxInner);
  if (!config.inner)
    config.inner = 4 * config.width;
  if (config.heads && config.width % config.heads)
    reader.fail("n_head ", config.heads, " does not divide n_embd ",
                config.width);
}

Activation readActivation(ConfigReader &reader) {
  std::string spelled = reader.text("activation_function").value_or("gelu_new");
  std::string known;
  for (const ActivationAlias &alias : activationAliases) {
    if (alias.name == spelled)
      return alias.activation;
    known += strCat(known.empty() ? "" : ", ", alias.name);
  }
  reader.fail("activation_function ", quote(spelled),
              " is not supported (supported: ", known, ")");
  return Activation::GeluTanh;
}

void readArithmetic(ConfigReader &reader, ModelConfig &config) {
  config.activation = readActivation(reader);
  // Zero would divide by zero on a constant row.
  config.layerNormEpsilon = reader.number("layer_norm_epsilon", 1e-5, 1e-12, 1);
  config.initializerRange = reader.number("initializer_range", 0.02, 0, 10);
  config.scaleAttnWeights = reader.flag("scale_attn_weights", true);
  config.scaleAttnByInverseLayerIdx =
      reader.flag("scale_attn_by_inverse_layer_idx", false);
  config.reorderAndUpcastAttn = reader.flag("reorder_and_upcast_attn", false);
  config.tieWordEmbeddings = reader.flag("tie_word_embeddings", true);
  config.residDropout = reader.number("resid_pdrop", 0.1, 0, 1);
  config.embdDropout = reader.number("embd_pdrop", 0.1, 0, 1);
  config.attnDropout = reader.number("attn_pdrop", 0.1, 0, 1);
  constexpr int64_t endOfText = 50256;
  config.bosTokenId =
      reader.tokenId("bos_token_id", endOfText, config.vocabSize);
  config.eosTokenId =
      reader.tokenId("eos_token_id", endOfText, config.vocabSize);
}

} // namespace

Result<ModelConfig> gpt2rt::parseModelConfig(std::string_view text,
                                             std::string_view what) {
  GPT2_ASSIGN_OR_RETURN(Json document, parseJson(text, what));
  if (!document.is_object())
    return invalidArgument(what, " holds ", jsonTypeName(document),
                           ", expected a JSON object");
  ConfigReader reader(document, what);
  ModelConfig config;
  // What the model is comes first: a BERT's config should say so, not
  // complain about its first unknown key.
  checkIdentity(reader);
  checkFixedKeys(reader);
  readSizes(reader, config);
  readArithmetic(reader, config);
  checkUnreadKeys(document, reader);
  if (!reader.status().ok())
    return reader.status();
  return config;
}

std::string gpt2rt::printModelConfig(const ModelConfig &config) {
  const auto *alias = std::ranges::find(activationAliases, config.activation,
                                        &ActivationAlias::activation);
  auto token = [](std::optional<int64_t> id) {
    return id ? Json(*id) : Json(nullptr);
  };
  // Sorted, as transformers' are.
  Json document = {
      {"activation_function", alias->name},
      {"architectures", Json::array({"GPT2LMHeadModel"})},
      {"attn_pdrop", config.attnDropout},
      {"bos_token_id", token(config.bosTokenId)},
      {"embd_pdrop", config.embdDropout},
      {"eos_token_id", token(config.eosTokenId)},
      {"layer_norm_epsilon", config.layerNormEpsilon},
      {"initializer_range", config.initializerRange},
      {"model_type", "gpt2"},
      {"n_embd", config.width},
      {"n_head", config.heads},
      {"n_inner", config.inner},
      {"n_layer", config.layers},
      {"n_positions", config.nPositions},
      {"reorder_and_upcast_attn", config.reorderAndUpcastAttn},
      {"resid_pdrop", config.residDropout},
      {"scale_attn_by_inverse_layer_idx", config.scaleAttnByInverseLayerIdx},
      {"scale_attn_weights", config.scaleAttnWeights},
      {"tie_word_embeddings", config.tieWordEmbeddings},
      {"vocab_size", config.vocabSize}};
  return document.dump(/*indent=*/2) + "\n";
}
