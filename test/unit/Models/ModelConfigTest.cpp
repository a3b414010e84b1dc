//===- ModelConfigTest.cpp - config.json ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/unit/Support/TestSupport.h"

#include "models/ModelConfig.h"

using namespace gpt2rt;
using gpt2rt::test::TempDir;

namespace {

/// The smallest complete configuration with more keys added.
std::string withKeys(std::string_view more = "") {
  return strCat(R"({"vocab_size":100,"n_positions":32,"n_embd":12,)"
                R"("n_layer":2,"n_head":3)",
                more.empty() ? "" : ",", more, "}");
}

Result<ModelConfig> parse(std::string_view text) {
  return parseModelConfig(text, "config.json");
}

TEST(ModelConfig, AbsentKeysTakeTransformersDefaults) {
  ASSERT_ASSIGN(ModelConfig config, parse(withKeys()));
  ModelConfig expected;
  expected.vocabSize = 100;
  expected.nPositions = 32;
  expected.width = 12;
  expected.layers = 2;
  expected.heads = 3;
  expected.inner = 48;
  EXPECT_EQ(config, expected);
  EXPECT_EQ(config.activation, Activation::GeluTanh);
  EXPECT_EQ(config.layerNormEpsilon, 1e-5);
  EXPECT_TRUE(config.tieWordEmbeddings);
  EXPECT_EQ(config.headSize(), 4);
}

TEST(ModelConfig, EveryKeyIsHonoured) {
  ASSERT_ASSIGN(
      ModelConfig config,
      parse(withKeys(
          R"("n_inner":30,"activation_function":"gelu",)"
          R"("layer_norm_epsilon":1e-6,"initializer_range":0.1,)"
          R"("scale_attn_weights":false,)"
          R"("scale_attn_by_inverse_layer_idx":true,)"
          R"("reorder_and_upcast_attn":true,"tie_word_embeddings":false,)"
          R"("resid_pdrop":0.2,"embd_pdrop":0.3,"attn_pdrop":0,)"
          R"("bos_token_id":1,"eos_token_id":99)")));
  EXPECT_EQ(config.inner, 30);
  EXPECT_EQ(config.activation, Activation::GeluErf);
  EXPECT_EQ(config.layerNormEpsilon, 1e-6);
  EXPECT_EQ(config.initializerRange, 0.1);
  EXPECT_FALSE(config.scaleAttnWeights);
  EXPECT_TRUE(config.scaleAttnByInverseLayerIdx);
  EXPECT_TRUE(config.reorderAndUpcastAttn);
  EXPECT_FALSE(config.tieWordEmbeddings);
  EXPECT_EQ(config.residDropout, 0.2);
  EXPECT_EQ(config.embdDropout, 0.3);
  EXPECT_EQ(config.attnDropout, 0);
  EXPECT_EQ(config.bosTokenId, 1);
  EXPECT_EQ(config.eosTokenId, 99);
}

TEST(ModelConfig, PrintsWhatItReadsBack) {
  for (std::string_view more :
       {R"("bos_token_id":1,"eos_token_id":99)",
        R"("n_inner":30,"activation_function":"gelu",)"
        R"("layer_norm_epsilon":1e-6,"initializer_range":0.1,)"
        R"("scale_attn_weights":false,)"
        R"("scale_attn_by_inverse_layer_idx":true,)"
        R"("reorder_and_upcast_attn":true,"tie_word_embeddings":false,)"
        R"("resid_pdrop":0.2,"embd_pdrop":0.3,"attn_pdrop":0,)"
        R"("bos_token_id":null,"eos_token_id":0)"}) {
    ASSERT_ASSIGN(ModelConfig config, parse(withKeys(more)));
    ASSERT_ASSIGN(ModelConfig again, parse(printModelConfig(config)));
    EXPECT_EQ(again, config);
  }
  for (const std::string &preset : presetNames()) {
    ASSERT_ASSIGN(ModelConfig config, presetConfig(preset));
    ASSERT_ASSIGN(ModelConfig again, parse(printModelConfig(config)));
    EXPECT_EQ(again, config) << preset;
  }
}

TEST(ModelConfig, PrintsEveryActivation) {
  for (std::string_view spelled : {"gelu_new", "gelu", "gelu_fast",
                                   "quick_gelu", "relu", "silu", "tanh"}) {
    ASSERT_ASSIGN(
        ModelConfig one,
        parse(withKeys(strCat(R"("activation_function":")", spelled, "\""))));
    std::string text = printModelConfig(one);
    EXPECT_NE(text.find(strCat("\"activation_function\": \"", spelled, "\"")),
              std::string::npos)
        << text;
    ASSERT_ASSIGN(ModelConfig again, parse(text));
    EXPECT_EQ(again, one);
  }
}

