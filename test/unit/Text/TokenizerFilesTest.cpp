//===- TokenizerFilesTest.cpp - Reading tokenizer files -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/unit/Support/TestSupport.h"

#include "runtime/Support/Json.h"
#include "runtime/Text/ByteAlphabet.h"
#include "runtime/Text/Tokenizer.h"

using namespace gpt2rt;
using gpt2rt::test::TempDir;
using namespace nlohmann::literals;

namespace {

/// The 256 byte tokens with ids 0 to 255.
Vocabulary byteVocab() {
  Vocabulary vocab;
  for (int byte = 0; byte < 256; ++byte)
    vocab[alphabetSpelling(static_cast<uint8_t>(byte))] = byte;
  return vocab;
}

/// A valid tokenizer.json with one merge; tests break it.
Json tokenizerJson() {
  auto vocab = byteVocab();
  vocab["ab"] = 256;
  return {{"added_tokens",
           {{{"id", 257}, {"content", "<|endoftext|>"}, {"special", true}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer",
           {{"type", "ByteLevel"},
            {"add_prefix_space", false},
            {"use_regex", true}}},
          {"post_processor", {{"type", "ByteLevel"}}},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"continuing_subword_prefix", ""},
            {"end_of_word_suffix", ""},
            {"byte_fallback", false},
            {"vocab", vocab},
            {"merges", {"a b"}}}}};
}

Status buildFrom(const Json &document) {
  Result<TokenizerFiles> files = parseTokenizerJson(document.dump(), "t.json");
  if (!files.ok())
    return files.status();
  return Tokenizer::build(*files, "t.json").status();
}

TEST(TokenizerJson, ReadsBothFormsOfMerges) {
  Json document = tokenizerJson();
  for (Json merges : {R"(["a b"])"_json, R"([["a", "b"]])"_json}) {
    document["model"]["merges"] = merges;
    ASSERT_ASSIGN(TokenizerFiles files,
                  parseTokenizerJson(document.dump(), "t.json"));
    ASSERT_ASSIGN(Tokenizer tokenizer, Tokenizer::build(files, "t.json"));
    ASSERT_ASSIGN(auto ids, tokenizer.encode("aab<|endoftext|>"));
    EXPECT_THAT(ids, testing::ElementsAre('a', 256, 257));
  }
}

TEST(TokenizerJson, ATemplateOfTheTextAloneIsAccepted) {
  Json document = tokenizerJson();
  Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  Json token = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  document["post_processor"] = {{"type", "TemplateProcessing"},
                                {"single", Json::array({text})}};
  EXPECT_TRUE(buildFrom(document).ok());
  document["post_processor"]["single"] = Json::array({token, text});
  EXPECT_ERROR(buildFrom(document), ErrorCode::InvalidArgument,
               "post_processor that adds tokens");
}

TEST(TokenizerJson, RefusesOtherTokenizersByName) {
  struct Case {
    const char *pointer;
    Json value;
    const char *expected;
  };
  for (const Case &c : std::vector<Case>{
           {"/model/type", "WordPiece", "model type 'WordPiece'"},
           {"/model/type", 3, "model type ''"},
           {"/model", nullptr, "has no model"},
           {"/model/dropout", 0.1, "BPE dropout"},
           {"/model/byte_fallback", true, "byte_fallback"},
           {"/model/ignore_merges", true, "ignore_merges"},
           {"/model/end_of_word_suffix", "</w>", "end_of_word_suffix"},
           {"/model/continuing_subword_prefix", "##",
            "continuing_subword_prefix"},
           {"/model/vocab", nullptr, "the model has no vocab"},
           {"/model/merges", nullptr, "the model has no merges"},
           {"/model/merges", 7, "merges is an integer"},
           {"/model/merges", R"(["ab"])"_json, "merge 0 is not a pair"},
           {"/model/merges", R"([["a", 1]])"_json, "merge 0 is not a pair"},
           {"/normalizer", {{"type", "NFC"}}, "normalizer 'NFC'"},
           {"/pre_tokenizer", nullptr, "pre_tokenizer 'null'"},
           {"/pre_tokenizer/type", "Whitespace", "pre_tokenizer 'Whitespace'"},
           {"/pre_tokenizer/add_prefix_space", true, "add_prefix_space"},
           {"/pre_tokenizer/use_regex", false, "use_regex"},
           {"/post_processor/type", "BertProcessing", "'BertProcessing'"},
           {"/added_tokens", 5, "added_tokens is an integer"},
           {"/added_tokens/0/content", "", "has no content"},
           {"/added_tokens/0/content", 5, "has no content"},
           {"/added_tokens/0/id", nullptr, "has no id"},
           {"/added_tokens/0/id", -1, "the id -1"},
           {"/added_tokens/0/lstrip", true, "sets lstrip"},
           {"/added_tokens/0/single_word", true, "sets single_word"},
       }) {
    SCOPED_TRACE(strCat(c.pointer, " = ", c.value.dump()));
    Json document = tokenizerJson();
    document[Json::json_pointer(c.pointer)] = c.value;
    Status status = buildFrom(document);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), testing::HasSubstr(c.expected));
    EXPECT_THAT(status.message(), testing::StartsWith("t.json"));
  }
}

