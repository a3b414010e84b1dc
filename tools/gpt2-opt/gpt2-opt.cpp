// mlir-opt for this project's dialects and passes.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Pipelines/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#ifdef GPT2_TEST_PASSES
namespace mlir::gpt2c::test {
void registerImportModelPass();
void registerOutlineKernelsPass();
} // namespace mlir::gpt2c::test
#endif

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::gpt2c::registerAllDialects(registry);
  mlir::gpt2c::registerAllPasses();
#ifdef GPT2_TEST_PASSES
  mlir::gpt2c::test::registerImportModelPass();
  mlir::gpt2c::test::registerOutlineKernelsPass();
#endif
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "gpt2-opt: GPT-2 dialects and passes\n", registry));
}
