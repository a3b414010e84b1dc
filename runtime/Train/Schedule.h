//===- Schedule.h - Learning rates ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"

namespace gpt2rt {

enum class ScheduleKind : uint8_t {
  Constant,
  Linear, ///< a line down to the minimum
  Cosine, ///< half a cosine down to the minimum
  Wsd,    ///< warm-up, stable, then a line down over the last `decay` steps
};

Result<ScheduleKind> parseScheduleKind(std::string_view text);

/// The learning rate as a function of the steps applied so far, so that a
/// skipped step does not move it (pytorch 55585).
struct Schedule {
  ScheduleKind kind = ScheduleKind::Cosine;
  double peak = 0, minimum = 0;
  uint64_t warmup = 0; ///< steps that rise in a line to the peak
  uint64_t steps = 0;  ///< of the run
  uint64_t decay = 0;  ///< wsd's last ones

  double at(uint64_t applied) const;
};

} // namespace gpt2rt
