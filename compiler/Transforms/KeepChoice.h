// Which candidate each layer of a training program takes: exact dynamic
// programming over (layer, bytes). Plain C++: knows nothing of MLIR.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_COMPILER_TRANSFORMS_KEEPCHOICE_H
#define GPT2C_COMPILER_TRANSFORMS_KEEPCHOICE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mlir::gpt2c {

/// One way to treat a layer.
struct KeepCandidate {
  int64_t kept = 0;   ///< bytes from its forward to its backward half
  int64_t need = 0;   ///< most bytes live in either half, without other layers
  double seconds = 0; ///< of computing again what is not kept
};

/// The candidates of all layers, first layer first, and what is live where no
/// layer is at work.
struct KeepProblem {
  std::vector<std::vector<KeepCandidate>> layers;
  int64_t middle = 0;  ///< most bytes between the halves, without the layers'
  int64_t outside = 0; ///< most bytes before the first and after the last
};

struct KeepChoice {
  std::vector<size_t> candidates; ///< one a layer
  int64_t peak = 0;               ///< most bytes live
  double seconds = 0;
};

/// Removes candidates that another one beats or equals in everything; returns
/// the indices of the rest.
std::vector<size_t> paretoOptimal(std::span<const KeepCandidate> candidates);

/// Most bytes live under a choice of one candidate a layer.
int64_t peakOf(const KeepProblem &problem, std::span<const size_t> candidates);

/// The cheapest choice that never has more than `budget` bytes live; nothing
/// where there is none. Exact while no more than `maxKeepStates` sums of bytes
/// are worth telling apart, which GPT-2's equal layers stay far below.
std::optional<KeepChoice> chooseKept(const KeepProblem &problem,
                                     int64_t budget);
inline constexpr size_t maxKeepStates = 8192;

/// The smallest budget that chooseKept() can meet.
int64_t leastPeak(const KeepProblem &problem);

} // namespace mlir::gpt2c

#endif // GPT2C_COMPILER_TRANSFORMS_KEEPCHOICE_H