TEST(ModelConfig, TokenIdsOutsideTheVocabularyAreNone) {
  // The default, 50256, lies outside this vocabulary too.
  ASSERT_ASSIGN(ModelConfig config,
                parse(withKeys(R"("bos_token_id":null,"eos_token_id":100)")));
  EXPECT_EQ(config.bosTokenId, std::nullopt);
  EXPECT_EQ(config.eosTokenId, std::nullopt);
  ASSERT_ASSIGN(config, parse(withKeys()));
  EXPECT_EQ(config.eosTokenId, std::nullopt);
}

TEST(ModelConfig, AliasesAndOldKeys) {
  ASSERT_ASSIGN(ModelConfig config,
                parse(R"({"vocab_size":100,"n_ctx":64,"hidden_size":12,
                          "num_hidden_layers":2,"num_attention_heads":3})"));
  EXPECT_EQ(config.nPositions, 64);
  EXPECT_EQ(config.width, 12);
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.heads, 3);
  EXPECT_ERROR(parse(withKeys(R"("hidden_size":24)")),
               ErrorCode::InvalidArgument,
               "hidden_size is 24 but n_embd is 12");
  // transformers reads n_positions where both are there.
  ASSERT_ASSIGN(config, parse(withKeys(R"("n_ctx":7)")));
  EXPECT_EQ(config.nPositions, 32);
}

