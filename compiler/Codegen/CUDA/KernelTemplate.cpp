//===- KernelTemplate.cpp - Instantiates hand-written kernels -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/KernelTemplate.h"
#include "compiler/Codegen/CUDA/CudaText.h"
#include "compiler/Codegen/CUDA/Templates/Templates.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::gpt2c;
using llvm::StringRef;

const KernelTemplate *gpt2c::findKernelTemplate(StringRef kind) {
  for (const KernelTemplate *kernelTemplate : allKernelTemplates())
    if (kernelTemplate->kind == kind)
      return kernelTemplate;
  return nullptr;
}

LogicalResult gpt2c::checkConfigKeys(const KernelTemplate &kernelTemplate,
                                     DictionaryAttr config, ConfigError error) {
  for (StringRef key : kernelTemplate.keys)
    if (!config || !config.contains(key)) {
      error("kernel template '" + kernelTemplate.kind + "' needs `" + key +
            "` in its config");
      return failure();
    }
  for (NamedAttribute entry : config)
    if (!llvm::is_contained(kernelTemplate.keys, entry.getName().getValue())) {
      error("kernel template '" + kernelTemplate.kind +
            "' has no config entry `" + entry.getName().getValue() + "`");
      return failure();
    }
  return success();
}

/// The text of a macro for a config value; empty where the type has none.
static std::string macroValue(Attribute value) {
  if (auto flag = dyn_cast<BoolAttr>(value))
    return flag.getValue() ? "1" : "0";
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return llvm::toString(integer.getValue(), 10, /*Signed=*/true);
  if (auto number = dyn_cast<FloatAttr>(value))
    return floatLiteral(number.getValue());
  if (auto type = dyn_cast<TypeAttr>(value))
    return cudaElementType(type.getValue()).str();
  if (auto text = dyn_cast<StringAttr>(value))
    return text.getValue().str();
  return "";
}

FailureOr<std::string>
gpt2c::instantiateTemplate(const KernelTemplate &kernelTemplate,
                           StringRef kernelName, DictionaryAttr config,
                           ConfigError error) {
  if (failed(checkConfigKeys(kernelTemplate, config, error)))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << preambleSource() << "#define KERNEL_NAME " << kernelName << "\n";
  for (StringRef key : kernelTemplate.keys) {
    std::string value = macroValue(config.get(key));
    if (value.empty()) {
      error("config entry `" + key + "` is of a type that has no macro form");
      return failure();
    }
    os << "#define " << key.upper() << " " << value << "\n";
  }
  os << kernelTemplate.source;
  return text;
}

int64_t gpt2c::configInt(DictionaryAttr config, StringRef key) {
  if (auto integer = config.getAs<IntegerAttr>(key))
    return integer.getInt();
  return 0;
}
