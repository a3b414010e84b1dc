//===- CheckpointTest.cpp - Model directories -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/unit/Support/TestSupport.h"

#include "runtime/Formats/Checkpoint.h"

using namespace gpt2rt;
using gpt2rt::test::TempDir;

namespace {

/// A file of one-byte tensors; each holds its position in the list.
void writeTensors(const std::string &path, std::vector<std::string> names) {
  std::vector<TensorSpec> specs;
  for (const std::string &tensorName : names)
    specs.push_back({tensorName, DType::U8, {1}});
  ASSERT_ASSIGN(SafetensorsWriter writer,
                SafetensorsWriter::create(path, specs));
  for (size_t i = 0; i < names.size(); ++i) {
    auto byte = static_cast<std::byte>(i);
    ASSERT_OK(writer.append({&byte, 1}));
  }
  ASSERT_OK(writer.commit());
}

int valueOf(const TensorView *view) {
  return view ? static_cast<int>(view->data[0]) : -1;
}

TEST(Checkpoint, FindsNamesWithAndWithoutPrefix) {
  TempDir dir;
  writeTensors(dir.file("model.safetensors"),
               {"lm_head.weight", "transformer.wte.weight", "wpe.weight"});
  ASSERT_ASSIGN(Checkpoint checkpoint, Checkpoint::open(dir.path()));
  EXPECT_EQ(valueOf(checkpoint.find("lm_head.weight")), 0);
  EXPECT_EQ(valueOf(checkpoint.find("wte.weight")), 1);
  EXPECT_EQ(valueOf(checkpoint.find("transformer.wte.weight")), 1);
  EXPECT_EQ(valueOf(checkpoint.find("wpe.weight")), 2);
  EXPECT_EQ(valueOf(checkpoint.find("transformer.wpe.weight")), 2);
  EXPECT_EQ(checkpoint.find("te.weight"), nullptr);
  EXPECT_EQ(checkpoint.find(""), nullptr);
}

TEST(Checkpoint, AnExactNameWins) {
  TempDir dir;
  std::string path = dir.file("any.safetensors");
  writeTensors(path, {"transformer.a", "a"});
  ASSERT_ASSIGN(Checkpoint checkpoint, Checkpoint::open(path));
  EXPECT_EQ(valueOf(checkpoint.find("transformer.a")), 0);
  EXPECT_EQ(valueOf(checkpoint.find("a")), 1);
}

TEST(Checkpoint, ErrorsNameTheNearestTensor) {
  TempDir dir;
  writeTensors(dir.file("model.safetensors"), {"transformer.h.0.ln_1.weight"});
  ASSERT_ASSIGN(Checkpoint checkpoint, Checkpoint::open(dir.path()));
  EXPECT_TRUE(checkpoint.get("h.0.ln_1.weight").ok());
  EXPECT_ERROR(checkpoint.get("h.0.ln_1.wieght"), ErrorCode::NotFound,
               "nearest: 'transformer.h.0.ln_1.weight'");
  EXPECT_ERROR(checkpoint.get("something.else.entirely.that.is.long"),
               ErrorCode::NotFound, dir.path());
}

TEST(Checkpoint, CausalMasksAreNoWeights) {
  TempDir dir;
  writeTensors(dir.file("model.safetensors"),
               {"h.0.attn.bias", "h.0.attn.masked_bias", "h.0.attn.c_attn.bias",
                "h.0.attn.c_proj.bias"});
  ASSERT_ASSIGN(Checkpoint checkpoint, Checkpoint::open(dir.path()));
  EXPECT_THAT(checkpoint.names(), testing::ElementsAre("h.0.attn.c_attn.bias",
                                                       "h.0.attn.c_proj.bias"));
  EXPECT_EQ(checkpoint.find("h.0.attn.bias"), nullptr);
}

TEST(Checkpoint, ReadsShards) {
  TempDir dir;
  writeTensors(dir.file("m-1.safetensors"), {"a", "unlisted"});
  writeTensors(dir.file("m-2.safetensors"), {"x", "b"});
  dir.write("model.safetensors.index.json",
            R"({"metadata":{"total_size":2},"weight_map":{
                "a":"m-1.safetensors","b":"m-2.safetensors"}})");
  ASSERT_ASSIGN(Checkpoint checkpoint, Checkpoint::open(dir.path()));
  EXPECT_THAT(checkpoint.names(), testing::ElementsAre("a", "b"));
  EXPECT_EQ(valueOf(checkpoint.find("b")), 1);
}

