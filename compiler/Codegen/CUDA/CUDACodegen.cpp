//===- CUDACodegen.cpp - plan.kernel symbols to cubins --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/CUDACodegen.h"
#include "compiler/Codegen/CUDA/CudaText.h"
#include "compiler/Codegen/CUDA/KernelTemplate.h"
#include "compiler/Codegen/CUDA/MatvecEmitter.h"
#include "compiler/Codegen/CUDA/Nvrtc.h"
#include "compiler/Codegen/CUDA/RowEmitter.h"
#include "dialects/Plan/PlanOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::gpt2c;
using llvm::StringRef;

/// Indents every line by the braces around it.
static std::string indent(StringRef text) {
  std::string result;
  int depth = 0;
  for (StringRef line : llvm::split(text, '\n')) {
    line = line.trim();
    if (line.empty())
      continue;
    int closing = line.starts_with("}") ? 1 : 0;
    if (!line.starts_with("#"))
      result.append(2 * std::max(depth - closing, 0), ' ');
    result += line.str() + "\n";
    depth += line.count('{') - line.count('}');
  }
  return result;
}

/// exp as the GPU's own instruction, 2^x.
static void approximate(math::ExpOp exp) {
  OpBuilder builder(exp);
  Location loc = exp.getLoc();
  constexpr float log2OfE = 0x1.715476p+0f;
  Value scale =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(log2OfE));
  Value power = arith::MulFOp::create(builder, loc, exp.getOperand(), scale);
  exp.replaceAllUsesWith(math::Exp2Op::create(builder, loc, power).getResult());
  exp.erase();
}

/// Where the GPU's approximations of exp and of quotients are as good as exact
/// ones: in maps that round their result to 16 bits (they err by some 2^-21),
/// and exp in rows too wide for registers, softmax over a vocabulary.
static void approximateRounded(plan::KernelOp kernel, bool isWide) {
  kernel.walk([&](linalg::GenericOp op) {
    bool isRounded = llvm::all_of(op->getResultTypes(), [](Type type) {
      return getElementTypeOrSelf(type).isF16() ||
             getElementTypeOrSelf(type).isBF16();
    });
    for (Operation &inner : llvm::make_early_inc_range(*op.getBody())) {
      if (auto exp = dyn_cast<math::ExpOp>(inner); exp && (isRounded || isWide))
        approximate(exp);
      else if (auto quotient = dyn_cast<arith::DivFOp>(inner);
               quotient && isRounded)
        quotient.setFastmath(arith::FastMathFlags::arcp);
    }
  });
}

/// The other exp, and tanh, erf and log become the operations that the CPU
/// target runs too, so that both agree bit for bit; everything else has an
/// exact form.
static LogicalResult expandMath(plan::KernelOp kernel) {
  bool isWide = false;
  if (kernel.isRow()) {
    FailureOr<RowProgram> program =
        RowProgram::analyze(kernel.getBody().front());
    if (failed(program))
      return failure();
    isWide = chooseRowLayout(*program).isWide();
  }
  approximateRounded(kernel, isWide);
  RewritePatternSet patterns(kernel.getContext());
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return name == math::ExpOp::getOperationName() ||
           name == math::TanhOp::getOperationName() ||
           name == math::ErfOp::getOperationName() ||
           name == math::LogOp::getOperationName();
  });
  if (failed(applyPatternsGreedily(kernel, std::move(patterns))))
    return kernel.emitOpError("its math operations cannot be expanded");
  return success();
}

namespace {
/// One kernel's code without the preamble.
struct KernelText {
  std::string code;
  bool usesMatvec = false;
  bool isTemplate = false; // a whole translation unit already
  bool archSpecific = false;
};
} // namespace

static FailureOr<KernelText> printTemplate(plan::KernelOp kernel) {
  const KernelTemplate *kernelTemplate = findKernelTemplate(kernel.getKind());
  if (!kernelTemplate)
    return kernel.emitOpError("no CUDA template is called '")
           << kernel.getKind() << "'";
  FailureOr<std::string> text = instantiateTemplate(
      *kernelTemplate, kernel.getSymName(), kernel.getConfigAttr(),
      [&](const llvm::Twine &message) { kernel.emitOpError(message); });
  if (failed(text))
    return failure();
  return KernelText{*text, false, true, kernelTemplate->archSpecific};
}

/// The symbol is the entry's name.
static bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name[0]) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

static FailureOr<KernelText> printKernel(plan::KernelOp kernel) {
  if (!isIdentifier(kernel.getSymName()))
    return kernel.emitOpError("symbol '")
           << kernel.getSymName() << "' is not a name in C";
  if (!kernel.isRow() && !kernel.isMatvec())
    return printTemplate(kernel);
  OwningOpRef<plan::KernelOp> expanded = kernel.clone();
  if (failed(expandMath(*expanded)))
    return failure();
  std::string code;
  llvm::raw_string_ostream os(code);
  LogicalResult printed = kernel.isMatvec() ? emitMatvecKernel(*expanded, os)
                                            : emitRowKernel(*expanded, os);
  if (failed(printed))
    return failure();
  return KernelText{indent(code), kernel.isMatvec(), false, false};
}

