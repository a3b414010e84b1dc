//===- InstructionTimes.cpp - What benchmarks make of times ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Device/InstructionTimes.h"

#include <algorithm>
#include <map>

using namespace gpt2rt;

double gpt2rt::median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2)
    return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::vector<InstructionTime>
gpt2rt::summedByKind(const std::vector<InstructionTime> &times) {
  std::map<std::string, InstructionTime> sums;
  for (const InstructionTime &time : times) {
    InstructionTime &sum =
        sums.try_emplace(time.what, InstructionTime{time.what, 0, 0})
            .first->second;
    sum.seconds += time.seconds;
    sum.count += time.count;
  }
  std::vector<InstructionTime> result;
  for (auto &[what, sum] : sums)
    result.push_back(std::move(sum));
  std::stable_sort(result.begin(), result.end(),
                   [](const InstructionTime &a, const InstructionTime &b) {
                     return a.seconds > b.seconds;
                   });
  return result;
}
