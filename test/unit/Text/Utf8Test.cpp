//===- Utf8Test.cpp - Checking and streaming UTF-8 ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/unit/Support/TestSupport.h"

#include "runtime/Text/ByteAlphabet.h"
#include "runtime/Text/Utf8.h"

#include <set>

using namespace gpt2rt;

namespace {

#define FFFD "\xEF\xBF\xBD"

std::string encodeCodePoint(uint32_t code) {
  auto tail = [&](int shift) {
    return static_cast<char>(0x80 | (code >> shift & 0x3f));
  };
  if (code < 0x80)
    return {static_cast<char>(code)};
  if (code < 0x800)
    return {static_cast<char>(0xc0 | code >> 6), tail(0)};
  if (code < 0x10000)
    return {static_cast<char>(0xe0 | code >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | code >> 18), tail(12), tail(6), tail(0)};
}

TEST(Utf8, EveryCodePointButSurrogatesIsValid) {
  for (uint32_t code = 0; code <= 0x10ffff; ++code) {
    std::string text = encodeCodePoint(code);
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    ASSERT_EQ(validUtf8(text), !surrogate) << code;
  }
  EXPECT_FALSE(validUtf8(encodeCodePoint(0x110000)));
}

TEST(Utf8, FindsTheFirstInvalidByte) {
  struct Case {
    std::string text;
    size_t valid;
  };
  for (const Case &c : std::vector<Case>{
           {"", 0},
           {"plain ascii of some length", 26},
           {"\xff", 0},
           {"12345678\x80", 8},
           {"123456789\xc3", 9},
           {"a\xc3\xa9z", 4},
           {"\xc0\x80", 0},         // overlong NUL
           {"\xe0\x80\xaf", 0},     // overlong
           {"\xf0\x80\x80\xaf", 0}, // overlong
           {"\xed\xa0\x80", 0},     // surrogate
           {"\xf4\x90\x80\x80", 0}, // above U+10FFFF
           {"\xf5\x80\x80\x80", 0},
           {"ab\xe2\x82", 2}, // cut
       })
    EXPECT_EQ(validUtf8Prefix(c.text), c.valid)
        << testing::PrintToString(c.text);
}

TEST(Utf8, ErrorsNameTheByte) {
  EXPECT_TRUE(checkUtf8("caf\xc3\xa9", "--prompt").ok());
  EXPECT_ERROR(checkUtf8("ab\xe9 c", "--prompt"), ErrorCode::InvalidArgument,
               "--prompt is not valid UTF-8: byte 0xe9 at position 2");
}

TEST(Utf8Stream, HoldsBackUntilWhole) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xf0\x9f"), "a");
  EXPECT_EQ(stream.push("\xa4"), "");
  EXPECT_EQ(stream.push("\x97z"), "\xf0\x9f\xa4\x97z");
  EXPECT_EQ(stream.push(""), "");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Utf8Stream, ReplacesInvalidBytes) {
  struct Case {
    std::string bytes;
    std::string expected; // as Python's bytes.decode(errors="replace")
  };
  for (const Case &c : std::vector<Case>{
           {"\xff"
            "a",
            FFFD "a"},
           {"\xf0\x9f\xa4"
            "a",
            FFFD "a"}, // one cut sequence, one mark
           {"\xe2\x82", FFFD},
           {"\x80\x80", FFFD FFFD},
           {"\xed\xa0\x80", FFFD FFFD FFFD},
           {"\xf0\x80", FFFD FFFD},
           {"\xc3\xc3\xa9", FFFD "\xc3\xa9"},
       }) {
    // The pieces must not matter: all at once, and byte by byte.
    Utf8Stream whole, single;
    std::string first = whole.push(c.bytes);
    first += whole.finish();
    std::string second;
    for (char byte : c.bytes)
      second += single.push({&byte, 1});
    second += single.finish();
    EXPECT_EQ(first, c.expected);
    EXPECT_EQ(second, c.expected);
    EXPECT_TRUE(validUtf8(first));
  }
}

TEST(Utf8Stream, IsNewAfterFinish) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("\xc3"), "");
  EXPECT_EQ(stream.finish(), FFFD);
  EXPECT_EQ(stream.push("\xa9"), FFFD); // not joined to the byte before
}

TEST(ByteAlphabet, IsABijection) {
  std::set<std::string> spellings;
  for (int byte = 0; byte < 256; ++byte) {
    std::string spelled = alphabetSpelling(static_cast<uint8_t>(byte));
    EXPECT_TRUE(validUtf8(spelled));
    spellings.insert(spelled);
    EXPECT_EQ(bytesFromAlphabet(spelled),
              std::string(1, static_cast<char>(byte)));
  }
  EXPECT_EQ(spellings.size(), 256u);
}

TEST(ByteAlphabet, KnownSpellings) {
  EXPECT_EQ(alphabetSpelling(' '), "\xc4\xa0");  // U+0120
  EXPECT_EQ(alphabetSpelling('\n'), "\xc4\x8a"); // U+010A
  EXPECT_EQ(alphabetSpelling('!'), "!");
  EXPECT_EQ(alphabetSpelling(0xad), "\xc5\x83"); // U+0143, the last
  EXPECT_EQ(bytesFromAlphabet("\xc4\xa0the"), " the");
  EXPECT_EQ(bytesFromAlphabet(" the"), std::nullopt);
  EXPECT_EQ(bytesFromAlphabet("\xe4\xb8\xad"), std::nullopt);
  EXPECT_EQ(bytesFromAlphabet("\xff"), std::nullopt);
}

} // namespace
