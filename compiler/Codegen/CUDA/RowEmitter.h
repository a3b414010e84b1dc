//===- RowEmitter.h - Row programs as CUDA C++ ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Prints a row program (RowProgram.h) in a layout (RowLayout.h). The code
// around it declares the pointers, `active` (bool: this thread stores), `row`
// (int, in range; but not for the block layout, which loops over rows), where a
// row has several threads `lane`, and for the flat layout `c`, the vector's
// number in its row.
//
// Names: p0, p1, ... inputs; q0, q1, ... outputs; v a tensor's values, either
// one vector or one per step of the lane; s a row's scalar; t an element's.
//
//===----------------------------------------------------------------------===//
#ifndef GPT2C_CODEGEN_CUDA_ROWEMITTER_H
#define GPT2C_CODEGEN_CUDA_ROWEMITTER_H

#include "compiler/Codegen/CUDA/RowLayout.h"
#include "compiler/Codegen/CUDA/RowProgram.h"
#include "compiler/Codegen/CUDA/ScalarPrinter.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::plan {
class KernelOp;
}

namespace mlir::gpt2c {

class RowEmitter {
public:
  /// Input i is read through `inputNames[i]`, output i written through
  /// `outputNames[i]`: pointers to elements, rows of C one after another.
  RowEmitter(const RowProgram &program, const RowLayout &layout,
             ArrayRef<std::string> inputNames,
             ArrayRef<std::string> outputNames, llvm::raw_ostream &os);

  /// Reads input i from the variable `name`, a Pack<T, vector>, instead of
  /// memory (flat layout).
  void bindInput(unsigned i, std::string name);

  /// Loads and computes everything and stores the outputs.
  LogicalResult emit();

  /// The same for a program with column sums: walks over the rows of a block,
  /// [first, end), `group` of `groups` taking each groups-th.
  LogicalResult emitRowBlock();

  /// The flat layout's parts, for code that loads ahead: one vector of each
  /// one-a-column input; the other inputs; the rest.
  void emitColumnLoads();
  void emitRowLoads();
  LogicalResult emitFlatCompute();

private:
  bool isFlat() const { return layout.kind == RowLayout::Flat; }
  bool keepsValues() const { return layout.kind == RowLayout::Registers; }
  bool isShared() const { return layout.kind == RowLayout::Shared; }
  std::string packType(Value tensor) const;
  std::string reference(Value tensor) const;

  bool isBlock() const { return layout.kind == RowLayout::Block; }
  bool isRowScalar(Value input) const;
  std::string scalarLoad(Value input, StringRef row) const;
  unsigned numberOf(Value input) const;
  void emitScalarLoads();
  LogicalResult emitRow();
  LogicalResult emitBlock();
  void emitEarlierReductions(unsigned pass);
  void emitRegisterLoads();
  void declareInputs(StringRef prefix, llvm::DenseMap<Value, std::string> &to,
                     unsigned count);
  void loadInputs(const llvm::DenseMap<Value, std::string> &to, StringRef row,
                  StringRef place);
  void declareLoadedRows();
  void loadRows(StringRef round);
  void takeRows();
  void takeRow();
  void prefetchRow();
  void stageRow(StringRef row);
  void takeStagedRow();
  void declareColumnSums();
  void finishColumnSums();
  void finishSingle(Value sum, StringRef output);
  void finishColumns(Value sum, StringRef output);
  LogicalResult emitRowOps(unsigned pass);
  LogicalResult emitPass(unsigned pass);
  void beginLoop() { beginLoop(0, layout.vectors); }
  void beginLoop(int64_t from, int64_t to);
  void endLoop();
  void emitVectorLoad(Value input);
  LogicalResult emitOverColumns(linalg::GenericOp op);
  LogicalResult emitElements(linalg::GenericOp op,
                             ArrayRef<Operation *> perElement);
  LogicalResult emitElementLoop(linalg::GenericOp op,
                                ArrayRef<Operation *> perElement,
                                ArrayRef<std::string> results);
  LogicalResult emitWideElements(linalg::GenericOp op,
                                 ArrayRef<Operation *> perElement,
                                 ArrayRef<std::string> results);
  bool emitPackMaximum(linalg::GenericOp op);
  int64_t assumeBound(ArrayRef<linalg::GenericOp> operations);
  LogicalResult emitColumns(ArrayRef<linalg::GenericOp> operations,
                            ArrayRef<Value> loads, ArrayRef<Value> copies,
                            bool last);
  LogicalResult emitOncePerRow(linalg::GenericOp op);
  LogicalResult emitBodyOp(Operation &op);
  LogicalResult emitExtract(tensor::ExtractOp op);
  bool emitVectorExtract(tensor::ExtractOp op);
  void declareAccumulators(linalg::GenericOp op);
  void finishReduction(linalg::GenericOp op);
  void combineInit(linalg::GenericOp op, unsigned result);
  void storeElements(Value tensor);
  void emitRowStores();
  SmallVector<linalg::GenericOp> operationsOf(unsigned pass) const;

  const RowProgram &program;
  RowLayout layout;
  SmallVector<std::string> inputNames;
  SmallVector<std::string> outputNames;
  llvm::raw_ostream &os;
  ScalarPrinter scalars;
  /// Variables of tensors: a row's scalar or a vector of elements.
  llvm::DenseMap<Value, std::string> variables;
  /// Inputs of the next round's rows and of this one's; inputs that lie in
  /// shared memory by now.
  llvm::DenseMap<Value, std::string> nextInputs, roundInputs;
  llvm::SetVector<Value> held;
  /// Comparisons whose outcome the code at hand knows: "true" or "false".
  llvm::DenseMap<Operation *, StringRef> assumed;
  /// Block layout: shared memory that holds a reduction's value of each warp.
  llvm::DenseMap<Value, std::string> partials;
};

/// A whole `row` kernel after the preamble.
LogicalResult emitRowKernel(plan::KernelOp kernel, llvm::raw_ostream &os);

/// "const half *p0" and "float *q0" for a kernel's parameter list.
std::string parameter(Value tensor, llvm::StringRef name, bool isOutput);

} // namespace mlir::gpt2c

#endif // GPT2C_CODEGEN_CUDA_ROWEMITTER_H
