//===- Driver.cpp - From a command line to a plan file
//----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "tools/gpt2c/Driver.h"

#include "compiler/Codegen/CUDA/CUDACodegen.h"
#include "compiler/Codegen/CUDA/Nvrtc.h"
#include "compiler/Pipelines/InitAll.h"
#include "compiler/Pipelines/Stages.h"
#include "compiler/Target/PlanFile.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "runtime/Support/File.h"
#include "tools/gpt2c/Advice.h"
#include "tools/gpt2c/Messages.h"
#include "tools/gpt2c/Planner.h"
#include "tools/gpt2c/Summary.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ThreadPool.h"

using namespace mlir;
using namespace mlir::gpt2c;
using gpt2rt::AtomicFile;
using gpt2rt::Result;
using gpt2rt::Status;

namespace {

constexpr const char *producer = "gpt2c " GPT2C_VERSION;

/// Gives --mlir-... flags to LLVM's option parser.
Status parseMlirFlags(const std::vector<std::string> &flags) {
  registerAllPasses(); // --mlir-print-ir-after=NAME knows passes by name
  registerPassManagerCLOptions();
  registerAsmPrinterCLOptions();
  registerDefaultTimingManagerCLOptions();
  std::vector<const char *> arguments = {"gpt2c"};
  for (const std::string &flag : flags)
    arguments.push_back(flag.c_str());
  std::string errors;
  llvm::raw_string_ostream os(errors);
  if (llvm::cl::ParseCommandLineOptions(arguments.size(), arguments.data(), "",
                                        &os))
    return Status();
  StringRef text = StringRef(errors).ltrim();
  text.consume_front("gpt2c: ");
  return gpt2rt::invalidArgument(
      std::string_view(text.take_until([](char c) { return c == '\n'; })));
}

/// One run of the compiler.
class Driver {
public:
  explicit Driver(const CommandLine &line)
      : line(line), pool(llvm::hardware_concurrency(line.threads)),
        context(MLIRContext::Threading::DISABLED),
        diagnostics(&context, progress),
        planner(context, progress, diagnostics, timing) {
    timing.setEnabled(false);
  }

  Status run();

private:
  Status setUp();
  /// Chooses what --fit asks for and plans memory.
  Status plan();
  Status writeText(std::string text);
  Status writePlan();
  Status write(std::string_view bytes);
  std::string printModule();

  CommandLine line;
  Progress progress;
  DefaultTimingManager timing;
  llvm::DefaultThreadPool pool;
  MLIRContext context;
  DiagnosticPrinter diagnostics;
  Planner planner;
  std::optional<AtomicFile> output;
  PlannedModule planned;
  std::string notes; ///< what --fit chose and why
};

Status Driver::setUp() {
  GPT2_RETURN_IF_ERROR(parseMlirFlags(line.mlirFlags));
  applyDefaultTimingManagerCLOptions(timing);
  if (line.threads > 1)
    context.setThreadPool(pool);
  DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  if (line.remarks && mlir::failed(enableRemarks(context)))
    return gpt2rt::internalError("cannot enable remarks");
  bool needsCode = line.emit == Emit::PlanFile || line.emit == Emit::PlanText;
  if (line.cuda && needsCode)
    if (std::string missing = missingNvrtc(); !missing.empty())
      return gpt2rt::unavailable(missing);
  // Before any work: a path that cannot be written is known at once.
  if (!line.output.empty()) {
    GPT2_ASSIGN_OR_RETURN(output, AtomicFile::create(line.output));
  }
  return Status();
}

Status Driver::plan() {
  if (line.fit) {
    GPT2_ASSIGN_OR_RETURN(FittedPlan fitted, chooseFit(planner, line));
    planned = std::move(fitted.planned);
    notes = std::move(fitted.notes);
  } else {
    GPT2_ASSIGN_OR_RETURN(planned, planner.plan(line));
  }
  return planned.fits ? Status() : explainMisfit(planner, line, planned);
}

std::string Driver::printModule() {
  std::string text;
  llvm::raw_string_ostream os(text);
  planned.module->print(os);
  return text;
}

Status Driver::write(std::string_view bytes) {
  GPT2_RETURN_IF_ERROR(output->append(bytes));
  return output->commit();
}

Status Driver::writeText(std::string text) {
  progress.clear();
  if (output)
    return write(text);
  llvm::outs() << text;
  llvm::outs().flush();
  if (std::error_code error = llvm::outs().error()) {
    llvm::outs().clear_error();
    return gpt2rt::resourceExhausted("cannot write to standard output: ",
                                     error.message());
  }
  return Status();
}

Status Driver::writePlan() {
  progress.show("generating code");
  FailureOr<CompiledCode> code =
      generateCode(*planned.module, compileOptions(line));
  if (mlir::failed(code))
    return diagnostics.status("generating code");
  progress.show("writing the plan");
  FailureOr<std::string> file = buildPlanFile(*planned.module, *code, producer);
  if (mlir::failed(file))
    return diagnostics.status("writing the plan");
  if (line.emit == Emit::PlanText)
    return writeText(printPlanFile(*file));
  GPT2_RETURN_IF_ERROR(write(*file));
  progress.clear();
  // A plan written to standard output must not be mixed with text.
  bool isFile = gpt2rt::fileExists(line.output) &&
                StringRef(line.output) != "/dev/stdout";
  llvm::raw_ostream &os = isFile ? llvm::outs() : llvm::errs();
  printSummary(os, *planned.module, *code, line.output, file->size());
  if (line.memoryBudget && !line.fit)
    os << "rematerialization " << describeRemat(planned) << '\n';
  if (planned.headChunks > 1)
    os << "LM head in " << planned.headChunks << " chunks\n";
  if (planned.lean)
    os << "storage lean: 16-bit gradients and no 16-bit weights, so a step is "
          "one micro-batch\n";
  os << notes;
  llvm::outs().flush();
  return Status();
}

Status Driver::run() {
  GPT2_RETURN_IF_ERROR(setUp());
  if (line.emit == Emit::GPT2) {
    GPT2_ASSIGN_OR_RETURN(planned.module, planner.import(line));
    return writeText(printModule());
  }
  GPT2_RETURN_IF_ERROR(plan());
  switch (line.emit) {
  case Emit::Plan:
    return writeText(printModule());
  case Emit::Cuda: {
    std::string source = emitCudaSource(*planned.module);
    return diagnostics.hasPrinted() ? diagnostics.status("printing CUDA C++")
                                    : writeText(std::move(source));
  }
  default:
    return writePlan();
  }
}

} // namespace

Status mlir::gpt2c::runCompiler(const CommandLine &line) {
  return Driver(line).run();
}
