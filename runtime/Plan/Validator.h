//===- Validator.h - Semantic checks of a plan ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Run by Plan::parse() on every plan, after the FlatBuffers verifier: that one
// proves offsets, this one proves meaning. Errors carry the field's path, its
// value and the limit. The checks run in the order below, and each may rely on
// what the ones before it have proved.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Plan/plan_generated.h"
#include "runtime/Support/Status.h"

#include <cstddef>
#include <span>

namespace gpt2rt {

/// All of the checks.
Status validatePlan(const fb::Plan &plan, std::span<const std::byte> payloads);

namespace detail {

/// Payloads, modules, kernels, arenas, the model: indices, enums, ranges.
Status validateTables(const fb::Plan &plan,
                      std::span<const std::byte> payloads);

/// Buffers: shape x dtype = bytes, slots inside arenas, views, owners.
Status validateBuffers(const fb::Plan &plan);

/// Programs and each instruction: operands in range and of fitting shapes,
/// launch limits.
Status validateInstructions(const fb::Plan &plan);

/// No two buffers that live at the same time share bytes.
Status validateSlots(const fb::Plan &plan);

/// Buffers are used inside their lifetime and written before they are read;
/// parameters, gradients and moments are written by init, all of them, and by
/// nothing else but training's programs.
Status validateDataflow(const fb::Plan &plan);

/// The programs and state slots that the plan's mode promises.
Status validateModes(const fb::Plan &plan);

/// A path into the plan, such as programs[2].instructions[17].matmul: kept as
/// a chain on the stack and spelled out only for a message.
class Where {
public:
  explicit Where(const char *name, int64_t index = -1)
      : name(name), index(index) {}
  Where(const Where &parent, const char *name, int64_t index = -1)
      : parent(&parent), name(name), index(index) {}
  Where(const Where &) = delete;

  std::string text() const {
    std::string path = parent ? parent->text() + "." : std::string();
    path += name;
    return index < 0 ? path : strCat(path, "[", index, "]");
  }

  /// dataLoss("PATH.FIELD is VALUE, but ..."): how most checks fail.
  template <typename Value, typename... Args>
  Status bad(const char *field, const Value &value, const Args &...why) const {
    return dataLoss(text(), ".", field, " is ", value, ", but ", why...);
  }

private:
  const Where *parent = nullptr;
  const char *name;
  int64_t index;
};

/// Whether an enum's value is one this schema knows; the verifier takes any.
template <typename Enum>
bool isKnown(Enum value) {
  return value >= Enum::MIN && value <= Enum::MAX;
}

} // namespace detail
} // namespace gpt2rt
