//===- Plan.h - A loaded, validated plan ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Whoever holds a Plan may use every index, offset and shape in it without
// another check: loading runs the FlatBuffers verifier and the semantic
// validator, always. What depends on the machine (architecture, device limits,
// free memory) is the executor's to check.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Plan/PlanFormat.h"
#include "runtime/Plan/plan_generated.h"
#include "runtime/Support/File.h"
#include "runtime/Support/Status.h"

#include <optional>
#include <string_view>

namespace gpt2rt {

/// Immutable. Moving it keeps every pointer and span that it handed out.
class Plan {
public:
  /// Maps, verifies and validates a plan file.
  static Result<Plan> load(const std::string &path);

  /// The same for bytes in memory, which must outlive the Plan and be aligned
  /// to 8 bytes.
  static Result<Plan> parse(std::span<const std::byte> file);

  const fb::Plan &root() const { return *plan; }
  const PlanHeader &header() const { return frame; }

  std::span<const std::byte> payload(uint32_t index) const;
  /// What the payloads lie in.
  std::span<const std::byte> payloadSection() const { return payloads; }

  const fb::Buffer &buffer(uint32_t index) const {
    return *plan->buffers()->Get(index);
  }
  const fb::Program &program(uint32_t index) const {
    return *plan->programs()->Get(index);
  }
  /// A buffer's name as text for messages.
  std::string_view bufferName(uint32_t index) const {
    return buffer(index).name()->string_view();
  }

  /// Index of a program: "init", "prefill", "decode_b4", "eval".
  std::optional<uint32_t> findProgram(std::string_view name) const;

  /// Buffer index of a state slot such as "tokens" (never a view of it).
  std::optional<uint32_t> findState(std::string_view name) const;

  /// An error that says how to compile, where the plan is of another mode.
  Status requireMode(fb::Mode mode) const;

  /// Sum of the arenas of one kind.
  uint64_t arenaBytes(fb::ArenaKind kind) const;
  /// Sum of all arenas: what the plan promises to allocate.
  uint64_t totalBytes() const;

private:
  Plan() = default;

  MappedFile mapping; // empty where the caller owns the bytes
  PlanHeader frame = {};
  std::span<const std::byte> payloads;
  const fb::Plan *plan = nullptr;
};

} // namespace gpt2rt
