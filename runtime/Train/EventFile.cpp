//===- EventFile.cpp - Scalars and texts for TensorBoard ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/EventFile.h"
#include "runtime/Support/File.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <unistd.h>

using namespace gpt2rt;

static constexpr std::array<uint32_t, 256> crcTable = [] {
  std::array<uint32_t, 256> table = {};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
    table[i] = crc;
  }
  return table;
}();

uint32_t gpt2rt::maskedCrc32c(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (char c : bytes)
    crc = crcTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

namespace {

/// Encodes a protobuf message field by field.
class Message {
public:
  Message &varint(uint32_t field, uint64_t value) {
    key(field, 0);
    raw(value);
    return *this;
  }
  Message &real(uint32_t field, double value) {
    key(field, 1);
    return fixed(value);
  }
  Message &real(uint32_t field, float value) {
    key(field, 5);
    return fixed(value);
  }
  Message &bytes(uint32_t field, std::string_view value) {
    key(field, 2);
    raw(value.size());
    text += value;
    return *this;
  }
  const std::string &encoded() const { return text; }

private:
  void key(uint32_t field, uint32_t wireType) { raw(field << 3 | wireType); }
  void raw(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      text.push_back(static_cast<char>(value | 0x80));
    text.push_back(static_cast<char>(value));
  }
  template <typename T>
  Message &fixed(T value) {
    char copy[sizeof(T)];
    std::memcpy(copy, &value, sizeof(T));
    text.append(copy, sizeof(T));
    return *this;
  }

  std::string text;
};

// Field numbers of Event, Summary, Summary.Value, SessionLog, SummaryMetadata,
// its PluginData, TensorProto, TensorShapeProto and its Dim.
enum EventField {
  wallTime = 1,
  stepField,
  fileVersion,
  summaryField = 5,
  sessionLog = 7
};
enum SummaryField { valueField = 1 };
enum ValueField { tagField = 1, simpleValue, tensorField = 8, metadataField };
enum SessionField { statusField = 1 };
enum MetadataField { pluginData = 1 };
enum PluginField { pluginName = 1 };
enum TensorField { typeField = 1, shapeField, stringValue = 8 };
enum ShapeField { dimField = 2 };
enum DimField { sizeField = 1 };
constexpr uint64_t sessionStart = 1, stringType = 7;

Message event(uint64_t step) {
  double now = std::chrono::duration<double>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count();
  return Message().real(wallTime, now).varint(stepField, step);
}

template <typename T>
std::string_view bytesOf(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof(value)};
}

std::string fileName() {
  char host[64] = "localhost";
  (void)::gethostname(host, sizeof(host) - 1);
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return strCat("events.out.tfevents.", seconds.count(), ".", host, ".",
                static_cast<int64_t>(::getpid()));
}

} // namespace

Result<EventFile> EventFile::create(const std::string &directory,
                                    uint64_t firstStep) {
  std::string path = joinPath(directory, fileName());
  std::FILE *opened = std::fopen(path.c_str(), "ae");
  if (!opened)
    return errnoStatus(errno, "cannot write", path);
  EventFile file(path, opened);
  GPT2_RETURN_IF_ERROR(
      file.append(event(0).bytes(fileVersion, "brain.Event:2").encoded()));
  Message log;
  log.varint(statusField, sessionStart);
  GPT2_RETURN_IF_ERROR(
      file.append(event(firstStep).bytes(sessionLog, log.encoded()).encoded()));
  return file;
}

Status EventFile::add(uint64_t step, std::span<const Scalar> scalars) {
  Message summary;
  for (const Scalar &scalar : scalars) {
    Message value;
    value.bytes(tagField, scalar.tag)
        .real(simpleValue, static_cast<float>(scalar.value));
    summary.bytes(valueField, value.encoded());
  }
  return append(event(step).bytes(summaryField, summary.encoded()).encoded());
}

/// Markdown takes an indented line as it is.
static std::string indented(std::string_view text) {
  std::string lines = "    ";
  for (char c : text) {
    lines += c;
    if (c == '\n')
      lines += "    ";
  }
  return lines;
}

/// A tensor of one string, which the metadata gives to the plugin for texts.
Status EventFile::addText(uint64_t step, std::string_view tag,
                          std::string_view text) {
  Message dim, shape, tensor, plugin, metadata, value, summary;
  dim.varint(sizeField, 1);
  shape.bytes(dimField, dim.encoded());
  tensor.varint(typeField, stringType)
      .bytes(shapeField, shape.encoded())
      .bytes(stringValue, indented(text));
  plugin.bytes(pluginName, "text");
  metadata.bytes(pluginData, plugin.encoded());
  value.bytes(tagField, tag)
      .bytes(tensorField, tensor.encoded())
      .bytes(metadataField, metadata.encoded());
  summary.bytes(valueField, value.encoded());
  return append(event(step).bytes(summaryField, summary.encoded()).encoded());
}

/// A record: length, its checksum, the bytes, their checksum.
Status EventFile::append(std::string_view bytes) {
  uint64_t length = bytes.size();
  uint32_t lengthCrc = maskedCrc32c(bytesOf(length));
  uint32_t bytesCrc = maskedCrc32c(bytes);
  std::string record =
      strCat(bytesOf(length), bytesOf(lengthCrc), bytes, bytesOf(bytesCrc));
  if (std::fwrite(record.data(), 1, record.size(), file.get()) !=
          record.size() ||
      std::fflush(file.get()) != 0)
    return errnoStatus(errno, "cannot write", filePath);
  return {};
}
