//===- ByteSize.cpp - Sizes in bytes as people write them -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/Support/ByteSize.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>

using namespace gpt2rt;

namespace {

constexpr std::string_view prefixes = "KMGT";

/// What one of a unit is, 0 for what is none: "", "B", "K", "KiB", "KB", ...
double factorOf(std::string_view unit) {
  if (unit.empty() || unit == "B")
    return 1;
  size_t power = prefixes.find(unit[0]);
  if (power == std::string_view::npos)
    return 0;
  std::string_view rest = unit.substr(1);
  double base = rest == "B" ? 1000 : 1024;
  if (rest != "B" && rest != "iB" && !rest.empty())
    return 0;
  return std::pow(base, static_cast<double>(power + 1));
}

} // namespace

Result<uint64_t> gpt2rt::parseByteSize(std::string_view flag,
                                       std::string_view text) {
  // What double and uint64_t both hold.
  constexpr double most = 0x1p62;
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(),
                                      number, std::chars_format::fixed);
  auto used = static_cast<size_t>(end - text.data());
  double factor = error == std::errc() ? factorOf(text.substr(used)) : 0;
  double bytes = number * factor;
  if (factor == 0 || !(bytes >= 1 && bytes <= most))
    return invalidArgument(flag, "=", text,
                           " is not a size such as 22GiB, 12G or 800MiB");
  return static_cast<uint64_t>(bytes);
}

std::string gpt2rt::formatByteSize(uint64_t bytes) {
  constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  unsigned unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.2f %s", value,
                units[unit]);
  return text;
}
