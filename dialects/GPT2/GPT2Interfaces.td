// What passes ask of a gpt2 op: precision class, cost and decomposition.
// SPDX-License-Identifier: Apache-2.0

#ifndef GPT2_INTERFACES_TD
#define GPT2_INTERFACES_TD

include "mlir/IR/OpBase.td"

def PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::mlir::gpt2";
  let description = [{
    How `mixed-precision` treats an op's float operands and results:
    *allow* computes in the low type, *deny* in f32, *infer* in the widest of
    its operands' types.
  }];
  let methods = [
    InterfaceMethod<"The op's precision class.",
      "::mlir::gpt2::PrecisionClass", "getPrecisionClass">,
    InterfaceMethod<[{
      Whether the operand is read in whatever type it is stored in (tables,
      vectors, weights, caches) and so is never cast.
    }], "bool", "isStorageOperand", (ins "unsigned":$operand), "",
      [{ return false; }]>,
    InterfaceMethod<[{
      Whether the result is f32 whatever the operands are (accumulators and
      statistics that are not rounded).
    }], "bool", "isF32Result", (ins "unsigned":$result), "",
      [{ return false; }]>,
    InterfaceMethod<[{
      The storage operand whose element type the result keeps, because it takes
      the operand's place (an accumulator, logits that become their gradient).
    }], "std::optional<unsigned>", "getTypeSource", (ins "unsigned":$result),
      "", [{ return std::nullopt; }]>
  ];
}

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::mlir::gpt2";
  let description = [{
    Work and traffic of one execution, from static shapes. The defaults count
    every operand and result once.
  }];
  let methods = [
    InterfaceMethod<"Floating-point operations (a multiply-add is two).",
      "int64_t", "getFlops">,
    InterfaceMethod<"Bytes read.", "int64_t", "getBytesRead", (ins), "",
      [{ return ::mlir::gpt2::sumBytes($_op->getOperandTypes()); }]>,
    InterfaceMethod<"Bytes written.", "int64_t", "getBytesWritten", (ins), "",
      [{ return ::mlir::gpt2::sumBytes($_op->getResultTypes()); }]>
  ];
}

def DecomposeOpInterface : OpInterface<"DecomposeOpInterface"> {
  let cppNamespace = "::mlir::gpt2";
  let description = [{
    The op as `linalg.generic` ops in the normal form of docs/architecture.md:
    the one definition of its arithmetic. Rows of a decomposable op do not
    depend on each other, except that a column result sums over them.
  }];
  let methods = [
    InterfaceMethod<[{
      How the operand appears in the normal form: `Row` operands have the row
      dimension first (`?xC`, `?x1`), `Column` ones are `1xC`, `Scalar` ones
      `1x1`; a `Table` keeps its static shape and may be read at any row.
    }], "::mlir::gpt2::OperandForm", "getOperandForm",
      (ins "unsigned":$operand)>,
    InterfaceMethod<[{
      Whether each element of the results needs only its own row and column of
      the `Row` operands, so that a part of the columns can be computed alone.
    }], "bool", "isElementwise", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
      Whether the result holds partial sums over blocks of rows: the op's result
      is `tensor<CxBxf32>`, where block i of the B covers rows R * i / B up to
      R * (i + 1) / B, and its decomposition is `tensor<1xC>`.
    }], "bool", "isColumnResult", (ins "unsigned":$result), "",
      [{ return false; }]>,
    InterfaceMethod<[{
      Builds the decomposition over operands in the normal form. `rows` is the
      row count (index). Returns one value a result, in the normal form.
    }], "::llvm::SmallVector<::mlir::Value>", "decompose",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::ValueRange":$operands, "::mlir::Value":$rows)>
  ];
}

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mlir::gpt2";
  let description = [{
    An op that `build-training` can differentiate. An op without the interface
    may take part in a training program only where the loss does not depend on
    parameters through it.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the gradients of the operands and hands them to `gradients`. Those
      of the results are null where the loss does not depend on a result. An op
      that must compute more for its gradient builds another one in front of
      itself and gives that its uses. Errors are diagnostics.
    }], "::llvm::LogicalResult", "buildBackward",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$gradients,
           "::mlir::gpt2::GradientBuilder &":$gradientBuilder)>,
    InterfaceMethod<[{
      The losses of the rows, where their sum is what training minimizes;
      null for every other op.
    }], "::mlir::Value", "getLoss", (ins), "", [{ return {}; }]>
  ];
}

def RecomputeOpInterface : OpInterface<"RecomputeOpInterface"> {
  let cppNamespace = "::mlir::gpt2";
  let description = [{
    How `rematerialize` computes results again. An op without the interface is
    cloned.
  }];
  let methods = [
    InterfaceMethod<[{
      Whether the result is a statistic of rows: small, and the sum of a whole
      row. Such a result is kept and never computed again.
    }], "bool", "isRowStatistic", (ins "unsigned":$result)>,
    InterfaceMethod<[{
      Builds result number `result` from the op's operands and its row
      statistics (`results`, null elsewhere) with the op's own arithmetic, so
      that the value is equal to the bit. Null: clone the op.
    }], "::mlir::Value", "recompute",
      (ins "::mlir::OpBuilder &":$builder, "unsigned":$result,
           "::mlir::ValueRange":$operands, "::mlir::ValueRange":$results),
      "", [{ return {}; }]>
  ];
}

#endif // GPT2_INTERFACES_TD