static std::string translationUnit(const KernelText &text) {
  if (text.isTemplate)
    return text.code;
  return (preambleSource() + (text.usesMatvec ? matvecSource() : "") +
          text.code)
      .str();
}

std::string gpt2c::emitCudaSource(ModuleOp planModule) {
  std::string result;
  for (auto kernel : planModule.getOps<plan::KernelOp>()) {
    FailureOr<KernelText> text = printKernel(kernel);
    result += "// " + kernel.getKind().str() + " @" +
              kernel.getSymName().str() + "\n";
    if (failed(text)) {
      result += "// cannot be printed, see the diagnostics\n";
      continue;
    }
    StringRef code = text->code;
    // Whole units of templates repeat the preamble, which is shown nowhere.
    code.consume_front(preambleSource());
    result += code.str() + "\n";
  }
  return result;
}

/// "sm_80" -> 80; 0 for what is no architecture.
static unsigned archNumber(StringRef arch) {
  unsigned number = 0;
  if (!arch.consume_front("sm_") || arch.getAsInteger(10, number))
    return 0;
  return number;
}

static FailureOr<std::string> lowestArch(ModuleOp module,
                                         ArrayRef<std::string> archs) {
  if (archs.empty()) {
    module.emitError("no CUDA architecture given");
    return failure();
  }
  for (StringRef arch : archs)
    if (archNumber(arch) < 80) {
      module.emitError("CUDA architecture '")
          << arch << "' is not supported: use sm_80, sm_86, sm_89, sm_90, "
          << "sm_100 or sm_120";
      return failure();
    }
  return *llvm::min_element(archs, [](StringRef a, StringRef b) {
    return archNumber(a) < archNumber(b);
  });
}

static void addImage(CompiledCode &code, CompiledKernel &kernel,
                     const CudaBinary &binary, StringRef arch,
                     CodeFormat format) {
  KernelImage image;
  image.module = code.modules.size();
  if (format == CodeFormat::Cubin) {
    image.registers = binary.registers;
    image.staticSharedBytes = binary.staticSharedBytes;
    image.spillBytes = binary.localBytes;
  }
  kernel.images.push_back(image);
  code.modules.push_back(
      {arch.str(), format,
       format == CodeFormat::Cubin ? binary.cubin : binary.ptx});
}

FailureOr<CompiledCode>
gpt2c::compileForCuda(ModuleOp planModule, const CudaCodegenOptions &options) {
  FailureOr<std::string> lowest = lowestArch(planModule, options.archs);
  if (failed(lowest))
    return failure();
  if (std::string missing = missingNvrtc(); !missing.empty()) {
    planModule.emitError(missing);
    return failure();
  }
  SmallVector<plan::KernelOp> kernels(planModule.getOps<plan::KernelOp>());
  // Block and shared memory are the same for every row count that a kernel is
  // launched with, but not every template takes any count.
  llvm::StringMap<int64_t> launchedRows;
  planModule.walk([&](plan::LaunchOp launch) {
    launchedRows[launch.getKernel()] = launch.getRows();
  });
  std::vector<std::string> sources;
  std::vector<bool> specific;
  CompiledCode code;
  for (plan::KernelOp kernel : kernels) {
    FailureOr<KernelText> text = printKernel(kernel);
    auto rows = launchedRows.find(kernel.getSymName());
    FailureOr<KernelGeometry> geometry = geometryFor(
        kernel, rows == launchedRows.end() ? rowUnit(kernel) : rows->second);
    if (failed(text) || failed(geometry))
      return failure();
    sources.push_back(translationUnit(*text));
    specific.push_back(text->archSpecific);
    CompiledKernel compiled;
    compiled.name = kernel.getSymName().str();
    compiled.blockThreads = geometry->blockThreads;
    compiled.dynamicSharedBytes = geometry->dynamicSharedBytes;
    code.kernels.push_back(compiled);
  }
  std::vector<CudaJob> jobs;
  for (size_t i = 0; i < kernels.size(); ++i)
    for (const std::string &arch : options.archs)
      jobs.push_back({code.kernels[i].name, sources[i],
                      arch + (specific[i] && archNumber(arch) >= 90 ? "a" : ""),
                      nullptr});
  compileCudaJobs(jobs, options.threads);
  for (size_t i = 0; i < jobs.size(); ++i) {
    size_t number = i / options.archs.size();
    const CudaBinary &binary = *jobs[i].binary;
    if (!binary.error.empty())
      return kernels[number].emitOpError("does not compile: ") << binary.error;
    addImage(code, code.kernels[number], binary, jobs[i].arch,
             CodeFormat::Cubin);
    if (options.archs[i % options.archs.size()] == *lowest)
      addImage(code, code.kernels[number], binary, jobs[i].arch,
               CodeFormat::Ptx);
  }
  return code;
}
