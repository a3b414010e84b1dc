//===- Arch.h - Which machine code a GPU can run ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"

#include <optional>
#include <span>
#include <string_view>

namespace gpt2rt::cuda {

/// A compute capability. "sm_90a" is {9, 0, true}: code for exactly that GPU.
struct Arch {
  int major = 0;
  int minor = 0;
  bool exact = false;

  bool operator==(const Arch &) const = default;
  std::string text() const;
};

/// Reads "sm_86", "sm_90a" or "compute_80"; nothing for anything else.
std::optional<Arch> parseArch(std::string_view text);

/// One form of a kernel in the plan.
struct CodeOption {
  std::string_view arch;
  bool ptx = false;
};

/// The best option for a device: a cubin for exactly it ("sm_90a" first), a
/// cubin of its major version and the highest lower minor one, or the PTX of
/// the highest architecture not above it. Nothing where no option runs.
std::optional<size_t> chooseCode(std::span<const CodeOption> options,
                                 Arch device);

/// Whether griddepcontrol instructions are in code for this architecture, so
/// that an edge to it may be programmatic.
inline bool hasProgrammaticLaunch(Arch codeArch) { return codeArch.major >= 9; }

} // namespace gpt2rt::cuda
