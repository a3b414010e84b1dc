//===- PlanFormat.h - The plan file's frame ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A plan file is this header, the FlatBuffer of plan.fbs, then the payload
// section (machine code). All integers are little endian; both sections start
// at multiples of `sectionAlignment`, the gaps are zero.
//
// Versions: a new minor adds only what an older runtime can ignore; whatever
// it could not ignore sets a bit in requiredFeatures, and a runtime refuses
// bits that it does not know. A new major changes this frame.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"

#include <cstddef>
#include <span>
#include <string>

namespace gpt2rt {

struct PlanHeader {
  char magic[8];
  uint16_t major;
  uint16_t minor;
  uint32_t reserved; ///< zero
  uint64_t requiredFeatures;
  uint32_t flatbufferOffset;
  uint32_t flatbufferSize;
  uint64_t payloadOffset;
  uint64_t payloadSize;
  uint64_t fileSize;
  uint64_t checksum; ///< of every other byte of the file, see planChecksum()
};
static_assert(sizeof(PlanHeader) == 64);
static_assert(offsetof(PlanHeader, checksum) == 56);

inline constexpr char planMagic[8] = {'G', 'P', 'T', '2', 'P', 'L', 'A', 'N'};
inline constexpr uint16_t planMajor = 1;
inline constexpr uint16_t planMinor = 2;
/// Set by plans of mode Train: gradients, moments and what computes them.
inline constexpr uint64_t planTrainingFeature = 1;
/// Set by plans with a program of role Sample.
inline constexpr uint64_t planSampleFeature = 2;
/// The bits of requiredFeatures that this runtime implements.
inline constexpr uint64_t planKnownFeatures =
    planTrainingFeature | planSampleFeature;

/// Sections of the file and payloads inside their section start at multiples
/// of this, which is more than ELF images and the FlatBuffer ask for.
inline constexpr uint64_t sectionAlignment = 64;
/// Buffers start at multiples of this inside their arena (a cache line, and
/// the widest vector load), except that views start where their global does.
inline constexpr uint64_t slotAlignment = 64;
/// FlatBuffers address 31 bits; its verifier asserts above.
inline constexpr uint64_t maxFlatbufferSize = (uint64_t(1) << 31) - 64;

/// The file's checksum: a running 64-bit state takes the first 56 bytes of the
/// header and then everything after the header, as little-endian 8-byte words
/// (the last one filled up with zeros):
///
///   state = 0x9e3779b97f4a7c15 ^ file size
///   state = rotateLeft((state ^ word) * 0xd6e8feb86659fd93, 32)   per word
///   state = state ^ (state >> 29)
///
/// Every step is a bijection, so damage inside one word is always seen.
uint64_t planChecksum(std::span<const std::byte> file);

/// Joins the sections into the bytes of a plan file with a filled-in header.
/// Fails where the FlatBuffer is larger than the format can address.
Result<std::string> assemblePlanFile(std::span<const std::byte> flatbuffer,
                                     std::span<const std::byte> payloads,
                                     uint64_t requiredFeatures = 0);

/// The header of a plan file after all checks that need no FlatBuffer: length,
/// magic, version, features, section bounds and alignment, checksum.
Result<PlanHeader> readPlanHeader(std::span<const std::byte> file);

} // namespace gpt2rt
