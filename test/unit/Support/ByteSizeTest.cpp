// Sizes in bytes as people write them.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Support/ByteSize.h"

#include <gtest/gtest.h>

using namespace gpt2rt;

namespace {

uint64_t parse(const char *text) {
  Result<uint64_t> size = parseByteSize("--size", text);
  return size.ok() ? *size : 0;
}

TEST(ByteSize, UnitsArePowersOf1024) {
  EXPECT_EQ(parse("22GiB"), uint64_t(22) << 30);
  EXPECT_EQ(parse("12G"), uint64_t(12) << 30);
  EXPECT_EQ(parse("800MiB"), uint64_t(800) << 20);
  EXPECT_EQ(parse("3K"), 3072u);
  EXPECT_EQ(parse("1T"), uint64_t(1) << 40);
  EXPECT_EQ(parse("1.5GiB"), uint64_t(3) << 29);
}

TEST(ByteSize, DecimalUnitsEndInB) {
  EXPECT_EQ(parse("24GB"), 24000000000u);
  EXPECT_EQ(parse("1KB"), 1000u);
}

TEST(ByteSize, NoUnitIsBytes) {
  EXPECT_EQ(parse("64000"), 64000u);
  EXPECT_EQ(parse("64000B"), 64000u);
}

TEST(ByteSize, RefusesWhatIsNoSize) {
  for (const char *text :
       {"", "GiB", "12X", "12Gi", "12iB", "12 G", "-1G", "0", "0.1", "nan",
        "inf", "1e3", "12GiBs", "9999999T", "12g"})
    EXPECT_FALSE(parseByteSize("--size", text).ok()) << text;
  EXPECT_EQ(parseByteSize("--size", "12X").status().message(),
            "--size=12X is not a size such as 22GiB, 12G or 800MiB");
}

TEST(ByteSize, PrintsInTheUnitThatReadsWell) {
  EXPECT_EQ(formatByteSize(0), "0 B");
  EXPECT_EQ(formatByteSize(1023), "1023 B");
  EXPECT_EQ(formatByteSize(1536), "1.50 KiB");
  EXPECT_EQ(formatByteSize(uint64_t(22) << 30), "22.00 GiB");
  EXPECT_EQ(formatByteSize(uint64_t(5) << 52), "20480.00 TiB");
}

} // namespace
