//===- Safetensors.cpp - Reading safetensors files ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Formats/Safetensors.h"
#include "runtime/Formats/SafetensorsHeader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

using namespace gpt2rt;

static_assert(std::endian::native == std::endian::little,
              "tensor files are little-endian and used in place");

/// The bytes of the header's length field.
static constexpr size_t prefixBytes = 8;

/// Files that stand in for the weights after a clone or a wrong download.
static Status checkNotPlaceholder(std::string_view text) {
  if (text.starts_with("version https://git-lfs"))
    return dataLoss("it is a Git LFS pointer, not the file itself: run "
                    "`git lfs pull` where it came from");
  if (text.starts_with("PK\x03\x04"))
    return dataLoss("it is a PyTorch or zip file, not safetensors: save the "
                    "model again with safe_serialization=True");
  return {};
}

/// Finds the header's text, leaving the tensors' bytes in `data`.
static Result<std::string_view> splitHeader(std::span<const std::byte> bytes,
                                            std::span<const std::byte> &data) {
  std::string_view text(reinterpret_cast<const char *>(bytes.data()),
                        bytes.size());
  GPT2_RETURN_IF_ERROR(checkNotPlaceholder(text));
  if (bytes.size() < prefixBytes)
    return dataLoss("the file is truncated: ", bytes.size(),
                    " bytes, a safetensors file has at least 8");
  uint64_t length;
  std::memcpy(&length, bytes.data(), prefixBytes);
  if (length > maxSafetensorsHeader)
    return dataLoss("the header length ", length, " is above the limit of ",
                    maxSafetensorsHeader, ": not a safetensors file");
  if (length > bytes.size() - prefixBytes)
    return dataLoss("the file is truncated: its header needs ", length,
                    " bytes and ", bytes.size() - prefixBytes, " are there");
  data = bytes.subspan(prefixBytes + length);
  std::string_view json = text.substr(prefixBytes, length);
  if (!json.starts_with('{'))
    return dataLoss("the header does not start with '{': not a safetensors "
                    "file");
  return json;
}

/// Entries sorted by offset must tile [0, size) exactly.
static Status checkTiling(const std::vector<SafetensorsEntry> &entries,
                          uint64_t size) {
  std::vector<const SafetensorsEntry *> order;
  for (const SafetensorsEntry &entry : entries)
    order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](auto *a, auto *b) {
    return std::tie(a->begin, a->end) < std::tie(b->begin, b->end);
  });
  uint64_t next = 0;
  for (const SafetensorsEntry *entry : order) {
    if (entry->begin != next)
      return dataLoss(
          "tensor ", quote(entry->name), " begins at ", entry->begin, ", ",
          entry->begin < next ? "inside the tensor before it" : "after a hole",
          " (expected ", next, ")");
    next = entry->end;
    if (next > size)
      return dataLoss("the file is truncated: tensor ", quote(entry->name),
                      " ends at byte ", next, " of the data and ", size,
                      " are there");
  }
  if (next != size)
    return dataLoss(size - next, " bytes follow the last tensor");
  return {};
}

static Result<SafetensorsHeader> readHeader(std::span<const std::byte> bytes,
                                            std::span<const std::byte> &data) {
  GPT2_ASSIGN_OR_RETURN(std::string_view json, splitHeader(bytes, data));
  GPT2_ASSIGN_OR_RETURN(SafetensorsHeader header, parseSafetensorsHeader(json));
  GPT2_RETURN_IF_ERROR(checkTiling(header.entries, data.size()));
  return header;
}

Result<SafetensorsFile> SafetensorsFile::parse(std::span<const std::byte> bytes,
                                               std::string_view what) {
  std::span<const std::byte> data;
  Result<SafetensorsHeader> header = readHeader(bytes, data);
  if (!header.ok())
    return header.status().withContext(what);
  SafetensorsFile result;
  result.meta = std::move(header->metadata);
  for (SafetensorsEntry &entry : header->entries) {
    TensorView view = {entry.dtype, std::move(entry.shape),
                       data.data() + entry.begin,
                       static_cast<size_t>(entry.end - entry.begin)};
    result.views.emplace(std::move(entry.name), std::move(view));
  }
  return result;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  GPT2_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::open(path));
  GPT2_ASSIGN_OR_RETURN(SafetensorsFile result, parse(mapped.bytes(), path));
  result.file = std::move(mapped);
  return result;
}

const TensorView *SafetensorsFile::find(std::string_view tensorName) const {
  auto place = views.find(tensorName);
  return place == views.end() ? nullptr : &place->second;
}
