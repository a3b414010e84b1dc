//===- Safetensors.h - The safetensors file format --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Layout: u64 little-endian header length, a JSON header, then the tensors'
// bytes with no holes. The reader trusts nothing in the header.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/DType.h"
#include "runtime/Support/File.h"
#include "runtime/Support/StringMap.h"

#include <map>

namespace gpt2rt {

/// A tensor's bytes where they lie in a mapped file: row-major, little-endian,
/// and aligned to nothing.
struct TensorView {
  DType dtype = DType::F32;
  std::vector<uint64_t> shape;
  const std::byte *data = nullptr;
  size_t bytes = 0;
};

using TensorMap = StringMap<TensorView>;

/// One parsed file. Views point into the mapping and live as long as it.
class SafetensorsFile {
public:
  static Result<SafetensorsFile> open(const std::string &path);

  /// Parses bytes that the caller keeps alive; `what` names them in errors.
  static Result<SafetensorsFile> parse(std::span<const std::byte> bytes,
                                       std::string_view what);

  const TensorMap &tensors() const { return views; }
  const TensorView *find(std::string_view tensorName) const;
  /// The `__metadata__` entries.
  const std::map<std::string, std::string> &metadata() const { return meta; }
  const std::string &path() const { return file.path(); }

private:
  MappedFile file;
  TensorMap views;
  std::map<std::string, std::string> meta;
};

/// What a writer needs to know of a tensor before its bytes.
struct TensorSpec {
  std::string name;
  DType dtype;
  std::vector<uint64_t> shape;
};

/// Streams a safetensors file: the header at once, then the tensors' bytes in
/// the order of the specs, in pieces of any size.
class SafetensorsWriter {
public:
  /// Wider types must come before narrower ones, so that every tensor lies
  /// aligned to its elements, as other readers of the format expect.
  static Result<SafetensorsWriter>
  create(const std::string &path, std::span<const TensorSpec> specs,
         const std::map<std::string, std::string> &metadata = {});

  Status append(std::span<const std::byte> bytes);

  /// Publishes the file. An error if bytes are missing.
  Status commit();

private:
  SafetensorsWriter(AtomicFile file, uint64_t remaining)
      : file(std::move(file)), remaining(remaining) {}

  AtomicFile file;
  uint64_t remaining; // bytes still to be appended
};

} // namespace gpt2rt
