//===- JsonTest.cpp - Strict JSON -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/unit/Support/TestSupport.h"

#include "runtime/Support/Json.h"

using namespace gpt2rt;

namespace {

TEST(Json, BuildsTheDocument) {
  const char *text = R"({"a": [1, -2, 2.5, null, true, "x", {}, []],
                         "b": {"c": {"d": 3}, "e": 4}, "f": 5})";
  ASSERT_ASSIGN(Json document, parseJson(text, "test"));
  EXPECT_EQ(document, Json::parse(text));
}

TEST(Json, ScalarsAreDocuments) {
  ASSERT_ASSIGN(Json document, parseJson(" 7 ", "test"));
  EXPECT_EQ(document, Json(7));
}

TEST(Json, RefusesWithTheReason) {
  struct Case {
    std::string text;
    const char *expected;
  };
  std::string deep(100'000, '[');
  for (const Case &c : std::vector<Case>{
           {"", "at 1:1: unexpected end"},
           {"{\"a\": 1,\n \"b\": }", "at 2:7"},
           {"{} x", "unexpected"},
           {"{\"a\": 1, \"a\": 2}", "duplicate key 'a'"},
           {"[{\"x\": {\"y\": 1, \"y\": 1}}]", "duplicate key 'y'"},
           {"[1e999]", "unexpected"},
           {"\"\xff\"", "unexpected"},
           {"[NaN]", "unexpected"},
           {deep, "nesting deeper than 64"},
       }) {
    EXPECT_ERROR(parseJson(c.text, "test.json"), ErrorCode::DataLoss,
                 c.expected);
    EXPECT_ERROR(parseJson(c.text, "test.json"), ErrorCode::DataLoss,
                 "test.json is not valid JSON");
  }
}

TEST(Json, TheSameKeyMayReturnInAnotherObject) {
  EXPECT_TRUE(parseJson(R"([{"a": 1}, {"a": {"a": 2}}])", "test").ok());
}

TEST(Json, FilesHaveASizeLimit) {
  test::TempDir dir;
  std::string path = dir.write("a.json", "[1, 2, 3]");
  EXPECT_TRUE(readJsonFile(path).ok());
  EXPECT_ERROR(readJsonFile(path, 4), ErrorCode::OutOfRange, "larger than");
}

} // namespace
