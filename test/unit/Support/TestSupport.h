//===- TestSupport.h - What the unit tests share ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/File.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace gpt2rt::test {

/// A directory that lives as long as the object.
class TempDir {
public:
  TempDir() {
    std::string pattern = testing::TempDir() + "gpt2-test-XXXXXX";
    directory = ::mkdtemp(pattern.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }

  const std::string &path() const { return directory; }
  std::string file(std::string_view fileName) const {
    return joinPath(directory, fileName);
  }
  /// Writes a file and gives its path.
  std::string write(std::string_view fileName, std::string_view text) const {
    std::string target = file(fileName);
    EXPECT_TRUE(writeFile(target, text).ok());
    return target;
  }
  std::vector<std::string> list() const {
    std::vector<std::string> names;
    for (auto &entry : std::filesystem::directory_iterator(directory))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

private:
  std::string directory;
};

/// Where the large test data lies; empty if it is not there.
inline std::string sharedDirectory() {
  const char *fromEnvironment = std::getenv("GPT2_SHARED_DIR");
  std::string path =
      fromEnvironment ? fromEnvironment : GPT2_SOURCE_DIR "/../shared";
  // A worktree lies one level deeper.
  if (!fromEnvironment && !isDirectory(path))
    path = GPT2_SOURCE_DIR "/../../shared";
  return isDirectory(path) ? path : "";
}

inline std::string fixture(std::string_view name) {
  return joinPath(GPT2_SOURCE_DIR "/test/fixtures", name);
}

inline Status statusOf(const Status &status) { return status; }
template <typename T>
Status statusOf(const Result<T> &result) {
  return result.status();
}

} // namespace gpt2rt::test

#define ASSERT_OK(expr)                                                        \
  do {                                                                         \
    auto gpt2Status = ::gpt2rt::test::statusOf(expr);                          \
    ASSERT_TRUE(gpt2Status.ok()) << gpt2Status.message();                      \
  } while (false)

/// The expression fails with this code and a one-line message that holds the
/// text.
#define EXPECT_ERROR(expr, expectedCode, text)                                 \
  do {                                                                         \
    auto gpt2Status = ::gpt2rt::test::statusOf(expr);                          \
    EXPECT_EQ(::gpt2rt::errorCodeName(gpt2Status.code()),                      \
              ::gpt2rt::errorCodeName(expectedCode))                           \
        << gpt2Status.message();                                               \
    EXPECT_THAT(gpt2Status.message(), ::testing::HasSubstr(text));             \
    EXPECT_EQ(gpt2Status.message().find('\n'), std::string::npos);             \
  } while (false)

/// ASSERT_ASSIGN(auto x, compute()): the value of a Result.
#define ASSERT_ASSIGN(decl, ...)                                               \
  ASSERT_ASSIGN_IMPL(GPT2_CONCAT(gpt2Result, __LINE__), decl, (__VA_ARGS__))
#define ASSERT_ASSIGN_IMPL(tmp, decl, expr)                                    \
  auto tmp = expr;                                                             \
  ASSERT_TRUE(tmp.ok()) << tmp.status().message();                             \
  decl = *std::move(tmp)

/// Skips a test whose data is not in the repository.
#define REQUIRE_SHARED(variable)                                               \
  std::string variable = ::gpt2rt::test::sharedDirectory();                    \
  if (variable.empty())                                                        \
  GTEST_SKIP() << "needs the shared test data: set GPT2_SHARED_DIR"
