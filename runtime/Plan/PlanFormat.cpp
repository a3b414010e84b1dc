//===- PlanFormat.cpp - The plan file's frame -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Plan/PlanFormat.h"
#include "runtime/Support/Checked.h"

#include <bit>
#include <cstring>

using namespace gpt2rt;

static_assert(std::endian::native == std::endian::little,
              "headers and words are copied as they lie in memory");

static uint64_t absorb(uint64_t state, std::span<const std::byte> bytes) {
  constexpr uint64_t multiplier = 0xd6e8feb86659fd93;
  size_t at = 0;
  uint64_t word;
  for (; bytes.size() - at >= sizeof(word); at += sizeof(word)) {
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    state = std::rotl((state ^ word) * multiplier, 32);
  }
  if (at < bytes.size()) {
    word = 0;
    std::memcpy(&word, bytes.data() + at, bytes.size() - at);
    state = std::rotl((state ^ word) * multiplier, 32);
  }
  return state;
}

uint64_t gpt2rt::planChecksum(std::span<const std::byte> file) {
  uint64_t state = 0x9e3779b97f4a7c15 ^ file.size();
  state = absorb(state, file.first(offsetof(PlanHeader, checksum)));
  state = absorb(state, file.subspan(sizeof(PlanHeader)));
  return state ^ (state >> 29);
}

static uint64_t alignSection(uint64_t size) {
  return (size + sectionAlignment - 1) & ~(sectionAlignment - 1);
}

Result<std::string>
gpt2rt::assemblePlanFile(std::span<const std::byte> flatbuffer,
                         std::span<const std::byte> payloads,
                         uint64_t requiredFeatures) {
  if (flatbuffer.size() > maxFlatbufferSize)
    return outOfRange("the plan's FlatBuffer has ", flatbuffer.size(),
                      " bytes, the format's limit is ", maxFlatbufferSize);
  PlanHeader header = {};
  std::memcpy(header.magic, planMagic, sizeof(planMagic));
  header.major = planMajor;
  header.minor = planMinor;
  header.requiredFeatures = requiredFeatures;
  header.flatbufferOffset = sizeof(PlanHeader);
  header.flatbufferSize = static_cast<uint32_t>(flatbuffer.size());
  header.payloadOffset = alignSection(sizeof(PlanHeader) + flatbuffer.size());
  header.payloadSize = payloads.size();
  header.fileSize = header.payloadOffset + payloads.size();

  std::string file(header.fileSize, '\0');
  auto put = [&](uint64_t offset, const void *data, size_t size) {
    if (size)
      std::memcpy(file.data() + offset, data, size);
  };
  put(0, &header, sizeof(header));
  put(header.flatbufferOffset, flatbuffer.data(), flatbuffer.size());
  put(header.payloadOffset, payloads.data(), payloads.size());
  header.checksum = planChecksum(std::as_bytes(std::span(file)));
  put(0, &header, sizeof(header));
  return file;
}

static Status checkVersion(const PlanHeader &header) {
  if (header.major > planMajor)
    return failedPrecondition("plan format ", header.major, ".", header.minor,
                              " was made by a newer gpt2c (this gpt2-run reads "
                              "format ",
                              planMajor, "); upgrade gpt2-run");
  if (header.major != planMajor)
    return failedPrecondition("plan format ", header.major, ".", header.minor,
                              " is not readable (this gpt2-run reads format ",
                              planMajor,
                              "); compile the model again with gpt2c");
  uint64_t unknown = header.requiredFeatures & ~planKnownFeatures;
  if (unknown)
    return failedPrecondition(
        "the plan needs feature bit ", std::countr_zero(unknown),
        ", so it was made by a newer gpt2c; upgrade gpt2-run");
  return Status::okStatus();
}

/// One section of the file: inside it, after the header and aligned.
static Status checkSection(const char *name, uint64_t offset, uint64_t size,
                           uint64_t fileSize) {
  if (offset < sizeof(PlanHeader) || !rangeFits(offset, size, fileSize))
    return dataLoss("the plan's ", name, " lies at ", offset, " with ", size,
                    " bytes, outside the file of ", fileSize, " bytes");
  if (offset % sectionAlignment != 0)
    return dataLoss("the plan's ", name, " offset ", offset,
                    " is not a multiple of ", sectionAlignment);
  return Status::okStatus();
}

static Status checkSections(const PlanHeader &header) {
  GPT2_RETURN_IF_ERROR(checkSection("FlatBuffer", header.flatbufferOffset,
                                    header.flatbufferSize, header.fileSize));
  GPT2_RETURN_IF_ERROR(checkSection("payload section", header.payloadOffset,
                                    header.payloadSize, header.fileSize));
  if (header.flatbufferSize > maxFlatbufferSize)
    return dataLoss("the plan's FlatBuffer has ", header.flatbufferSize,
                    " bytes, the format's limit is ", maxFlatbufferSize);
  if (header.payloadOffset < header.flatbufferOffset ||
      header.payloadOffset - header.flatbufferOffset < header.flatbufferSize)
    return dataLoss("the plan's payload section at ", header.payloadOffset,
                    " overlaps its FlatBuffer at ", header.flatbufferOffset,
                    " with ", header.flatbufferSize, " bytes");
  if (header.reserved != 0)
    return dataLoss("the plan header's reserved word is ", header.reserved,
                    ", not 0");
  return Status::okStatus();
}

Result<PlanHeader> gpt2rt::readPlanHeader(std::span<const std::byte> file) {
  PlanHeader header;
  size_t magicBytes = std::min(file.size(), sizeof(planMagic));
  if (magicBytes == 0 || std::memcmp(file.data(), planMagic, magicBytes) != 0)
    return dataLoss("not a plan file (it does not begin with GPT2PLAN); make "
                    "one with gpt2c MODEL -o PLAN");
  if (file.size() < sizeof(header))
    return dataLoss("the plan is truncated: ", file.size(),
                    " bytes, its header alone has ", sizeof(header));
  std::memcpy(&header, file.data(), sizeof(header));
  // Before the rest: a newer format may mean anything by the other fields.
  GPT2_RETURN_IF_ERROR(checkVersion(header));
  if (header.fileSize != file.size())
    return dataLoss(header.fileSize > file.size()
                        ? "the plan is truncated: "
                        : "the plan has bytes after its end: ",
                    file.size(), " bytes, its header says ", header.fileSize);
  GPT2_RETURN_IF_ERROR(checkSections(header));
  if (planChecksum(file) != header.checksum)
    return dataLoss("the plan is damaged: its checksum does not match; compile "
                    "or copy it again");
  return header;
}