TEST(TokenizerFiles, MergesAreTwoTokensALine) {
  ASSERT_ASSIGN(auto merges,
                parseMerges("#version: 0.2\na b\r\n# #\n\n", "m.txt"));
  EXPECT_THAT(merges, testing::ElementsAre(testing::Pair("a", "b"),
                                           testing::Pair("#", "#")));
  for (const char *line : {"ab", "a b c", " a", "a ", "a  b"})
    EXPECT_ERROR(parseMerges(strCat("#version: 0.2\n", line), "m.txt"),
                 ErrorCode::DataLoss, "m.txt:2: expected two tokens");
}

TEST(TokenizerFiles, VocabIsTokensAndIds) {
  EXPECT_TRUE(parseVocab(R"({"a": 0})", "v.json").ok());
  EXPECT_ERROR(parseVocab("[]", "v.json"), ErrorCode::DataLoss, "is a list");
  EXPECT_ERROR(parseVocab(R"({"a": "0"})", "v.json"), ErrorCode::DataLoss,
               "the id of token 'a' is a string");
  EXPECT_ERROR(parseVocab(R"({"a": -1})", "v.json"), ErrorCode::DataLoss,
               "the id -1 of token 'a'");
  EXPECT_ERROR(parseVocab(R"({"a": 1048576})", "v.json"), ErrorCode::DataLoss,
               "not in 0 to 1048575");
  EXPECT_ERROR(parseVocab(R"({"a": 1, "a": 2})", "v.json"), ErrorCode::DataLoss,
               "duplicate key 'a'");
}

TEST(TokenizerFiles, BuildChecksHowPartsFit) {
  TokenizerFiles good;
  good.vocab = byteVocab();
  good.vocab["ab"] = 256;
  good.merges = {{"a", "b"}};
  ASSERT_OK(Tokenizer::build(good, "t"));

  TokenizerFiles files = good;
  files.vocab.erase("z");
  EXPECT_ERROR(Tokenizer::build(files, "t"), ErrorCode::DataLoss,
               "no token 'z' for byte 122");
  files = good;
  files.vocab.erase("ab");
  EXPECT_ERROR(Tokenizer::build(files, "t"), ErrorCode::DataLoss,
               "merge 0 ('a' 'b') needs token 'ab'");
  files = good;
  files.merges.push_back({"a", "b"});
  EXPECT_ERROR(Tokenizer::build(files, "t"), ErrorCode::DataLoss,
               "merge 1 ('a' 'b') is listed twice");
  files = good;
  files.vocab["ab"] = 7;
  EXPECT_ERROR(Tokenizer::build(files, "t"), ErrorCode::DataLoss,
               "have the same id 7");
  files = good;
  files.addedTokens["<pad>"] = 256;
  EXPECT_ERROR(Tokenizer::build(files, "t"), ErrorCode::DataLoss,
               "tokens 'ab' and '<pad>' have the same id 256");
}

TEST(TokenizerFiles, HolesInTheIdsAreLegal) {
  TokenizerFiles files;
  files.vocab = byteVocab();
  files.addedTokens["<x>"] = 1000;
  ASSERT_ASSIGN(Tokenizer tokenizer, Tokenizer::build(files, "t"));
  EXPECT_EQ(tokenizer.vocabSize(), 1001);
  EXPECT_EQ(tokenizer.tokenBytes(999), "");
  EXPECT_EQ(tokenizer.tokenBytes(1000), "<x>");
}

TEST(TokenizerFiles, SaysWhatADirectoryLacks) {
  TempDir dir;
  EXPECT_ERROR(Tokenizer::load(dir.file("none")), ErrorCode::NotFound,
               "does not exist");
  EXPECT_ERROR(Tokenizer::load(dir.path()), ErrorCode::NotFound,
               "has no tokenizer");
  dir.write("vocab.json", "{}");
  EXPECT_ERROR(Tokenizer::load(dir.path()), ErrorCode::NotFound,
               "has vocab.json but no merges.txt");
}

TEST(TokenizerFiles, AddedTokensComeFromTheirFiles) {
  TempDir dir;
  auto vocab = byteVocab();
  vocab["<|endoftext|>"] = 256;
  dir.write("vocab.json", Json(vocab).dump());
  dir.write("merges.txt", "#version: 0.2\n");
  dir.write("added_tokens.json", R"({"<a>": 257})");
  dir.write("tokenizer_config.json",
            R"({"added_tokens_decoder": {"256": {"content": "<|endoftext|>"},
                "258": {"content": "<b>"}}})");
  ASSERT_ASSIGN(Tokenizer tokenizer, Tokenizer::load(dir.path()));
  ASSERT_ASSIGN(auto ids, tokenizer.encode("<a>x<b><|endoftext|>"));
  EXPECT_THAT(ids, testing::ElementsAre(257, 'x', 258, 256));

  dir.write("tokenizer_config.json",
            R"({"added_tokens_decoder": {"2x": {"content": "<b>"}}})");
  EXPECT_ERROR(Tokenizer::load(dir.path()), ErrorCode::DataLoss,
               "key '2x', expected a token id");
}

TEST(TokenizerFiles, TokenizerJsonIsPreferred) {
  TempDir dir;
  dir.write("vocab.json", "broken");
  dir.write("merges.txt", "broken");
  dir.write("tokenizer.json", tokenizerJson().dump());
  EXPECT_TRUE(Tokenizer::load(dir.path()).ok());
}

} // namespace
