//===- ProgramBuilder.h - One program of a GPT-2 model ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2C_MODELS_PROGRAMBUILDER_H
#define GPT2C_MODELS_PROGRAMBUILDER_H

#include "dialects/GPT2/GPT2Ops.h"
#include "models/ModelConfig.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::gpt2c {

/// Where a program's rows stand and which cache rows they use.
struct Sequences {
  int64_t batch = 1;
  Value starts; ///< position of each sequence's first token; null: 0
  Value count;  ///< valid tokens, where fewer than all may be
  Value slot;   ///< cache row of the only sequence
};

/// Builds one program. Globals are read where they are first asked for, before
/// everything that computes.
class ProgramBuilder {
public:
  ProgramBuilder(ModuleOp module, const SymbolTable &symbols, StringRef name,
                 const gpt2rt::ModelConfig &config, gpt2::ProgramAttr program);

  void buildPrefill(int64_t chunk);
  void buildDecode(int64_t batch);
  void buildEval(int64_t batch, int64_t rows);
  void buildTraining(int64_t batch, int64_t rows);
  void buildTrainingSample(int64_t tokens);

private:
  /// The global `name`, or its first `rows` rows.
  Value read(StringRef name, int64_t rows = 0);
  void write(StringRef name, Value value);

  Value embed(Value tokens, const Sequences &at);
  void hashDropoutKeys();
  /// `x`, parts of it dropped in training. Each place has its own `id`.
  Value dropout(Value x, StringRef name, double probability, int32_t id,
                const Sequences &at);
  Value layerNorm(Value x, StringRef name);
  Value linear(Value x, StringRef name, bool f32Result = false);
  Value attention(Value qkv, int64_t layer, const Sequences &at);
  Value layer(Value x, int64_t index, const Sequences &at);
  /// Marks the ops behind `before` as part of a layer.
  void numberLayer(Operation *before, int64_t index);
  /// The layers; of one row, the last valid one, where there is a `count`.
  Value layers(Value x, const Sequences &at);
  Value lastRow(Value x, const Sequences &at);
  /// Final norm and product with the head.
  Value logits(Value x, bool f32Result = true);
  Value loss(Value logits, Value targets);
  void sample(Value logits, int64_t slots, const Sequences &at, int64_t limit);
  /// Positions that the caches hold.
  int64_t cachedPositions();
  void finish();

  Location locate(StringRef name) {
    return NameLoc::get(builder.getStringAttr(name));
  }
  RankedTensorType matrix(int64_t rows, int64_t columns) {
    return RankedTensorType::get({rows, columns}, builder.getF32Type());
  }
  static int64_t rowsOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getDimSize(0);
  }

  const SymbolTable &symbols;
  const gpt2rt::ModelConfig &config;
  bool isTraining; ///< only then values are dropped and layers numbered
  OpBuilder builder;
  Block *block;
  gpt2::ReadOp lastRead;
  llvm::StringMap<Value> values;
  DenseMap<int32_t, Value> dropoutKeys; ///< by the dropout's number
  SmallVector<std::pair<std::string, Value>> caches;
};

} // namespace mlir::gpt2c

#endif // GPT2C_MODELS_PROGRAMBUILDER_H
