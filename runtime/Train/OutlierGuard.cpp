//===- OutlierGuard.cpp - Gradient norms that stand out -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/OutlierGuard.h"

#include <cmath>

using namespace gpt2rt;

double OutlierGuard::limit() const {
  if (sigma <= 0 || recent.size() < least)
    return 0;
  double count = double(recent.size()), mean = 0, variance = 0;
  for (double norm : recent)
    mean += norm / count;
  for (double norm : recent)
    variance += (norm - mean) * (norm - mean) / count;
  return mean + sigma * std::sqrt(variance);
}

void OutlierGuard::add(double norm) {
  if (!std::isfinite(norm))
    return;
  if (recent.size() == window)
    recent.erase(recent.begin());
  recent.push_back(norm);
}
