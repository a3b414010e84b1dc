//===- ScalarPrinter.h - arith and math ops as CUDA C++ ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Prints the scalar operations of a region one declaration a line, in program
// order and with no contraction, so that their results are those of the same
// operations on the CPU target, bit for bit. 16-bit floats live in `float`
// variables; a truncf rounds.
//
//===----------------------------------------------------------------------===//
#ifndef GPT2C_CODEGEN_CUDA_SCALARPRINTER_H
#define GPT2C_CODEGEN_CUDA_SCALARPRINTER_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::gpt2c {

class ScalarPrinter {
public:
  explicit ScalarPrinter(llvm::raw_ostream &os) : os(os) {}

  /// Makes `value` print as `text`, a variable or a parenthesised expression.
  void bind(Value value, std::string text) { names[value] = std::move(text); }

  /// The text of a bound value or of a constant; empty if it is neither.
  std::string text(Value value) const;

  /// A name that no other value of this printer has: "t12".
  std::string freshName(llvm::StringRef prefix = "t");

  /// Declares `const TYPE name = expression;` and binds the value to it.
  void declare(Value value, const llvm::Twine &expression);

  /// Prints one operation; an unsupported one is an error on it.
  LogicalResult print(Operation &op);

private:
  LogicalResult printFloat(Operation &op);
  LogicalResult printInteger(Operation &op);
  LogicalResult printConversion(Operation &op);

  llvm::raw_ostream &os;
  llvm::DenseMap<Value, std::string> names;
  unsigned nextName = 0;
};

} // namespace mlir::gpt2c

#endif // GPT2C_CODEGEN_CUDA_SCALARPRINTER_H
