//===- SafetensorsTest.cpp - Reading and writing safetensors --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/unit/Support/TestSupport.h"

#include "runtime/Formats/Safetensors.h"

#include <cstring>

using namespace gpt2rt;
using gpt2rt::test::TempDir;

namespace {

/// A file of this header text and data bytes.
std::string makeFile(std::string_view header, size_t dataBytes) {
  uint64_t length = header.size();
  std::string file(reinterpret_cast<const char *>(&length), 8);
  file += header;
  for (size_t i = 0; i < dataBytes; ++i)
    file.push_back(static_cast<char>(i));
  return file;
}

Result<SafetensorsFile> parseText(std::string_view file) {
  return SafetensorsFile::parse(std::as_bytes(std::span(file)), "test.st");
}

Result<SafetensorsFile> parseHeader(std::string_view header, size_t dataBytes) {
  // The views of a failed parse are not read, and no test reads past it.
  return parseText(makeFile(header, dataBytes));
}

TEST(Safetensors, ReadsEveryKindOfEntry) {
  std::string file = makeFile(
      R"({"__metadata__":{"format":"pt","empty":""},)"
      R"("b":{"dtype":"BF16","shape":[2,2],"data_offsets":[4,12]},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
      R"("none":{"dtype":"F64","shape":[3,0],"data_offsets":[12,12]},)"
      R"("flags":{"data_offsets":[12,15],"dtype":"BOOL","shape":[3]}}    )",
      15);
  ASSERT_ASSIGN(SafetensorsFile parsed, parseText(file));
  EXPECT_EQ(parsed.tensors().size(), 4u);
  EXPECT_EQ(parsed.metadata().at("format"), "pt");
  EXPECT_EQ(parsed.metadata().size(), 2u);

  const TensorView *b = parsed.find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->dtype, DType::BF16);
  EXPECT_THAT(b->shape, testing::ElementsAre(2, 2));
  EXPECT_EQ(b->bytes, 8u);
  EXPECT_EQ(static_cast<int>(b->data[0]), 4);
  EXPECT_EQ(parsed.find("a")->shape.size(), 0u);
  EXPECT_EQ(parsed.find("a")->bytes, 4u);
  EXPECT_EQ(parsed.find("none")->bytes, 0u);
  EXPECT_EQ(parsed.find("flags")->bytes, 3u);
  EXPECT_EQ(parsed.find("missing"), nullptr);
}

TEST(Safetensors, AFileWithoutTensorsIsLegal) {
  EXPECT_TRUE(parseHeader("{}", 0).ok());
  EXPECT_TRUE(parseHeader(R"({"__metadata__":{}})", 0).ok());
}

TEST(Safetensors, RefusesBrokenFiles) {
  struct Case {
    const char *name;
    std::string file;
    const char *expected;
  };
  auto withLength = [](uint64_t length, std::string_view rest) {
    return std::string(reinterpret_cast<const char *>(&length), 8).append(rest);
  };
  for (const Case &c : std::vector<Case>{
           {"empty", "", "truncated: 0 bytes"},
           {"seven bytes", std::string(7, '\0'), "truncated: 7 bytes"},
           {"no header", withLength(0, ""), "does not start with '{'"},
           {"header cut", withLength(100, "{}"),
            "its header needs 100 bytes and 2 are there"},
           {"header above the limit", withLength(100'000'001, "{}"),
            "above the limit"},
           {"length that wraps", withLength(~uint64_t(0), "{}"),
            "above the limit"},
           {"leading space", withLength(3, " {}"), "does not start with '{'"},
           {"lfs pointer", "version https://git-lfs.github.com/spec/v1\n",
            "git lfs pull"},
           {"pickle", "PK\x03\x04rest of a zip", "safe_serialization"},
           {"not JSON", withLength(3, "{x}"), "not valid JSON at byte 2"},
           {"second value", withLength(4, "{}{}"), "not valid JSON"},
       }) {
    SCOPED_TRACE(c.name);
    EXPECT_ERROR(parseText(c.file), ErrorCode::DataLoss, c.expected);
    EXPECT_ERROR(parseText(c.file), ErrorCode::DataLoss, "test.st: ");
  }
}

TEST(Safetensors, RefusesBrokenHeaders) {
  struct Case {
    std::string header;
    const char *expected;
  };
  auto tensor = [](std::string_view fields) {
    return strCat(R"({"t":{)", fields, "}}");
  };
  for (const Case &c : std::vector<Case>{
           {R"({"t":7})", "tensor 't' is a number"},
           {R"({"t":[]})", "tensor 't' is a list"},
           {R"({"__metadata__":3})", "__metadata__ is a number"},
           {R"({"__metadata__":{"k":1}})", "entry 'k' is a number"},
           {R"({"__metadata__":{"k":{}}})", "entry 'k' is an object"},
           {R"({"__metadata__":{"k":"","k":""}})", "duplicate key 'k'"},
           {R"({"__metadata__":{},"__metadata__":{}})", "duplicate key"},
           {tensor(""), "has no dtype"},
           {tensor(R"("dtype":"F32","data_offsets":[0,4])"), "has no shape"},
           {tensor(R"("dtype":"F32","shape":[1])"), "has no data_offsets"},
           {tensor(R"("dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4])"),
            "dtype 'F8_E4M3', which is not supported"},
           {tensor(R"("dtype":1)"), "a number as dtype"},
           {tensor(R"("dtype":["F32"])"), "a list as dtype"},
           {tensor(R"("shape":4)"), "a number as shape"},
           {tensor(R"("shape":[-1])"), "a negative number in its shape"},
           {tensor(R"("shape":[1.5])"), "no 64-bit integer in its shape"},
           {tensor(R"("shape":["4"])"), "a string in its shape"},
           {tensor(R"("shape":[[4]])"), "a list in its shape"},
           {tensor(R"("shape":[1],"shape":[1])"), "two fields 'shape'"},
           {tensor(R"("strides":[1])"), "unknown field 'strides'"},
           {tensor(R"("data_offsets":[0,1,2])"), "more than two"},
           {tensor(R"("data_offsets":[null,4])"), "null in its data_offsets"},
           {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0])"),
            "needs two data_offsets"},
           {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"),
            "ends at 0 before it begins at 4"},
           {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"),
            "of F32 [2] needs 8 bytes but its data_offsets give 4"},
           {tensor(R"("dtype":"F32","shape":[4294967296,4294967296],)"
                   R"("data_offsets":[0,0])"),
            "does not fit 64 bits"},
           {tensor(R"("dtype":"F64","shape":[4611686018427387904],)"
                   R"("data_offsets":[0,0])"),
            "does not fit 64 bits"},
           {R"({"t":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
            R"("t":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
            "duplicate tensor 't'"},
       }) {
    SCOPED_TRACE(c.header);
    EXPECT_ERROR(parseHeader(c.header, 4), ErrorCode::DataLoss, c.expected);
  }
}

