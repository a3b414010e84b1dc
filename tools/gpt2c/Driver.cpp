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
#include "models/Import.h"
#include "runtime/Support/File.h"
#include "tools/gpt2c/Messages.h"
#include "tools/gpt2c/Summary.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ThreadPool.h"

using namespace mlir;
using namespace mlir::gpt2c;
using gpt2rt::AtomicFile;
using gpt2rt::Result;
using gpt2rt::Status;

namespace {

constexpr const char *producer = "gpt2c " GPT2C_VERSION;

// Prompt tokens of a prefill call, where the model has as many positions: what
// keeps the target's matmuls busy without wasting much on a short prompt.
constexpr int64_t cpuChunk = 256, cudaChunk = 512;

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

bool isMlir(const CommandLine &line) {
  return StringRef(line.model).ends_with(".mlir");
}

/// `name` is one that parseCommandLine() let through.
Precision precisionOf(StringRef name) {
  return llvm::StringSwitch<Precision>(name)
      .Case("tf32", Precision::TF32)
      .Case("fp16", Precision::FP16)
      .Case("bf16", Precision::BF16)
      .Default(Precision::FP32);
}

GraphMode graphModeOf(Mode mode) {
  switch (mode) {
  case Mode::Generate:
    return GraphMode::Generate;
  case Mode::Eval:
    return GraphMode::Eval;
  case Mode::Train:
    return GraphMode::Train;
  }
  llvm_unreachable("every mode is handled");
}

/// How many positions a sequence gets and how many of them a prefill call.
Result<BuildOptions> buildOptions(const CommandLine &line) {
  BuildOptions options;
  options.mode = graphModeOf(line.mode);
  options.dropout = line.dropout;
  options.batch = line.batch;
  options.seq = line.seq;
  options.chunk = line.chunk;
  if (options.chunk == 0 && !isMlir(line)) {
    GPT2_ASSIGN_OR_RETURN(gpt2rt::ModelConfig config,
                          gpt2rt::resolveModelConfig(line.model));
    int64_t positions = line.seq ? line.seq : config.nPositions;
    options.chunk = std::min(positions, line.cuda ? cudaChunk : cpuChunk);
  }
  return options;
}

/// One run of the compiler.
class Driver {
public:
  explicit Driver(const CommandLine &line)
      : line(line), pool(llvm::hardware_concurrency(line.threads)),
        context(MLIRContext::Threading::DISABLED),
        diagnostics(&context, progress) {
    timing.setEnabled(false);
  }

  Status run();

private:
  Status setUp();
  Status import();
  Status runStages();
  Status writeText(std::string text);
  Status writePlan();
  Status write(std::string_view bytes);
  std::string printModule();
  /// The status of a stage that ended in failure.
  Status failed(StringRef stage) {
    return diagnostics.hasPrinted()
               ? Status(gpt2rt::ErrorCode::InvalidArgument, "")
               : diagnostics.failure(stage);
  }

  const CommandLine &line;
  Progress progress;
  DefaultTimingManager timing;
  llvm::DefaultThreadPool pool;
  MLIRContext context;
  DiagnosticPrinter diagnostics;
  CompileOptions options;
  std::optional<AtomicFile> output;
  OwningOpRef<ModuleOp> module;
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
  options.target = line.cuda ? plan::Target::CUDA : plan::Target::CPU;
  options.precision = precisionOf(line.precision);
  options.training = line.mode == Mode::Train;
  options.archs = line.archs;
  options.threads = line.threads;
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

Status Driver::import() {
  progress.show("reading the model");
  GPT2_ASSIGN_OR_RETURN(BuildOptions build, buildOptions(line));
  Result<OwningOpRef<ModuleOp>> imported =
      importModel(context, line.model, build);
  if (!imported.ok())
    return imported.status();
  module = *std::move(imported);
  return Status();
}

Status Driver::runStages() {
  TimingScope scope = timing.getRootScope();
  for (const Stage &stage : getStages()) {
    progress.show(stage.name);
    PassManager pm(&context);
    if (mlir::failed(applyPassManagerCLOptions(pm)))
      return gpt2rt::invalidArgument("MLIR refuses the given --mlir flags");
    TimingScope stageScope = scope.nest(stage.name);
    pm.enableTiming(stageScope);
    stage.addPasses(pm, options);
    if (mlir::failed(pm.run(*module)))
      return failed(stage.name);
  }
  return Status();
}

std::string Driver::printModule() {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
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
  FailureOr<CompiledCode> code = generateCode(*module, options);
  if (mlir::failed(code))
    return failed("generating code");
  progress.show("writing the plan");
  FailureOr<std::string> file = buildPlanFile(*module, *code, producer);
  if (mlir::failed(file))
    return failed("writing the plan");
  if (line.emit == Emit::PlanText)
    return writeText(printPlanFile(*file));
  GPT2_RETURN_IF_ERROR(write(*file));
  progress.clear();
  // A plan written to standard output must not be mixed with text.
  bool isFile = gpt2rt::fileExists(line.output) &&
                StringRef(line.output) != "/dev/stdout";
  printSummary(isFile ? llvm::outs() : llvm::errs(), *module, *code,
               line.output, file->size());
  llvm::outs().flush();
  return Status();
}

Status Driver::run() {
  GPT2_RETURN_IF_ERROR(setUp());
  GPT2_RETURN_IF_ERROR(import());
  if (line.emit == Emit::GPT2)
    return writeText(printModule());
  GPT2_RETURN_IF_ERROR(runStages());
  switch (line.emit) {
  case Emit::Plan:
    return writeText(printModule());
  case Emit::Cuda: {
    std::string source = emitCudaSource(*module);
    return diagnostics.hasPrinted() ? failed("printing CUDA C++")
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
