//===- LossCurve.h - A picture of a run -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <vector>

namespace gpt2rt {

struct CurvePoint {
  double step, loss;
};

/// An SVG of the training and validation losses over the steps. Either list
/// may be empty. Long lists are drawn as means over equal parts.
std::string lossCurveSvg(const std::vector<CurvePoint> &train,
                         const std::vector<CurvePoint> &validation);

} // namespace gpt2rt
