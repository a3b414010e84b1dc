//===- ConfigParser.cpp - Reading config.json -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Follows transformers' GPT2Config: the same defaults for absent keys and the
// same aliases. Where transformers would run a model that we would compute
// differently, the key is refused.
//
//===----------------------------------------------------------------------===//

#include "models/ModelConfig.h"
#include "runtime/Support/Json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

using namespace gpt2rt;

namespace {

/// Keys of real config.json files that never change the logits: training
/// recipe, tokenizer, classification heads, generation defaults, bookkeeping.
/// Sorted, for binary search.
constexpr std::string_view harmlessKeys[] = {"attn_implementation",
                                             "bad_words_ids",
                                             "begin_suppress_tokens",
                                             "chunk_size_feed_forward",
                                             "decoder_start_token_id",
                                             "diversity_penalty",
                                             "do_sample",
                                             "dtype",
                                             "early_stopping",
                                             "encoder_no_repeat_ngram_size",
                                             "exponential_decay_length_penalty",
                                             "finetuning_task",
                                             "forced_bos_token_id",
                                             "forced_eos_token_id",
                                             "gradient_checkpointing",
                                             "id2label",
                                             "initializer_range",
                                             "is_decoder",
                                             "label2id",
                                             "language",
                                             "length_penalty",
                                             "license",
                                             "max_length",
                                             "max_new_tokens",
                                             "min_length",
                                             "model_max_length",
                                             "n_ctx",
                                             "n_special",
                                             "name_or_path",
                                             "no_repeat_ngram_size",
                                             "num_beam_groups",
                                             "num_beams",
                                             "num_labels",
                                             "num_return_sequences",
                                             "output_attentions",
                                             "output_hidden_states",
                                             "output_past",
                                             "output_scores",
                                             "pad_token_id",
                                             "predict_special_tokens",
                                             "prefix",
                                             "problem_type",
                                             "remove_invalid_values",
                                             "repetition_penalty",
                                             "return_dict",
                                             "return_dict_in_generate",
                                             "sep_token_id",
                                             "suppress_tokens",
                                             "task_specific_params",
                                             "temperature",
                                             "tf_legacy_loss",
                                             "tokenizer_class",
                                             "top_k",
                                             "top_p",
                                             "torch_dtype",
                                             "torchscript",
                                             "transformers.js_config",
                                             "transformers_js_config",
                                             "transformers_version",
                                             "typical_p",
                                             "unk_token_id",
                                             "use_bfloat16",
                                             "use_cache",
                                             "vocab_file"};

/// Keys that must hold one value, because any other is another model.
struct FixedKey {
  std::string_view key;
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

/// Typed access to the document. The first error sticks; getters after it
/// return their defaults, so that callers read as a list of keys.
class ConfigReader {
public:
  ConfigReader(const Json &object, std::string_view what)
      : object(object), what(what) {}

  const Status &status() const { return error; }

  /// A size in [1, limit] under the first key or one of its aliases, which
  /// must agree. 0 without an error where all are absent or null.
  int64_t size(std::initializer_list<const char *> keys, int64_t limit) {
    int64_t found = 0;
    for (const char *key : keys) {
      const Json *value = lookUp(key);
      if (!value)
        continue;
      int64_t number = integer(key, *value);
      if (number < 1 || number > limit)
        fail(key, " is ", number, ", expected 1 to ", limit);
      else if (found && number != found)
        fail(key, " is ", number, " but ", *keys.begin(), " is ", found,
             ": they are one setting, keep one");
      else
        found = number;
    }
    return found;
  }

  int64_t requiredSize(std::initializer_list<const char *> keys,
                       int64_t limit) {
    int64_t value = size(keys, limit);
    if (!value)
      fail(*keys.begin(), " is missing");
    return value;
  }

  bool flag(const char *key, bool absent) {
    const Json *value = lookUp(key);
    if (!value)
      return absent;
    if (!value->is_boolean())
      return wrongType(key, *value, "true or false"), absent;
    return value->get<bool>();
  }

  /// A number with lower <= number < upper.
  double number(const char *key, double absent, double lower, double upper) {
    const Json *value = lookUp(key);
    if (!value)
      return absent;
    if (!value->is_number())
      return wrongType(key, *value, "a number"), absent;
    double result = value->get<double>();
    if (!(result >= lower && result < upper))
      fail(key, " is ", result, ", expected at least ", lower,
           " and less than ", upper);
    return result;
  }

