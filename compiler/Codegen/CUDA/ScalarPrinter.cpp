//===- ScalarPrinter.cpp - arith and math ops as CUDA C++ -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/ScalarPrinter.h"
#include "compiler/Codegen/CUDA/CudaText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::gpt2c;
using llvm::StringRef;
using llvm::Twine;

/// An integer constant of a C type at least as wide as int.
static std::string integerLiteral(const llvm::APInt &value, Type type) {
  if (type.isInteger(1))
    return value.isZero() ? "false" : "true";
  // The lowest value has no literal of its own type.
  if (value.isMinSignedValue() && value.getBitWidth() >= 32)
    return value.getBitWidth() == 32 ? "(-2147483647 - 1)"
                                     : "(-9223372036854775807ll - 1)";
  std::string digits = llvm::toString(value, 10, /*Signed=*/true);
  bool isLong = type.isIndex() || type.isInteger(64);
  return digits[0] == '-' ? "(" + digits + (isLong ? "ll)" : ")")
                          : digits + (isLong ? "ll" : "");
}

std::string ScalarPrinter::text(Value value) const {
  if (auto it = names.find(value); it != names.end())
    return it->second;
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return "";
  if (auto number = dyn_cast<FloatAttr>(constant))
    return floatLiteral(number.getValue());
  if (auto integer = dyn_cast<IntegerAttr>(constant))
    return integerLiteral(integer.getValue(), integer.getType());
  return "";
}

std::string ScalarPrinter::freshName(StringRef prefix) {
  return (prefix + Twine(nextName++)).str();
}

void ScalarPrinter::declare(Value value, const Twine &expression) {
  std::string name = freshName();
  os << "const " << cudaScalarType(value.getType()) << " " << name << " = "
     << expression << ";\n";
  bind(value, name);
}

LogicalResult ScalarPrinter::print(Operation &op) {
  if (isa<arith::ConstantOp>(op))
    return success();
  if (op.getNumResults() != 1 || op.getNumOperands() == 0 ||
      cudaScalarType(op.getResult(0).getType()).empty())
    return op.emitOpError("has no scalar form in CUDA code");
  for (Value operand : op.getOperands())
    if (text(operand).empty())
      return op.emitOpError("uses a value that its kernel does not compute "
                            "per element");
  if (succeeded(printFloat(op)) || succeeded(printInteger(op)) ||
      succeeded(printConversion(op)))
    return success();
  return op.emitOpError("has no CUDA form; the scalar operations that row "
                        "kernels may use are listed in docs/architecture.md");
}

/// C's comparison, with NaN as `predicate` wants it.
static std::string floatComparison(arith::CmpFPredicate predicate,
                                   const std::string &a, const std::string &b) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse:
    return "false";
  case P::AlwaysTrue:
    return "true";
  case P::OEQ:
    return a + " == " + b;
  case P::OGT:
    return a + " > " + b;
  case P::OGE:
    return a + " >= " + b;
  case P::OLT:
    return a + " < " + b;
  case P::OLE:
    return a + " <= " + b;
  case P::ONE:
    return a + " < " + b + " || " + a + " > " + b;
  case P::ORD:
    return a + " == " + a + " && " + b + " == " + b;
  case P::UEQ:
    return "!(" + a + " < " + b + " || " + a + " > " + b + ")";
  case P::UGT:
    return "!(" + a + " <= " + b + ")";
  case P::UGE:
    return "!(" + a + " < " + b + ")";
  case P::ULT:
    return "!(" + a + " >= " + b + ")";
  case P::ULE:
    return "!(" + a + " > " + b + ")";
  case P::UNE:
    return a + " != " + b;
  case P::UNO:
    return a + " != " + a + " || " + b + " != " + b;
  }
  return "";
}

