// Seconds that ops take: measured ones from a table, or from work and traffic.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_COMPILER_TRANSFORMS_OPCOSTS_H
#define GPT2C_COMPILER_TRANSFORMS_OPCOSTS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace mlir::gpt2c {

class OpCosts {
public:
  /// Of a device with these rates, in operations and bytes a second.
  OpCosts(double flopRate, double byteRate)
      : flopRate(flopRate), byteRate(byteRate) {}

  /// Reads a table of measured times: a JSON object whose keys are `keyOf` of
  /// ops and whose values are microseconds.
  llvm::Error readTable(StringRef path);

  /// A measured time, or the longer of work and traffic.
  double secondsOf(Operation *op) const;
  double secondsOf(double flops, double bytes) const {
    return std::max(flops / flopRate, bytes / byteRate);
  }

  /// "linear 8x16xf32 32x16xf32 -> 8x32xf32"; a fused region is called by its
  /// ops, "add+layer_norm".
  static std::string keyOf(Operation *op);

private:
  double flopRate, byteRate;
  llvm::StringMap<double> measured;
};

} // namespace mlir::gpt2c

#endif // GPT2C_COMPILER_TRANSFORMS_OPCOSTS_H
