//===- File.h - Reading and writing files -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads map the file; writes go to a temporary file beside the target and
// appear under the target's name only when complete.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpt2rt {

/// "no such file or directory" and the like, for messages.
std::string errnoText(int error);

/// An error for a failed system call on a path: the code follows from errno.
Status errnoStatus(int error, std::string_view doing, const std::string &path);

bool fileExists(const std::string &path);
bool isDirectory(const std::string &path);

/// DIRECTORY/NAME, without doubling the slash.
std::string joinPath(std::string_view directory, std::string_view name);

/// A regular file mapped read-only. The mapping follows the file, so a file
/// that another process truncates meanwhile faults: replace model files by
/// rename, as AtomicFile does.
class MappedFile {
public:
  static Result<MappedFile> open(const std::string &path);

  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept { swap(other); }
  MappedFile &operator=(MappedFile &&other) noexcept {
    MappedFile(std::move(other)).swap(*this);
    return *this;
  }
  ~MappedFile();

  const std::string &path() const { return filePath; }
  std::span<const std::byte> bytes() const { return {base, length}; }
  std::string_view text() const {
    return {reinterpret_cast<const char *>(base), length};
  }

private:
  void swap(MappedFile &other) noexcept;

  std::string filePath;
  const std::byte *base = nullptr;
  size_t length = 0;
};

/// The whole of a file, pipe or device as a string. More than `maxBytes` is an
/// error, so that a wrong path cannot fill memory.
Result<std::string> readTextFile(const std::string &path,
                                 size_t maxBytes = size_t(1) << 30);

/// Writes a file that appears whole or not at all. Data goes to a temporary
/// file in the same directory, nameless where the file system allows it;
/// commit() syncs and renames it. Without commit() nothing is left behind. A
/// target that is a device or pipe (/dev/null, /dev/stdout) is written
/// directly.
class AtomicFile {
public:
  static Result<AtomicFile> create(const std::string &path);

  AtomicFile(AtomicFile &&other) noexcept { swap(other); }
  AtomicFile &operator=(AtomicFile &&other) noexcept {
    AtomicFile(std::move(other)).swap(*this);
    return *this;
  }
  ~AtomicFile();

  Status append(std::span<const std::byte> bytes);
  Status append(std::string_view text) {
    return append(std::as_bytes(std::span(text)));
  }

  /// Flushes, syncs and renames to the target. Nothing can be appended after.
  Status commit();

  const std::string &path() const { return target; }
  /// Bytes appended so far.
  uint64_t size() const { return total; }

private:
  AtomicFile() = default;
  void swap(AtomicFile &other) noexcept;
  void openTemporary();
  Status writeOut(std::span<const std::byte> bytes);
  Status flush();
  bool publish();
  void discard();

  std::string target;
  std::string temporary; // the temporary file's name, if it has one yet
  std::vector<std::byte> buffer;
  uint64_t total = 0;
  int fd = -1;
  bool direct = false; // the target itself is open
};

/// Creates or replaces a whole file.
Status writeFile(const std::string &path, std::string_view text);

} // namespace gpt2rt
