// Reads what a user gives as MODEL into the gpt2 dialect.
// SPDX-License-Identifier: Apache-2.0
#include "models/Import.h"

#include "dialects/GPT2/GPT2Dialect.h"
#include "runtime/Support/File.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::gpt2c;

/// What the plan calls a model: its folder's name, or the preset's.
static std::string nameOf(StringRef model) {
  SmallString<128> path(model);
  if (llvm::sys::fs::make_absolute(path))
    return model.str();
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  StringRef whole = path;
  if (llvm::sys::fs::is_regular_file(model))
    whole = llvm::sys::path::parent_path(whole);
  StringRef name = llvm::sys::path::filename(whole);
  return name.empty() ? model.str() : name.str();
}

/// "FILE:LINE:COLUMN: MESSAGE" of a diagnostic.
static std::string render(Diagnostic &diagnostic) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
    stream << place.getFilename().getValue() << ':' << place.getLine() << ':'
           << place.getColumn() << ": ";
  stream << diagnostic;
  return StringRef(text).take_until([](char c) { return c == '\n'; }).str();
}

static gpt2rt::Result<OwningOpRef<ModuleOp>>
importText(MLIRContext &context, const std::string &model) {
  constexpr size_t maxTextBytes = size_t(1) << 28;
  GPT2_ASSIGN_OR_RETURN(std::string text,
                        gpt2rt::readTextFile(model, maxTextBytes));
  context.loadDialect<gpt2::GPT2Dialect, func::FuncDialect>();
  std::string firstError;
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
      if (isError && firstError.empty())
        firstError = render(diagnostic);
      return success(isError);
    });
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context), model);
  }
  if (!module)
    return gpt2rt::dataLoss(firstError);
  if (!(*module)->hasAttr(gpt2::modelAttrName))
    return gpt2rt::dataLoss(model, ": the module has no 'gpt2.model' attribute "
                                   "(see `gpt2c tiny --emit=gpt2`)");
  bool hasProgram =
      llvm::any_of(module->getOps<func::FuncOp>(), [](func::FuncOp function) {
        return gpt2::getProgram(function);
      });
  if (!hasProgram)
    return gpt2rt::dataLoss(model, ": no function has a 'gpt2.program' "
                                   "attribute (see `gpt2c tiny --emit=gpt2`)");
  return module;
}

gpt2rt::Result<OwningOpRef<ModuleOp>>
gpt2c::importModel(MLIRContext &context, const std::string &model,
                   const BuildOptions &options) {
  if (StringRef(model).ends_with(".mlir"))
    return importText(context, model);
  gpt2rt::Result<gpt2rt::ModelConfig> config =
      gpt2rt::resolveModelConfig(model);
  if (!config.ok())
    return config.status();
  return buildGraph(context, *config, nameOf(model), options);
}