TEST(Safetensors, TensorsMustTileTheData) {
  auto two = [](std::string_view first, std::string_view second) {
    return strCat(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)", first,
                  R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)", second,
                  "}}");
  };
  EXPECT_TRUE(parseHeader(two("[2,4]", "[0,2]"), 4).ok());
  EXPECT_ERROR(parseHeader(two("[0,2]", "[1,3]"), 4), ErrorCode::DataLoss,
               "'b' begins at 1, inside the tensor before it");
  EXPECT_ERROR(parseHeader(two("[0,2]", "[3,5]"), 5), ErrorCode::DataLoss,
               "'b' begins at 3, after a hole");
  EXPECT_ERROR(parseHeader(two("[1,3]", "[3,5]"), 5), ErrorCode::DataLoss,
               "'a' begins at 1, after a hole");
  EXPECT_ERROR(parseHeader(two("[0,2]", "[2,4]"), 3), ErrorCode::DataLoss,
               "truncated: tensor 'b' ends at byte 4");
  EXPECT_ERROR(parseHeader(two("[0,2]", "[2,4]"), 6), ErrorCode::DataLoss,
               "2 bytes follow the last tensor");
}

TEST(Safetensors, DeepNestingIsRefusedEarly) {
  std::string header = R"({"t":{"shape":)" + std::string(5'000'000, '[');
  EXPECT_ERROR(parseHeader(header, 0), ErrorCode::DataLoss,
               "a list in its shape");
}

TEST(Safetensors, WriterAndReaderAgree) {
  TempDir dir;
  std::string path = dir.file("out.safetensors");
  std::vector<TensorSpec> specs = {{"step", DType::I64, {}},
                                   {"w\"\n\xc3\xa9", DType::F32, {2, 3}},
                                   {"half", DType::F16, {3}},
                                   {"empty", DType::U8, {0}}};
  ASSERT_ASSIGN(SafetensorsWriter writer,
                SafetensorsWriter::create(path, specs, {{"format", "pt"}}));
  std::vector<std::byte> bytes(8 + 24 + 6);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i);
  std::span<const std::byte> all = bytes;
  ASSERT_OK(writer.append(all.first(11))); // pieces need not be tensors
  ASSERT_OK(writer.append(all.subspan(11)));
  ASSERT_OK(writer.commit());

  ASSERT_ASSIGN(SafetensorsFile file, SafetensorsFile::open(path));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.tensors().size(), 4u);
  const TensorView *weight = file.find(specs[1].name);
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(std::memcmp(weight->data, bytes.data() + 8, 24), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(weight->data) % sizeof(float), 0u);
  EXPECT_EQ(std::memcmp(file.find("half")->data, bytes.data() + 32, 6), 0);
}

TEST(Safetensors, WriterRefusesBadSpecs) {
  TempDir dir;
  auto create = [&](std::vector<TensorSpec> specs) {
    return SafetensorsWriter::create(dir.file("x"), specs);
  };
  EXPECT_ERROR(create({{"a", DType::F32, {1}}, {"a", DType::F32, {1}}}),
               ErrorCode::InvalidArgument, "'a' is listed twice");
  EXPECT_ERROR(create({{"a", DType::U8, {1}}, {"b", DType::F32, {1}}}),
               ErrorCode::InvalidArgument, "before tensors of narrower types");
  EXPECT_ERROR(create({{"__metadata__", DType::U8, {1}}}),
               ErrorCode::InvalidArgument, "cannot name a tensor");
  EXPECT_ERROR(create({{"a", DType::F32, {uint64_t(1) << 63}}}),
               ErrorCode::InvalidArgument, "does not fit 64 bits");
  EXPECT_THAT(dir.list(), testing::IsEmpty());
}

TEST(Safetensors, WriterCountsItsBytes) {
  TempDir dir;
  std::vector<TensorSpec> specs = {{"a", DType::U8, {4}}};
  std::vector<std::byte> bytes(5);
  {
    ASSERT_ASSIGN(SafetensorsWriter writer,
                  SafetensorsWriter::create(dir.file("x"), specs));
    EXPECT_ERROR(writer.append(bytes), ErrorCode::Internal, "4 are left");
    ASSERT_OK(writer.append(std::span(bytes).first(3)));
    EXPECT_ERROR(writer.commit(), ErrorCode::Internal, "1 bytes");
  }
  EXPECT_THAT(dir.list(), testing::IsEmpty());
}

} // namespace