TEST(Checkpoint, ShardsMustHoldWhatTheIndexSays) {
  TempDir dir;
  writeTensors(dir.file("m.safetensors"), {"a"});
  dir.write("model.safetensors.index.json",
            R"({"weight_map":{"a":"m.safetensors","b":"m.safetensors"}})");
  EXPECT_ERROR(Checkpoint::open(dir.path()), ErrorCode::DataLoss,
               "places tensor 'b' in m.safetensors, which does not hold it");
  dir.write("model.safetensors.index.json",
            R"({"weight_map":{"a":"gone.safetensors"}})");
  EXPECT_ERROR(Checkpoint::open(dir.path()), ErrorCode::NotFound,
               "gone.safetensors");
}

TEST(Checkpoint, RefusesBadIndexFiles) {
  struct Case {
    const char *text;
    const char *expected;
  };
  for (const Case &c : std::initializer_list<Case>{
           {"[]", "has no weight_map"},
           {"{}", "has no weight_map"},
           {R"({"weight_map":[]})", "weight_map is a list"},
           {R"({"weight_map":{"a":1}})", "the shard of 'a' is an integer"},
           {R"({"weight_map":{"a":"../x.safetensors"}})", "not a plain file"},
           {R"({"weight_map":{"a":"/etc/x.safetensors"}})", "not a plain file"},
           {R"({"weight_map":{"a":"d\\x.safetensors"}})", "not a plain file"},
           {R"({"weight_map":{"a":"x\u0000.safetensors"}})",
            "not a plain file"},
           {R"({"weight_map":{"a":""}})", "not a plain file"},
           {R"({"weight_map":{"a":".."}})", "not a plain file"},
           {R"({"weight_map":{"a":"x.bin"}})", "not a .safetensors file"},
           {R"({"weight_map":{"a":"x.safetensors","a":"y.safetensors"}})",
            "duplicate key 'a'"},
           {"{", "not valid JSON"},
       })
    EXPECT_ERROR(parseCheckpointIndex(c.text, "i.json"), ErrorCode::DataLoss,
                 c.expected);
}

TEST(Checkpoint, SaysWhatADirectoryLacks) {
  TempDir dir;
  EXPECT_ERROR(Checkpoint::open(dir.path()), ErrorCode::NotFound,
               "has no model.safetensors");
  dir.write("pytorch_model.bin", "x");
  EXPECT_ERROR(Checkpoint::open(dir.path()), ErrorCode::NotFound,
               "has pytorch_model.bin but no model.safetensors");
  EXPECT_ERROR(Checkpoint::open(dir.file("none")), ErrorCode::NotFound,
               "no such file");
}

TEST(Checkpoint, ReadsTheSharedModels) {
  REQUIRE_SHARED(shared);
  ASSERT_ASSIGN(Checkpoint mini,
                Checkpoint::open(shared + "/models/gpt2-mini"));
  ASSERT_ASSIGN(const TensorView *wte, mini.get("wte.weight"));
  EXPECT_EQ(wte->dtype, DType::F16);
  EXPECT_THAT(wte->shape, testing::ElementsAre(50257, 384));

  // Old exports keep causal masks; none of them is a weight.
  ASSERT_ASSIGN(
      Checkpoint legacy,
      Checkpoint::open(shared + "/models/variants/no_prefix_legacy_buffers"));
  EXPECT_EQ(legacy.names().size(), 26u);
  EXPECT_NE(legacy.find("transformer.h.1.attn.c_attn.weight"), nullptr);
}

} // namespace
