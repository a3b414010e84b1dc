//===- FileTest.cpp - Mapping and writing files ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/unit/Support/TestSupport.h"

#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace gpt2rt;
using gpt2rt::test::TempDir;

namespace {

std::string readBack(const std::string &path) {
  Result<std::string> text = readTextFile(path);
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.ok() ? *text : "";
}

TEST(MappedFile, ShowsTheBytes) {
  TempDir dir;
  std::string path = dir.write("a", std::string("x\0y", 3));
  ASSERT_ASSIGN(MappedFile file, MappedFile::open(path));
  EXPECT_EQ(file.text(), std::string_view("x\0y", 3));
  EXPECT_EQ(file.path(), path);
  MappedFile moved = std::move(file);
  EXPECT_EQ(moved.text().size(), 3u);
  EXPECT_EQ(file.bytes().size(), 0u);
}

TEST(MappedFile, AnEmptyFileIsLegal) {
  TempDir dir;
  ASSERT_ASSIGN(MappedFile file, MappedFile::open(dir.write("empty", "")));
  EXPECT_EQ(file.bytes().size(), 0u);
}

TEST(MappedFile, RefusesWhatIsNoFile) {
  TempDir dir;
  EXPECT_ERROR(MappedFile::open(dir.file("none")), ErrorCode::NotFound,
               "no such file");
  EXPECT_ERROR(MappedFile::open(dir.path()), ErrorCode::InvalidArgument,
               "is a directory");
  EXPECT_ERROR(MappedFile::open(std::string("a\0b", 3)),
               ErrorCode::InvalidArgument, "NUL");
  // Must not wait for a writer.
  std::string pipe = dir.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_ERROR(MappedFile::open(pipe), ErrorCode::InvalidArgument,
               "not a regular file");
}

TEST(MappedFile, SaysWhenPermissionIsMissing) {
  TempDir dir;
  std::string path = dir.write("secret", "x");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  // Root may read everything, so it plays another user here.
  uid_t user = ::geteuid();
  constexpr uid_t nobody = 65534;
  ASSERT_EQ(::seteuid(user ? user : nobody), 0);
  Status status = MappedFile::open(path).status();
  ASSERT_EQ(::seteuid(user), 0);
  EXPECT_ERROR(status, ErrorCode::InvalidArgument, "ermission denied");
}

TEST(ReadTextFile, ReadsAllAndKeepsToTheLimit) {
  TempDir dir;
  std::string text(200'000, 'q');
  std::string path = dir.write("a", text);
  EXPECT_EQ(readBack(path), text);
  EXPECT_TRUE(readTextFile(path, text.size()).ok());
  EXPECT_ERROR(readTextFile(path, text.size() - 1), ErrorCode::OutOfRange,
               "larger than 199999 bytes");
  EXPECT_ERROR(readTextFile(dir.path()), ErrorCode::InvalidArgument,
               "is a directory");
}

TEST(AtomicFile, AppearsOnCommitOnly) {
  TempDir dir;
  std::string path = dir.file("out");
  ASSERT_ASSIGN(AtomicFile file, AtomicFile::create(path));
  ASSERT_OK(file.append("hello "));
  ASSERT_OK(file.append(std::string(1 << 20, 'x'))); // beyond the buffer
  ASSERT_OK(file.append("end"));
  EXPECT_EQ(file.size(), 6u + (1 << 20) + 3);
  EXPECT_FALSE(fileExists(path));
  ASSERT_OK(file.commit());
  EXPECT_EQ(readBack(path), "hello " + std::string(1 << 20, 'x') + "end");
  EXPECT_THAT(dir.list(), testing::ElementsAre("out"));
}

TEST(AtomicFile, LeavesTheOldFileUnlessCommitted) {
  TempDir dir;
  std::string path = dir.write("out", "old");
  {
    ASSERT_ASSIGN(AtomicFile file, AtomicFile::create(path));
    ASSERT_OK(file.append("new"));
  }
  EXPECT_EQ(readBack(path), "old");
  EXPECT_THAT(dir.list(), testing::ElementsAre("out"));
  ASSERT_OK(writeFile(path, "new"));
  EXPECT_EQ(readBack(path), "new");
}

/// Half a checkpoint may be many gigabytes.
TEST(AtomicFile, AKilledProcessLeavesNothing) {
  TempDir dir;
  int probe = ::open(dir.path().c_str(), O_WRONLY | O_TMPFILE, 0600);
  if (probe < 0)
    GTEST_SKIP() << "this file system has no nameless files";
  ::close(probe);
  pid_t child = ::fork();
  if (child == 0) {
    Result<AtomicFile> file = AtomicFile::create(dir.file("out"));
    if (file.ok() && file->append(std::string(1 << 20, 'x')).ok())
      ::raise(SIGKILL);
    ::_exit(1);
  }
  int result = 0;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  EXPECT_TRUE(WIFSIGNALED(result));
  EXPECT_THAT(dir.list(), testing::IsEmpty());
}

TEST(AtomicFile, MovingKeepsOneOwner) {
  TempDir dir;
  ASSERT_ASSIGN(AtomicFile file, AtomicFile::create(dir.file("a")));
  ASSERT_OK(file.append("a"));
  AtomicFile other = std::move(file);
  ASSERT_OK(other.commit());
  EXPECT_EQ(readBack(dir.file("a")), "a");
  EXPECT_ERROR(other.append("late"), ErrorCode::Internal,
               "after it was closed");
  EXPECT_ERROR(other.commit(), ErrorCode::Internal, "after it was closed");
}

TEST(AtomicFile, FollowsTheUmask) {
  TempDir dir;
  mode_t mask = ::umask(0027);
  ASSERT_OK(writeFile(dir.file("a"), "a"));
  ::umask(mask);
  struct stat info;
  ASSERT_EQ(::stat(dir.file("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST(AtomicFile, RefusesTargetsThatAreNoFiles) {
  TempDir dir;
  EXPECT_ERROR(AtomicFile::create(dir.path()), ErrorCode::InvalidArgument,
               "is a directory");
  EXPECT_ERROR(AtomicFile::create(dir.file("new/")), ErrorCode::InvalidArgument,
               "is a directory");
  EXPECT_ERROR(AtomicFile::create(""), ErrorCode::InvalidArgument,
               "not a file name");
  EXPECT_ERROR(AtomicFile::create(dir.file("missing/out")), ErrorCode::NotFound,
               "no such file or directory");
}

TEST(AtomicFile, DevicesAreWrittenDirectly) {
  ASSERT_OK(writeFile("/dev/null", "gone"));
  struct stat info;
  ASSERT_EQ(::stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode)); // not replaced by a file
}

TEST(AtomicFile, AFullDiskIsNamed) {
  if (!fileExists("/dev/full"))
    GTEST_SKIP() << "no /dev/full here";
  EXPECT_ERROR(writeFile("/dev/full", "x"), ErrorCode::ResourceExhausted,
               "no space left on device writing '/dev/full'");
}

TEST(AtomicFile, AFailedWriteLeavesNothing) {
  TempDir dir;
  std::string path = dir.file("out");
  // A size limit fails writes as a full disk does, in a real directory.
  auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit small = {4096, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  Status status = writeFile(path, std::string(1 << 20, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, previous);
  EXPECT_ERROR(status, ErrorCode::ResourceExhausted, path);
  EXPECT_THAT(dir.list(), testing::IsEmpty());
}

TEST(Path, Join) {
  EXPECT_EQ(joinPath("a", "b"), "a/b");
  EXPECT_EQ(joinPath("a/", "b"), "a/b");
  EXPECT_EQ(joinPath("", "b"), "b");
}

} // namespace
