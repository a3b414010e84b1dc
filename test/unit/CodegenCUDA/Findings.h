//===- Findings.h - The first thing wrong with a kernel's results -*-C++-*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2_TEST_UNIT_CODEGENCUDA_FINDINGS_H
#define GPT2_TEST_UNIT_CODEGENCUDA_FINDINGS_H

#include "RowKernelChecks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gpt2test {

/// Remembers the first mismatch.
struct Findings {
  std::string text;

  void near(const std::string &what, size_t i, double got, double want,
            double slack) {
    if (text.empty() && !(std::fabs(got - want) <= slack))
      text = what + ", element " + std::to_string(i) + ": " +
             std::to_string(got) + ", not " + std::to_string(want);
  }
  /// Within a rounding of the buffer's type.
  void rounded(const std::string &what, const Buffer &buffer, size_t i,
               double want) {
    double epsilon = buffer.type == gpt2rt::DType::F32   ? 2e-6
                     : buffer.type == gpt2rt::DType::F16 ? 1e-3
                                                         : 8e-3;
    near(what, i, buffer.get(i), want,
         epsilon * std::max(1.0, std::fabs(want)));
  }
  void equalBytes(const std::string &what, const Buffer &a, const Buffer &b,
                  size_t elements) {
    if (text.empty() && std::memcmp(a.bytes.data(), b.bytes.data(),
                                    elements * sizeOf(a.type)) != 0)
      text = what + " differ in their bits";
  }
  /// By the norm of the difference.
  void relative(const std::string &what, const Buffer &got,
                const std::vector<double> &want, double limit) {
    double difference = 0, norm = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      difference += std::pow(got.get(i) - want[i], 2);
      norm += want[i] * want[i];
    }
    double error = std::sqrt(difference / norm);
    if (text.empty() && !(error <= limit))
      text = what + " is off by " + std::to_string(error) + " of its norm";
  }
};

} // namespace gpt2test

#endif // GPT2_TEST_UNIT_CODEGENCUDA_FINDINGS_H
