//===- DriverTest.cpp - Loading the driver's table ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Driver.h"
#include "test/unit/CUDA/FakeGpu.h"

#include <gmock/gmock.h>

#include <cstring>

using namespace gpt2rt;
using namespace gpt2rt::cuda;
using testing::HasSubstr;

namespace {

int anything;

TEST(Driver, AsksForVersionedSymbols) {
  static bool versioned;
  versioned = false;
  Result<Driver> driver = makeDriver([](const char *symbol) -> void * {
    versioned |= !std::strcmp(symbol, "cuMemAlloc_v2");
    return &anything;
  });
  EXPECT_TRUE(driver.ok());
  EXPECT_TRUE(versioned) << "cuMemAlloc itself has 32-bit sizes";
}

TEST(Driver, NamesWhatAnOldDriverLacks) {
  Result<Driver> driver = makeDriver([](const char *symbol) -> void * {
    return std::strcmp(symbol, "cuLaunchKernelEx") ? &anything : nullptr;
  });
  EXPECT_EQ(driver.status().code(), ErrorCode::Unavailable);
  EXPECT_THAT(driver.status().message(), HasSubstr("cuLaunchKernelEx"));
  EXPECT_THAT(driver.status().message(), HasSubstr("update the driver"));
}

TEST(Driver, ErrorsNameTheCall) {
  test::FakeGpu gpu;
  Driver driver = gpu.driver();
  EXPECT_TRUE(toStatus(driver, CUDA_SUCCESS, "cuMemAlloc").ok());
  Status status = toStatus(driver, CUDA_ERROR_OUT_OF_MEMORY, "cuMemAlloc");
  EXPECT_EQ(status.code(), ErrorCode::ResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("cuMemAlloc failed: fake error"));
  EXPECT_EQ(toStatus(driver, CUDA_ERROR_ILLEGAL_ADDRESS, "x").code(),
            ErrorCode::Internal);
}

} // namespace
