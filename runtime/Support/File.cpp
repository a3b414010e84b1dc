//===- File.cpp - Reading files -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Support/File.h"
#include "runtime/Support/UniqueFd.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace gpt2rt;

std::string gpt2rt::errnoText(int error) {
  switch (error) {
  case ENOSPC:
  case EDQUOT:
    return "no space left on device";
  case ENOENT:
    return "no such file or directory";
  default:
    char buffer[256];
    return strerror_r(error, buffer, sizeof(buffer));
  }
}

static ErrorCode codeOfErrno(int error) {
  switch (error) {
  case ENOENT:
  case ENOTDIR:
    return ErrorCode::NotFound;
  case ENOSPC:
  case EDQUOT:
  case EFBIG:
  case ENOMEM:
  case EMFILE:
  case ENFILE:
    return ErrorCode::ResourceExhausted;
  case EIO:
    return ErrorCode::DataLoss;
  default:
    return ErrorCode::InvalidArgument;
  }
}

Status gpt2rt::errnoStatus(int error, std::string_view doing,
                           const std::string &path) {
  // Disk-full messages lead with the cause: that is what the user must fix.
  if (error == ENOSPC || error == EDQUOT)
    return resourceExhausted(errnoText(error), " ", doing, " ",
                             quote(path, 4096));
  return makeError(codeOfErrno(error), doing, " ", quote(path, 4096), ": ",
                   errnoText(error));
}

bool gpt2rt::fileExists(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

bool gpt2rt::isDirectory(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string gpt2rt::joinPath(std::string_view directory,
                             std::string_view name) {
  if (directory.empty() || directory.back() == '/')
    return strCat(directory, name);
  return strCat(directory, '/', name);
}

/// Opens for reading and refuses directories. O_NONBLOCK keeps a pipe with no
/// writer from hanging the open where only regular files are wanted.
static Result<UniqueFd> openForReading(const std::string &path, int flags,
                                       struct stat &info) {
  if (path.find('\0') != std::string::npos)
    return invalidArgument("path ", quote(path), " contains a NUL byte");
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0)
    return errnoStatus(errno, "cannot open", path);
  if (S_ISDIR(info.st_mode))
    return invalidArgument("cannot read ", quote(path, 4096),
                           ": it is a directory, expected a file");
  return fd;
}

Result<MappedFile> MappedFile::open(const std::string &path) {
  struct stat info;
  GPT2_ASSIGN_OR_RETURN(UniqueFd fd, openForReading(path, O_NONBLOCK, info));
  if (!S_ISREG(info.st_mode))
    return invalidArgument("cannot read ", quote(path, 4096),
                           ": it is not a regular file");
  MappedFile file;
  file.filePath = path;
  if (info.st_size == 0) // mmap refuses a length of zero
    return file;
  auto length = static_cast<size_t>(info.st_size);
  void *base = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (base == MAP_FAILED)
    return errnoStatus(errno, "cannot map", path);
  // Weights and text are read once, front to back. Advice only: a failure
  // changes nothing but speed.
  ::madvise(base, length, MADV_SEQUENTIAL);
  file.base = static_cast<const std::byte *>(base);
  file.length = length;
  return file;
}

MappedFile::~MappedFile() {
  if (base)
    ::munmap(const_cast<std::byte *>(base), length);
}

void MappedFile::swap(MappedFile &other) noexcept {
  filePath.swap(other.filePath);
  std::swap(base, other.base);
  std::swap(length, other.length);
}

Result<std::string> gpt2rt::readTextFile(const std::string &path,
                                         size_t maxBytes) {
  struct stat info;
  GPT2_ASSIGN_OR_RETURN(UniqueFd fd, openForReading(path, 0, info));
  std::string text;
  if (S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) <= maxBytes)
    text.reserve(static_cast<size_t>(info.st_size));
  constexpr size_t chunk = size_t(1) << 16;
  for (;;) {
    size_t used = text.size();
    text.resize(used + chunk);
    ssize_t got = ::read(fd.get(), text.data() + used, chunk);
    text.resize(used + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got == 0)
      return text;
    if (got < 0 && errno != EINTR)
      return errnoStatus(errno, "cannot read", path);
    if (text.size() > maxBytes)
      return outOfRange("cannot read ", quote(path, 4096),
                        ": it is larger than ", maxBytes, " bytes");
  }
}
