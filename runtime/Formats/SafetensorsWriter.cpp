//===- SafetensorsWriter.cpp - Writing safetensors files ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Formats/Safetensors.h"
#include "runtime/Formats/SafetensorsHeader.h"
#include "runtime/Support/Checked.h"
#include "runtime/Support/Json.h"

#include <unordered_set>

using namespace gpt2rt;

/// Bytes of a tensor, or an error that names it.
static Result<uint64_t> specBytes(const TensorSpec &spec) {
  std::optional<uint64_t> bytes = checkedProduct(spec.shape);
  if (bytes)
    bytes = checkedMul(*bytes, sizeOf(spec.dtype));
  if (!bytes)
    return invalidArgument("tensor ", quote(spec.name), " has shape ",
                           spec.shape, ", which does not fit 64 bits");
  return *bytes;
}

static Status checkSpec(const TensorSpec &spec, size_t previousWidth,
                        std::unordered_set<std::string> &seen) {
  if (spec.name.empty() || spec.name == "__metadata__")
    return invalidArgument(quote(spec.name), " cannot name a tensor");
  if (!seen.insert(spec.name).second)
    return invalidArgument("tensor ", quote(spec.name), " is listed twice");
  if (sizeOf(spec.dtype) > previousWidth)
    return invalidArgument("tensor ", quote(spec.name), " of ",
                           name(spec.dtype),
                           " must be listed before tensors of narrower types");
  return {};
}

/// The header's JSON; `total` becomes the bytes of all tensors.
static Result<Json>
buildHeader(std::span<const TensorSpec> specs,
            const std::map<std::string, std::string> &metadata,
            uint64_t &total) {
  Json header = Json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  std::unordered_set<std::string> seen;
  size_t width = sizeOf(DType::F64);
  total = 0;
  for (const TensorSpec &spec : specs) {
    GPT2_RETURN_IF_ERROR(checkSpec(spec, width, seen));
    width = sizeOf(spec.dtype);
    GPT2_ASSIGN_OR_RETURN(uint64_t bytes, specBytes(spec));
    std::optional<uint64_t> end = checkedAdd(total, bytes);
    if (!end)
      return invalidArgument("the tensors do not fit 64 bits");
    header[spec.name] = {{"dtype", name(spec.dtype)},
                         {"shape", spec.shape},
                         {"data_offsets", {total, *end}}};
    total = *end;
  }
  return header;
}

Result<SafetensorsWriter>
SafetensorsWriter::create(const std::string &path,
                          std::span<const TensorSpec> specs,
                          const std::map<std::string, std::string> &metadata) {
  uint64_t total = 0;
  Result<Json> header = buildHeader(specs, metadata, total);
  if (!header.ok())
    return header.status().withContext(strCat("writing ", path));
  // Names that are not UTF-8 are replaced, where the default would throw.
  std::string json =
      header->dump(-1, ' ', false, Json::error_handler_t::replace);
  json.resize((json.size() + 7) / 8 * 8, ' '); // keeps the data aligned
  if (json.size() > maxSafetensorsHeader)
    return invalidArgument("writing ", path, ": the header of ", json.size(),
                           " bytes is above the format's limit");
  GPT2_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  uint64_t length = json.size();
  GPT2_RETURN_IF_ERROR(file.append(std::as_bytes(std::span(&length, 1))));
  GPT2_RETURN_IF_ERROR(file.append(json));
  return SafetensorsWriter(std::move(file), total);
}

Status SafetensorsWriter::append(std::span<const std::byte> bytes) {
  if (bytes.size() > remaining)
    return internalError("writing ", file.path(), ": ", bytes.size(),
                         " bytes appended where ", remaining, " are left");
  remaining -= bytes.size();
  return file.append(bytes);
}

Status SafetensorsWriter::commit() {
  if (remaining)
    return internalError("writing ", file.path(), ": ", remaining,
                         " bytes of tensors are missing");
  return file.commit();
}