  std::optional<std::string> text(const char *key) {
    const Json *value = lookUp(key);
    if (!value)
      return std::nullopt;
    if (!value->is_string())
      return wrongType(key, *value, "a string"), std::nullopt;
    return value->get<std::string>();
  }

  /// A token id, or unset where it is null or cannot be produced: fine-tunes
  /// with a smaller vocabulary often keep GPT-2's 50256.
  std::optional<int64_t> tokenId(const char *key, int64_t absent,
                                 int64_t vocabSize) {
    auto place = object.find(key);
    int64_t id = absent;
    if (place != object.end() && place->is_null())
      return std::nullopt;
    if (place != object.end())
      id = integer(key, *place);
    if (id < 0 || id >= vocabSize)
      return std::nullopt;
    return id;
  }

  template <typename... Args>
  void fail(const Args &...args) {
    if (error.ok())
      error = invalidArgument(what, ": ", args...);
  }

  const Json *lookUp(const char *key) const {
    auto place = object.find(key);
    return place == object.end() || place->is_null() ? nullptr : &*place;
  }

private:
  int64_t integer(const char *key, const Json &value) {
    if (!value.is_number_integer())
      return wrongType(key, value, "an integer"), 0;
    if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX)
      return INT64_MAX;
    return value.get<int64_t>();
  }
  void wrongType(const char *key, const Json &value, const char *expected) {
    fail(key, " is ", jsonTypeName(value), ", expected ", expected);
  }

  const Json &object;
  std::string_view what;
  Status error;
};

bool isHarmless(std::string_view key) {
  return key.starts_with('_') || key.starts_with("summary_") ||
         std::binary_search(std::begin(harmlessKeys), std::end(harmlessKeys),
                            key);
}

/// Keys that readSizes and readArithmetic below read, and checkIdentity.
constexpr std::string_view readKeys[] = {"activation_function",
                                         "architectures",
                                         "attn_pdrop",
                                         "bos_token_id",
                                         "embd_pdrop",
                                         "eos_token_id",
                                         "hidden_size",
                                         "layer_norm_epsilon",
                                         "max_position_embeddings",
                                         "model_type",
                                         "n_embd",
                                         "n_head",
                                         "n_inner",
                                         "n_layer",
                                         "n_positions",
                                         "num_attention_heads",
                                         "num_hidden_layers",
                                         "reorder_and_upcast_attn",
                                         "resid_pdrop",
                                         "scale_attn_by_inverse_layer_idx",
                                         "scale_attn_weights",
                                         "tie_word_embeddings",
                                         "vocab_size"};

const FixedKey *findFixedKey(std::string_view key) {
  for (const FixedKey &fixed : fixedKeys)
    if (fixed.key == key)
      return &fixed;
  return nullptr;
}

void checkKeys(const Json &object, ConfigReader &reader) {
  for (auto &[key, value] : object.items()) {
    if (const FixedKey *fixed = findFixedKey(key)) {
      if (!value.is_null() && value.dump() != fixed->only)
        reader.fail(key, " must be ", fixed->only, ": ", fixed->why);
      continue;
    }
    if (isHarmless(key) || std::find(std::begin(readKeys), std::end(readKeys),
                                     key) != std::end(readKeys))
      continue;
    reader.fail("key ", quote(key),
                " is not known and could change the model: remove it if it "
                "does not");
  }
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
    if (std::find(std::begin(known), std::end(known), *className) ==
        std::end(known))
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
  static_assert(
      std::is_sorted(std::begin(harmlessKeys), std::end(harmlessKeys)));
  GPT2_ASSIGN_OR_RETURN(Json document, parseJson(text, what));
  if (!document.is_object())
    return invalidArgument(what, " holds ", jsonTypeName(document),
                           ", expected a JSON object");
  ConfigReader reader(document, what);
  ModelConfig config;
  // What the model is comes first: a BERT's config should say so, not
  // complain about its first unknown key.
  checkIdentity(reader);
  checkKeys(document, reader);
  readSizes(reader, config);
  readArithmetic(reader, config);
  if (!reader.status().ok())
    return reader.status();
  return config;
}
