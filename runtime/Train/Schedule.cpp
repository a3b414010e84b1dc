//===- Schedule.cpp - Learning rates --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/Schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace gpt2rt;

Result<ScheduleKind> gpt2rt::parseScheduleKind(std::string_view text) {
  static constexpr std::pair<std::string_view, ScheduleKind> kinds[] = {
      {"constant", ScheduleKind::Constant},
      {"linear", ScheduleKind::Linear},
      {"cosine", ScheduleKind::Cosine},
      {"wsd", ScheduleKind::Wsd}};
  for (auto [name, kind] : kinds)
    if (name == text)
      return kind;
  return invalidArgument("--schedule is ", quote(text),
                         ", but it must be constant, linear, cosine or wsd");
}

/// How much of [first, last) lies behind `at`, in [0, 1].
static double share(uint64_t at, uint64_t first, uint64_t last) {
  if (at <= first)
    return 0;
  return at >= last ? 1 : double(at - first) / double(last - first);
}

double Schedule::at(uint64_t applied) const {
  if (applied < warmup)
    return peak * double(applied + 1) / double(warmup);
  double left = 1; // of the way from the minimum to the peak
  switch (kind) {
  case ScheduleKind::Constant:
    break;
  case ScheduleKind::Linear:
    left = 1 - share(applied, warmup, steps);
    break;
  case ScheduleKind::Cosine:
    left =
        0.5 + 0.5 * std::cos(std::numbers::pi * share(applied, warmup, steps));
    break;
  case ScheduleKind::Wsd:
    left = 1 - share(applied, std::max(warmup, steps - std::min(decay, steps)),
                     steps);
    break;
  }
  return minimum + left * (peak - minimum);
}
