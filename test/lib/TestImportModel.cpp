// test-import-model: shows what models/Import.h makes of a MODEL argument.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/GPT2/GPT2Dialect.h"
#include "models/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::gpt2c;

namespace {

/// Replaces the module by the imported one.
class ImportModel : public PassWrapper<ImportModel, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ImportModel)

  ImportModel() = default;
  ImportModel(const ImportModel &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "test-import-model"; }
  StringRef getDescription() const override {
    return "Replace the module by an imported model";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<gpt2::GPT2Dialect, func::FuncDialect>();
  }

  void runOnOperation() override {
    BuildOptions options;
    options.mode = train  ? GraphMode::Train
                   : eval ? GraphMode::Eval
                          : GraphMode::Generate;
    options.batch = batch;
    options.seq = seq;
    options.chunk = chunk;
    options.buckets.assign(buckets.begin(), buckets.end());
    options.seqBuckets.assign(seqBuckets.begin(), seqBuckets.end());
    options.halveSeq = halveSeq;
    if (dropout.hasValue())
      options.dropout = dropout;
    auto imported = importModel(getContext(), model, options);
    if (!imported.ok()) {
      getOperation().emitError(imported.status().message());
      return signalPassFailure();
    }
    ModuleOp module = getOperation();
    module->setAttrs((**imported)->getAttrDictionary());
    module.getBodyRegion().takeBody((*imported)->getBodyRegion());
  }

private:
  Option<std::string> model{*this, "model", llvm::cl::desc("MODEL argument")};
  Option<bool> eval{*this, "eval", llvm::cl::desc("Build the eval program")};
  Option<bool> train{*this, "train",
                     llvm::cl::desc("Build the training programs")};
  Option<double> dropout{*this, "dropout", llvm::cl::desc("In training")};
  Option<int64_t> batch{*this, "batch", llvm::cl::desc("Sequences"),
                        llvm::cl::init(1)};
  Option<int64_t> seq{*this, "seq", llvm::cl::desc("Positions"),
                      llvm::cl::init(0)};
  Option<int64_t> chunk{*this, "chunk", llvm::cl::desc("Prefill tokens"),
                        llvm::cl::init(0)};
  ListOption<int64_t> buckets{*this, "buckets",
                              llvm::cl::desc("Decode batch sizes")};
  ListOption<int64_t> seqBuckets{*this, "seq-buckets",
                                 llvm::cl::desc("Shorter training sequences")};
  Option<bool> halveSeq{*this, "halve-seq",
                        llvm::cl::desc("Halves of seq in their place")};
};

} // namespace

namespace mlir::gpt2c::test {
void registerImportModelPass() { PassRegistration<ImportModel>(); }
} // namespace mlir::gpt2c::test
