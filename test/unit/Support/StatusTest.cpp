//===- StatusTest.cpp - Error values and messages -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/unit/Support/TestSupport.h"

#include "runtime/Support/Checked.h"

#include <limits>
#include <memory>
#include <set>

using namespace gpt2rt;

namespace {

TEST(Status, DefaultIsSuccess) {
  Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(exitCode(status), 0);
  EXPECT_EQ(status.message(), "");
}

TEST(Status, EveryErrorExitsNonZero) {
  std::set<std::string> names;
  for (int code = 1; code <= static_cast<int>(ErrorCode::Internal); ++code) {
    Status status(static_cast<ErrorCode>(code), "x");
    EXPECT_NE(exitCode(status), 0);
    EXPECT_NE(status.ok(), true);
    names.insert(errorCodeName(status.code()));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(ErrorCode::Internal));
}

TEST(Status, MessagesStayOnOneLine) {
  EXPECT_EQ(invalidArgument("a\nb\r\nc").message(), "a b  c");
}

TEST(Status, ContextGoesBeforeTheMessage) {
  Status status = dataLoss("bad").withContext("file.bin");
  EXPECT_EQ(status.message(), "file.bin: bad");
  EXPECT_EQ(status.code(), ErrorCode::DataLoss);
  EXPECT_TRUE(Status().withContext("file.bin").ok());
}

Result<int> half(int value) {
  if (value % 2)
    return invalidArgument(value, " is odd");
  return value / 2;
}
Result<int> quarter(int value) {
  GPT2_ASSIGN_OR_RETURN(int once, half(value));
  GPT2_ASSIGN_OR_RETURN(int twice, half(once));
  return twice;
}
Status check(int value) {
  GPT2_RETURN_IF_ERROR(quarter(value).status());
  return {};
}

TEST(Result, MacrosPassErrorsOn) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_ERROR(quarter(6), ErrorCode::InvalidArgument, "3 is odd");
  EXPECT_ERROR(check(5), ErrorCode::InvalidArgument, "5 is odd");
  EXPECT_TRUE(check(4).ok());
}

TEST(Result, HoldsMoveOnlyValuesAndConverts) {
  struct Base {
    virtual ~Base() = default;
  };
  struct Derived : Base {};
  auto make = []() -> Result<std::unique_ptr<Base>> {
    return std::make_unique<Derived>();
  };
  ASSERT_ASSIGN(std::unique_ptr<Base> base, make());
  EXPECT_NE(dynamic_cast<Derived *>(base.get()), nullptr);
}

TEST(Result, ReadingAFailedValueAborts) { EXPECT_DEATH((void)*half(1), ""); }

TEST(StrCat, JoinsPieces) {
  EXPECT_EQ(strCat("a", 'b', std::string("c"), 1, -2, 3u, true, 0.1, 1e-5f),
            "abc1-23true0.11e-05");
  EXPECT_EQ(strCat(std::vector<uint64_t>{2, 24, 257}), "[2, 24, 257]");
  EXPECT_EQ(strCat(std::vector<int>{}), "[]");
  EXPECT_EQ(strCat(std::numeric_limits<uint64_t>::max()),
            "18446744073709551615");
}

TEST(StrCat, QuoteIsSafeToPrint) {
  EXPECT_EQ(quote("plain"), "'plain'");
  EXPECT_EQ(quote("a\nb\x1b[31m"), "'a\\x0ab\\x1b[31m'");
  EXPECT_EQ(quote("abcdef", 3), "'abc...'");
  // Never half a code point: "é" is two bytes.
  EXPECT_EQ(quote("ab\xc3\xa9", 3), "'ab...'");
}

TEST(StrCat, NearestNameNeedsToBeNear) {
  std::vector<std::string> names = {"gpt2", "gpt2-medium", "gpt2-xl"};
  EXPECT_EQ(nearestName("gpt2-meduim", names), "gpt2-medium");
  EXPECT_EQ(nearestName("gtp2", names), "gpt2");
  EXPECT_EQ(nearestName("llama-70b", names), "");
  EXPECT_EQ(nearestName("", names), "");
  EXPECT_EQ(nearestName(std::string(1000, 'x'), names), "");
}

TEST(Checked, RefusesWhatDoesNotFit) {
  constexpr uint64_t max = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(checkedMul(1u << 31, 2), uint64_t(1) << 32);
  EXPECT_EQ(checkedMul(uint64_t(1) << 32, uint64_t(1) << 32), std::nullopt);
  EXPECT_EQ(checkedAdd(max, 0), max);
  EXPECT_EQ(checkedAdd(max, 1), std::nullopt);
}

TEST(Checked, ProductOfDimensions) {
  constexpr uint64_t big = uint64_t(1) << 40;
  EXPECT_EQ(checkedProduct({}), 1u);
  EXPECT_EQ(checkedProduct(std::vector<uint64_t>{2, 0, 3}), 0u);
  EXPECT_EQ(checkedProduct(std::vector<uint64_t>{big, big}), std::nullopt);
  EXPECT_EQ(checkedProduct(std::vector<uint64_t>{big, big, 0}), std::nullopt);
}

TEST(Checked, RangeFitsDoesNotWrap) {
  constexpr uint64_t max = std::numeric_limits<uint64_t>::max();
  EXPECT_TRUE(rangeFits(0, 10, 10));
  EXPECT_TRUE(rangeFits(10, 0, 10));
  EXPECT_FALSE(rangeFits(1, 10, 10));
  EXPECT_FALSE(rangeFits(max, 2, 10));
  EXPECT_FALSE(rangeFits(2, max, 10));
}

} // namespace
