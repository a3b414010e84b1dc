//===- KernelTemplate.h - Hand-written kernels by name ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A template is a .cuh file under Templates/ that is embedded at build time
// and instantiated by macros: each entry of the plan.kernel's `config`
// dictionary becomes `#define KEY value` with KEY in capitals, and
// `KERNEL_NAME` is the entry's name:
//
//   integer 64 -> 64       float 0.125 -> 0x1p-3f     bool -> 1 or 0
//   type f32 -> float      f16 -> half    bf16 -> bf16     i32 -> int
//   string "x" -> x
//
// The preamble (Templates/preamble.cuh) precedes it. To add a template: write
// Templates/NAME.cuh and Templates/NAME.cpp with `const KernelTemplate
// &nameTemplate()`, and name both in CMakeLists.txt and TemplateRegistry.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef GPT2C_CODEGEN_CUDA_KERNELTEMPLATE_H
#define GPT2C_CODEGEN_CUDA_KERNELTEMPLATE_H

#include "compiler/Codegen/CUDA/KernelGeometry.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::gpt2c {

/// Says what is wrong with a config: "head_size must be a multiple of 8".
using ConfigError = llvm::function_ref<void(const llvm::Twine &)>;

struct KernelTemplate {
  /// The plan.kernel's kind.
  llvm::StringRef kind;
  /// The .cuh text.
  llvm::StringRef source;
  /// Keys that the config must have; others are errors too, so that a
  /// misspelt key cannot fall back to a default.
  llvm::ArrayRef<llvm::StringRef> keys;
  /// Checks the config's values and gives the geometry; failure after calling
  /// `error`.
  llvm::FailureOr<KernelGeometry> (*geometry)(DictionaryAttr config,
                                              int64_t rows, ConfigError error);
  /// The source uses instructions of "sm_90a" and its like.
  bool archSpecific = false;
};

/// Null where no template has this kind.
const KernelTemplate *findKernelTemplate(llvm::StringRef kind);

/// Checks the config's keys against the template's.
llvm::LogicalResult checkConfigKeys(const KernelTemplate &kernelTemplate,
                                    DictionaryAttr config, ConfigError error);

/// Preamble, #defines and source: a whole translation unit.
llvm::FailureOr<std::string>
instantiateTemplate(const KernelTemplate &kernelTemplate,
                    llvm::StringRef kernelName, DictionaryAttr config,
                    ConfigError error);

/// Reads an integer or boolean entry that checkConfigKeys found; 0 for an
/// entry of another type.
int64_t configInt(DictionaryAttr config, llvm::StringRef key);

} // namespace mlir::gpt2c

#endif // GPT2C_CODEGEN_CUDA_KERNELTEMPLATE_H
