//===- EventFile.h - Scalars and texts for TensorBoard ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A TFRecord file of Event messages. The few fields used are encoded by hand,
// so no protobuf is needed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"

#include <cstdio>
#include <memory>
#include <span>
#include <string_view>

namespace gpt2rt {

/// CRC-32C (Castagnoli), rotated and offset as TFRecord wants it.
uint32_t maskedCrc32c(std::string_view bytes);

class EventFile {
public:
  struct Scalar {
    std::string_view tag;
    double value;
  };

  /// A new file in `directory`, beside those of earlier sessions of the run.
  /// `firstStep` is where this session begins: TensorBoard drops what an
  /// earlier one wrote from there on.
  static Result<EventFile> create(const std::string &directory,
                                  uint64_t firstStep);

  /// Appends an event and hands it to the system.
  Status add(uint64_t step, std::span<const Scalar> scalars);
  /// The same for a text, which TensorBoard shows as it is.
  Status addText(uint64_t step, std::string_view tag, std::string_view text);

  const std::string &path() const { return filePath; }

private:
  struct Closer {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  EventFile(std::string path, std::FILE *file)
      : filePath(std::move(path)), file(file) {}
  Status append(std::string_view event);

  std::string filePath;
  std::unique_ptr<std::FILE, Closer> file;
};

} // namespace gpt2rt