LogicalResult ScalarPrinter::printFloat(Operation &op) {
  Value result = op.getResult(0);
  std::string a = text(op.getOperand(0));
  std::string b = op.getNumOperands() > 1 ? text(op.getOperand(1)) : "";
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    declare(result, floatComparison(compare.getPredicate(), a, b));
    return success();
  }
  // Arithmetic in 16 bits would need a rounding that is not written down.
  if (!result.getType().isF32())
    return failure();
  StringRef name = op.getName().getStringRef();
  StringRef infix = llvm::StringSwitch<StringRef>(name)
                        .Case("arith.addf", " + ")
                        .Case("arith.subf", " - ")
                        .Case("arith.mulf", " * ")
                        .Case("arith.divf", " / ")
                        .Default("");
  StringRef function = llvm::StringSwitch<StringRef>(name)
                           .Case("arith.maximumf", "maxNan")
                           .Case("arith.minimumf", "minNan")
                           .Case("arith.maxnumf", "fmaxf")
                           .Case("arith.minnumf", "fminf")
                           .Case("math.absf", "fabsf")
                           .Case("math.sqrt", "sqrtf")
                           .Case("math.floor", "floorf")
                           .Case("math.ceil", "ceilf")
                           .Case("math.trunc", "truncf")
                           .Case("math.roundeven", "rintf")
                           .Case("math.copysign", "copysignf")
                           .Case("math.fma", "fmaf")
                           .Case("math.exp2", "exp2Approx")
                           .Default("");
  auto quotient = dyn_cast<arith::DivFOp>(op);
  if (quotient && arith::bitEnumContainsAny(quotient.getFastmath(),
                                            arith::FastMathFlags::arcp))
    declare(result, "divideApprox(" + Twine(a) + ", " + b + ")");
  else if (!infix.empty())
    declare(result, Twine(a) + infix + b);
  else if (name == "arith.negf")
    declare(result, "-" + Twine(a));
  else if (name == "math.rsqrt")
    // Two correctly rounded steps, as LLVM expands it; rsqrtf is not.
    declare(result, "1.0f / sqrtf(" + Twine(a) + ")");
  else if (!function.empty())
    declare(result, function + "(" +
                        llvm::join(llvm::map_range(op.getOperands(),
                                                   [&](Value operand) {
                                                     return text(operand);
                                                   }),
                                   ", ") +
                        ")");
  else
    return failure();
  return success();
}

/// The same width without a sign: wrap-around is defined there.
static StringRef unsignedType(Type type) {
  if (type.isInteger(32))
    return "unsigned";
  if (type.isInteger(64) || type.isIndex())
    return "unsigned long long";
  if (type.isInteger(8))
    return "unsigned char";
  return "";
}

static std::string integerComparison(arith::CmpIPredicate predicate,
                                     std::string a, std::string b,
                                     StringRef unsignedName) {
  using P = arith::CmpIPredicate;
  if (predicate >= P::ult) {
    a = ("(" + unsignedName + ")" + a).str();
    b = ("(" + unsignedName + ")" + b).str();
  }
  switch (predicate) {
  case P::eq:
    return a + " == " + b;
  case P::ne:
    return a + " != " + b;
  case P::slt:
  case P::ult:
    return a + " < " + b;
  case P::sle:
  case P::ule:
    return a + " <= " + b;
  case P::sgt:
  case P::ugt:
    return a + " > " + b;
  case P::sge:
  case P::uge:
    return a + " >= " + b;
  }
  return "";
}

