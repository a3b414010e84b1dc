//===- AtomicFile.cpp - Files that appear whole or not at all -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Support/File.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace gpt2rt;

/// Small appends are gathered into writes of this size.
static constexpr size_t bufferBytes = size_t(1) << 18;

/// Linux moves at most 2 GiB a call; a smaller step also keeps EINTR cheap.
static constexpr size_t maxWriteBytes = size_t(1) << 28;

static std::string parentDirectory(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Hidden, in the target's directory (rename cannot cross file systems), and
/// unique among processes, threads and repeated calls.
static std::string temporaryName(const std::string &path) {
  static std::atomic<unsigned> counter{0};
  size_t slash = path.rfind('/');
  size_t base = slash == std::string::npos ? 0 : slash + 1;
  return strCat(path.substr(0, base), '.', path.substr(base, 200), ".tmp-",
                ::getpid(), '-', counter++);
}

Result<AtomicFile> AtomicFile::create(const std::string &path) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return invalidArgument("cannot write to ", quote(path),
                           ": not a file name");
  AtomicFile file;
  file.target = path;
  struct stat info;
  bool exists = ::stat(path.c_str(), &info) == 0;
  if (path.back() == '/' || (exists && S_ISDIR(info.st_mode)))
    return invalidArgument("cannot write to ", quote(path, 4096),
                           ": it is a directory, expected a file name");
  file.direct = exists && !S_ISREG(info.st_mode);
  if (file.direct)
    file.fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  else
    file.openTemporary();
  if (file.fd < 0)
    return errnoStatus(errno, "cannot write", path);
  return file;
}

/// A file without a name, which vanishes even if the process is killed; where
/// the file system has none, a hidden one.
void AtomicFile::openTemporary() {
  std::string directory = parentDirectory(target);
  if (::access("/proc/self/fd", X_OK) == 0) // how it gets a name later
    fd = ::open(directory.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (fd >= 0)
    return;
  std::string name = temporaryName(target);
  fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd >= 0)
    temporary = std::move(name);
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::swap(AtomicFile &other) noexcept {
  target.swap(other.target);
  temporary.swap(other.temporary);
  buffer.swap(other.buffer);
  std::swap(total, other.total);
  std::swap(fd, other.fd);
  std::swap(direct, other.direct);
}

void AtomicFile::discard() {
  if (fd >= 0)
    ::close(fd);
  fd = -1;
  if (!temporary.empty())
    ::unlink(temporary.c_str());
  temporary.clear();
}

Status AtomicFile::writeOut(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t wrote =
        ::write(fd, bytes.data(), std::min(bytes.size(), maxWriteBytes));
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote < 0) {
      Status status = errnoStatus(errno, "writing", target);
      discard();
      return status;
    }
    bytes = bytes.subspan(static_cast<size_t>(wrote));
  }
  return {};
}

Status AtomicFile::flush() {
  Status status = writeOut(buffer);
  buffer.clear();
  return status;
}

Status AtomicFile::append(std::span<const std::byte> bytes) {
  if (fd < 0)
    return internalError("writing ", quote(target, 4096),
                         " after it was closed");
  total += bytes.size();
  if (bytes.size() + buffer.size() > bufferBytes) {
    GPT2_RETURN_IF_ERROR(flush());
    if (bytes.size() >= bufferBytes)
      return writeOut(bytes);
  }
  buffer.insert(buffer.end(), bytes.begin(), bytes.end());
  return {};
}

/// Makes the rename itself durable. Some file systems cannot sync a
/// directory; the file is whole either way, so that is not an error.
static void syncDirectory(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return;
  ::fsync(fd);
  ::close(fd);
}

/// Syncs the data, closes the file and renames it to the target. False leaves
/// the reason in errno.
bool AtomicFile::publish() {
  // Pipes and devices cannot be synced.
  if (!direct && ::fsync(fd) != 0)
    return false;
  if (!direct && temporary.empty()) {
    // A link cannot replace a file, so the nameless one is named first.
    std::string name = temporaryName(target);
    std::string self = strCat("/proc/self/fd/", fd);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(),
                 AT_SYMLINK_FOLLOW) != 0)
      return false;
    temporary = std::move(name);
  }
  // close() reports delayed write errors on network file systems.
  if (::close(std::exchange(fd, -1)) != 0)
    return false;
  return direct || ::rename(temporary.c_str(), target.c_str()) == 0;
}

Status AtomicFile::commit() {
  if (fd < 0)
    return internalError("committing ", quote(target, 4096),
                         " after it was closed");
  GPT2_RETURN_IF_ERROR(flush());
  if (!publish()) {
    Status status = errnoStatus(errno, "writing", target);
    discard();
    return status;
  }
  temporary.clear();
  if (!direct)
    syncDirectory(parentDirectory(target));
  return {};
}

Status gpt2rt::writeFile(const std::string &path, std::string_view text) {
  GPT2_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  GPT2_RETURN_IF_ERROR(file.append(text));
  return file.commit();
}
