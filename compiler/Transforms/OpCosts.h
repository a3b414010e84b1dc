// Seconds that ops take: measured ones from a table, or from work and traffic.
// SPDX-License-Identifier: Apache-2.0
#ifndef GPT2C_COMPILER_TRANSFORMS_OPCOSTS_H
#define GPT2C_COMPILER_TRANSFORMS_OPCOSTS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace mlir::gpt2c {

/// What ops of one time have in common, but for how many rows they work on.
struct OpClass {
  /// "linear Rx16xf32 32x16xf32 -> f32"; a fused region is called by its ops,
  /// "add+layer_norm". Attention's has the tokens of a sequence and the heads.
  std::string key;
  int64_t rows = 0; ///< R, or 0 where nothing counts rows

  static OpClass of(Operation *op);
};

class OpCosts {
public:
  /// Of a device with these rates, in operations and bytes a second.
  OpCosts(double flopRate, double byteRate)
      : flopRate(flopRate), byteRate(byteRate) {}

  /// Reads what `gpt2-run profile --costs` writes: for keys of op classes
  /// lists of [rows, microseconds], and the rates for what is not among them.
  /// The path "h200" is the table that comes with the compiler.
  llvm::Error readTable(StringRef path);

  /// A measured time, or the longer of work and traffic. Between two measured
  /// numbers of rows times lie on a line, beyond them they grow with the rows.
  double secondsOf(Operation *op) const;
  double secondsOf(double flops, double bytes) const {
    return std::max(flops / flopRate, bytes / byteRate);
  }
  bool isMeasured(Operation *op) const;

private:
  struct Point {
    double rows, seconds;
  };
  using Points = SmallVector<Point, 1>; // by rows

  llvm::Error addTable(const llvm::json::Value &table);
  llvm::Error addPoints(StringRef key, const llvm::json::Value &list);
  static double secondsAt(const Points &points, double rows);

  double flopRate, byteRate;
  llvm::StringMap<Points> measured;
};

} // namespace mlir::gpt2c

#endif // GPT2C_COMPILER_TRANSFORMS_OPCOSTS_H