LogicalResult ScalarPrinter::printInteger(Operation &op) {
  Value result = op.getResult(0);
  std::string a = text(op.getOperand(0));
  std::string b = op.getNumOperands() > 1 ? text(op.getOperand(1)) : "";
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    Type type = compare.getLhs().getType();
    declare(result, integerComparison(compare.getPredicate(), a, b,
                                      type.isInteger(1) ? "unsigned"
                                                        : unsignedType(type)));
    return success();
  }
  if (isa<arith::SelectOp>(op)) {
    declare(result, Twine(a) + " ? " + b + " : " + text(op.getOperand(2)));
    return success();
  }
  if (!result.getType().isIntOrIndex() || op.getNumOperands() != 2)
    return failure();
  StringRef name = op.getName().getStringRef();
  bool isBool = result.getType().isInteger(1);
  std::string word = isBool ? "bool" : unsignedType(result.getType()).str();
  if (word.empty())
    return failure();
  StringRef wrapping = llvm::StringSwitch<StringRef>(name)
                           .Case("arith.addi", isBool ? "" : " + ")
                           .Case("arith.subi", isBool ? "" : " - ")
                           .Case("arith.muli", isBool ? "" : " * ")
                           .Case("arith.andi", " & ")
                           .Case("arith.ori", " | ")
                           .Case("arith.xori", " ^ ")
                           .Case("arith.shli", isBool ? "" : " << ")
                           .Case("arith.shrui", isBool ? "" : " >> ")
                           .Case("arith.divui", isBool ? "" : " / ")
                           .Case("arith.remui", isBool ? "" : " % ")
                           .Default("");
  StringRef plain = llvm::StringSwitch<StringRef>(name)
                        .Case("arith.divsi", " / ")
                        .Case("arith.remsi", " % ")
                        .Case("arith.shrsi", " >> ")
                        .Default("");
  StringRef order = llvm::StringSwitch<StringRef>(name)
                        .Cases({"arith.maxsi", "arith.maxui"}, " > ")
                        .Cases({"arith.minsi", "arith.minui"}, " < ")
                        .Default("");
  std::string cast = "(" + word + ")";
  std::string type = ("(" + cudaScalarType(result.getType()) + ")").str();
  if (!wrapping.empty())
    declare(result, Twine(type) + "(" + cast + a + wrapping + cast + b + ")");
  else if (!plain.empty() && !isBool)
    declare(result, Twine(a) + plain + b);
  else if (!order.empty() && name.ends_with("si"))
    declare(result, Twine(a) + order + b + " ? " + a + " : " + b);
  else if (!order.empty())
    declare(result, Twine(cast) + a + order + cast + b + " ? " + a + " : " + b);
  else
    return failure();
  return success();
}

LogicalResult ScalarPrinter::printConversion(Operation &op) {
  Value result = op.getResult(0);
  std::string a = text(op.getOperand(0));
  Type from = op.getOperand(0).getType(), to = result.getType();
  std::string cast = ("(" + cudaScalarType(to) + ")").str();
  if (isa<arith::ExtFOp>(op)) {
    bind(result, a);
  } else if (isa<arith::TruncFOp>(op)) {
    declare(result, "roundTo<" + cudaElementType(to) + ">(" + a + ")");
  } else if (isa<arith::BitcastOp>(op) && from.isF32() && to.isInteger(32)) {
    declare(result, "(int)asUint(" + Twine(a) + ")");
  } else if (isa<arith::BitcastOp>(op) && from.isInteger(32) && to.isF32()) {
    declare(result, "asFloat((unsigned)" + Twine(a) + ")");
  } else if (isa<arith::SIToFPOp>(op) && to.isF32()) {
    declare(result, Twine(cast) + a);
  } else if (isa<arith::UIToFPOp>(op) && to.isF32()) {
    bool isBool = from.isInteger(1);
    declare(result, Twine(cast) + "(" +
                        (isBool ? StringRef("unsigned") : unsignedType(from)) +
                        ")" + a);
  } else if (isa<arith::FPToSIOp, arith::IndexCastOp, arith::TruncIOp>(op)) {
    declare(result,
            to.isInteger(1) ? "(" + Twine(a) + " & 1) != 0" : Twine(cast) + a);
  } else if (isa<arith::ExtSIOp>(op)) {
    // A true i1 is -1.
    declare(result, Twine(cast) + (from.isInteger(1) ? "-(int)" : "") + a);
  } else if (isa<arith::ExtUIOp, arith::IndexCastUIOp>(op)) {
    declare(result, Twine(cast) + "(" +
                        (from.isInteger(1) ? StringRef("unsigned")
                                           : unsignedType(from)) +
                        ")" + a);
  } else {
    return failure();
  }
  return success();
}
