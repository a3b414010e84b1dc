//===- ByteSize.h - Sizes in bytes as people write them ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpt2rt {

/// "22GiB", "1.5G", "800MiB", "64000": a number and a unit. K, M, G and T with
/// or without iB are powers of 1024, with B powers of 1000; no unit is bytes.
/// A fraction of a byte is dropped. `flag` is what the error calls the text.
Result<uint64_t> parseByteSize(std::string_view flag, std::string_view text);

/// "20.31 GiB": in the unit that leaves 1 to 4 digits before the point.
std::string formatByteSize(uint64_t bytes);

} // namespace gpt2rt