TEST(ModelConfig, ActivationNames) {
  struct Case {
    const char *spelled;
    const char *ours;
  };
  for (const Case &c : std::initializer_list<Case>{
           {"gelu_new", "gelu_tanh"},
           {"gelu_pytorch_tanh", "gelu_tanh"},
           {"gelu", "gelu_erf"},
           {"gelu_python", "gelu_erf"},
           {"gelu_fast", "gelu_fast"},
           {"quick_gelu", "quick_gelu"},
           {"relu", "relu"},
           {"silu", "silu"},
           {"swish", "silu"},
           {"tanh", "tanh"},
       }) {
    ASSERT_ASSIGN(
        ModelConfig config,
        parse(withKeys(strCat(R"("activation_function":")", c.spelled, '"'))));
    EXPECT_EQ(activationName(config.activation), c.ours);
  }
}

TEST(ModelConfig, KeysThatChangeNothingAreIgnored) {
  EXPECT_TRUE(
      parse(
          withKeys(R"("model_type":"gpt2","architectures":["GPT2LMHeadModel"],)"
                   R"("summary_type":"cls_index","summary_anything":1,)"
                   R"("initializer_range":0.02,"use_cache":true,)"
                   R"("transformers_version":"5.17.0","pad_token_id":null,)"
                   R"("task_specific_params":{"text-generation":{}},)"
                   R"("torch_dtype":"float16","dtype":"float32",)"
                   R"("_name_or_path":"x","id2label":{"0":"A"},)"
                   R"("add_cross_attention":false,"is_decoder":true,)"
                   R"("pruned_heads":{},"quantization_config":null)"))
          .ok());
}

TEST(ModelConfig, RefusesByName) {
  struct Case {
    std::string text;
    const char *expected;
  };
  for (const Case &c : std::vector<Case>{
           {"[]", "holds a list, expected a JSON object"},
           {"{}", "vocab_size is missing"},
           {R"({"vocab_size":1,"n_embd":1,"n_layer":1,"n_head":1})",
            "n_positions is missing"},
           {withKeys(R"("n_inner":0)"), "n_inner is 0, expected 1 to"},
           {withKeys(R"("n_inner":-4)"), "n_inner is -4"},
           {withKeys(R"("n_inner":18446744073709551615)"), "n_inner is 9"},
           {withKeys(R"("n_inner":1e3)"), "n_inner is a number, expected an "
                                          "integer"},
           {withKeys(R"("n_inner":"48")"), "n_inner is a string"},
           {withKeys(R"("activation_function":"mish")"),
            "activation_function 'mish' is not supported (supported: gelu_new"},
           {withKeys(R"("activation_function":3)"),
            "activation_function is an integer, expected a string"},
           {withKeys(R"("layer_norm_epsilon":0)"), "layer_norm_epsilon is 0"},
           {withKeys(R"("layer_norm_epsilon":"1e-5")"),
            "layer_norm_epsilon is a string, expected a number"},
           {withKeys(R"("resid_pdrop":1)"), "resid_pdrop is 1"},
           {withKeys(R"("attn_pdrop":-0.1)"), "attn_pdrop is -0.1"},
           {withKeys(R"("scale_attn_weights":1)"),
            "scale_attn_weights is an integer, expected true or false"},
           {withKeys(R"("eos_token_id":[1,2])"),
            "eos_token_id is a list, expected an integer"},
           {withKeys(R"("model_type":"llama")"),
            "model_type is 'llama', expected 'gpt2'"},
           {withKeys(R"("model_type":"gpt_bigcode")"), "multi-query"},
           {withKeys(R"("multi_query":true)"), "multi_query must be false"},
           {withKeys(R"("attention_head_type":"multiquery")"), "multi-query"},
           {withKeys(R"("add_cross_attention":true)"),
            "add_cross_attention must be false"},
           {withKeys(R"("is_encoder_decoder":true)"), "encoder-decoder"},
           {withKeys(R"("position_embedding_type":"rotary")"), "absolute"},
           {withKeys(R"("pruned_heads":{"0":[1]})"), "pruned_heads"},
           {withKeys(R"("auto_map":{"AutoModel":"x.Y"})"), "auto_map"},
           {withKeys(R"("quantization_config":{"bits":4})"),
            "quantization_config"},
           {withKeys(R"("architectures":["GPT2ForSequenceClassification"])"),
            "'GPT2ForSequenceClassification' is not a GPT-2 language model"},
           {withKeys(R"("architectures":"GPT2LMHeadModel")"),
            "architectures is a string"},
           {withKeys(R"("architectures":[1])"), "architectures holds"},
           {withKeys(R"("alibi":true)"),
            "key 'alibi' is not known and could change the model"},
           {withKeys(R"("n_layer":2)"), "duplicate key 'n_layer'"},
           {R"({"vocab_size":1,"n_embd":10,"n_layer":1,"n_head":3,)"
            R"("n_positions":1})",
            "n_head 3 does not divide n_embd 10"},
       }) {
    SCOPED_TRACE(c.text);
    Status status = parse(c.text).status();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), testing::HasSubstr(c.expected));
    EXPECT_THAT(status.message(), testing::StartsWith("config.json"));
  }
}

TEST(ModelConfig, SizesHaveLimits) {
  // Without them products of sizes would wrap.
  for (const char *key :
       {"vocab_size", "n_positions", "n_embd", "n_layer", "n_head"}) {
    std::string text = withKeys();
    size_t at = text.find(key) + std::string_view(key).size() + 2;
    size_t digits = text.find_first_of(",}", at) - at;
    for (const char *value : {"0", "-1", "4294967296", "9223372036854775807"}) {
      std::string changed = text;
      changed.replace(at, digits, value);
      EXPECT_ERROR(parse(changed), ErrorCode::InvalidArgument,
                   strCat(key, " is ", value));
    }
  }
}

TEST(ModelConfig, ParameterCountsOfThePresets) {
  struct Case {
    const char *name;
    int64_t parameters;
  };
  // As transformers counts them.
  for (const Case &c : std::initializer_list<Case>{
           {"distilgpt2", 81'912'576},
           {"gpt2", 124'439'808},
           {"gpt2-medium", 354'823'168},
           {"gpt2-large", 774'030'080},
           {"gpt2-xl", 1'557'611'200},
           {"tiny", 120'640},
       }) {
    ASSERT_ASSIGN(ModelConfig config, presetConfig(c.name));
    EXPECT_EQ(config.paramCount(), c.parameters) << c.name;
    EXPECT_THAT(presetNames(), testing::Contains(c.name));
  }
  EXPECT_EQ(presetNames().size(), 6u);
}

TEST(ModelConfig, AnUntiedHeadHasItsOwnParameters) {
  ASSERT_ASSIGN(ModelConfig tied, parse(withKeys()));
  ASSERT_ASSIGN(ModelConfig untied,
                parse(withKeys(R"("tie_word_embeddings":false)")));
  EXPECT_EQ(untied.paramCount() - tied.paramCount(), 100 * 12);
}

TEST(ModelConfig, WrongPresetNamesGetASuggestion) {
  EXPECT_ERROR(presetConfig("gpt2-meduim"), ErrorCode::NotFound,
               "did you mean 'gpt2-medium'?");
  EXPECT_ERROR(resolveModelConfig("gpt2-small-v7"), ErrorCode::NotFound,
               "is not a file, a directory or a preset (tiny, distilgpt2");
}

TEST(ModelConfig, ResolvesDirectoriesFilesAndPresets) {
  TempDir dir;
  EXPECT_ERROR(resolveModelConfig(dir.path()), ErrorCode::NotFound,
               "has no config.json");
  std::string path = dir.write("config.json", withKeys());
  ASSERT_ASSIGN(ModelConfig fromDirectory, resolveModelConfig(dir.path()));
  ASSERT_ASSIGN(ModelConfig fromFile, resolveModelConfig(path));
  EXPECT_EQ(fromDirectory, fromFile);
  ASSERT_ASSIGN(ModelConfig preset, resolveModelConfig("gpt2"));
  EXPECT_EQ(preset.width, 768);
}

TEST(ModelConfig, ReadsTheSharedModels) {
  REQUIRE_SHARED(shared);
  ASSERT_ASSIGN(ModelConfig mini,
                loadModelConfig(shared + "/models/gpt2-mini"));
  EXPECT_EQ(mini.layers, 6);
  EXPECT_EQ(mini.paramCount(), 30'339'456);
  for (auto &entry :
       std::filesystem::directory_iterator(shared + "/models/variants"))
    ASSERT_OK(loadModelConfig(entry.path()));
}

} // namespace
