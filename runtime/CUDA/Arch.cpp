//===- Arch.cpp - Which machine code a GPU can run ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Arch.h"

#include <tuple>

using namespace gpt2rt;
using namespace gpt2rt::cuda;

std::string Arch::text() const {
  return strCat("sm_", major, minor, exact ? "a" : "");
}

std::optional<Arch> cuda::parseArch(std::string_view text) {
  for (std::string_view prefix : {"sm_", "compute_"})
    if (text.starts_with(prefix)) {
      text.remove_prefix(prefix.size());
      int number = 0;
      auto [end, error] =
          std::from_chars(text.data(), text.data() + text.size(), number);
      if (error != std::errc() || number < 10 || number > 9999)
        return std::nullopt;
      std::string_view suffix(end, text.data() + text.size() - end);
      // "f" (one family) is taken as "a": narrower than it is, never wrong.
      if (!suffix.empty() && suffix != "a" && suffix != "f")
        return std::nullopt;
      return Arch{number / 10, number % 10, !suffix.empty()};
    }
  return std::nullopt;
}

std::optional<size_t> cuda::chooseCode(std::span<const CodeOption> options,
                                       Arch device) {
  // Cubins beat PTX, then the closest architecture wins, then exact code.
  using Rank = std::tuple<bool, int, int, bool>;
  std::optional<size_t> best;
  Rank bestRank;
  for (size_t i = 0; i < options.size(); ++i) {
    std::optional<Arch> code = parseArch(options[i].arch);
    if (!code)
      continue;
    bool same = code->major == device.major && code->minor == device.minor;
    bool older = std::tie(code->major, code->minor) <=
                 std::tie(device.major, device.minor);
    bool runs = code->exact
                    ? same
                    : older && (options[i].ptx || code->major == device.major);
    Rank rank = {!options[i].ptx, code->major, code->minor, code->exact};
    if (runs && (!best || rank > bestRank)) {
      best = i;
      bestRank = rank;
    }
  }
  return best;
}
