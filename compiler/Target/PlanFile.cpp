//===- PlanFile.cpp - A plan module as a plan file
//--------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Target/PlanFile.h"

#include "compiler/Target/InstructionWriter.h"
#include "compiler/Target/PlanTables.h"
#include "runtime/Plan/Plan.h"
#include "runtime/Plan/PlanFormat.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpt2c;
namespace fb = gpt2rt::fb;
template <typename T>
using Offset = flatbuffers::Offset<T>;

namespace {

class PlanWriter {
public:
  PlanWriter(ModuleOp module, const CompiledCode &code,
             const PlanTables &tables)
      : module(module), code(code), tables(tables) {}

  FailureOr<std::string> write(StringRef producer);

private:
  FailureOr<Offset<fb::Model>> writeModel();
  FailureOr<fb::Precision> precision();
  FailureOr<fb::Mode> mode();
  std::vector<Offset<fb::Arena>> writeArenas();
  std::vector<Offset<fb::Buffer>> writeBuffers();
  std::vector<Offset<fb::CodeModule>> writeModules();
  FailureOr<std::vector<Offset<fb::Kernel>>> writeKernels();
  Offset<fb::Program> writeProgram(plan::ProgramOp program);
  std::vector<Offset<fb::Cost>> writeCosts();

  ModuleOp module;
  const CompiledCode &code;
  const PlanTables &tables;
  flatbuffers::FlatBufferBuilder builder;
  std::vector<Offset<fb::Payload>> payloads;
  std::string payloadBytes;
};

FailureOr<Offset<fb::Model>> PlanWriter::writeModel() {
  auto model = module->getAttrOfType<DictionaryAttr>(plan::modelAttrName);
  if (!model)
    return module.emitError("has no ") << plan::modelAttrName << " attribute";
  auto number = [&](StringRef key, int64_t missing) -> int64_t {
    auto value = model.getAs<IntegerAttr>(key);
    return value ? value.getInt() : missing;
  };
  auto name = model.getAs<StringAttr>("name");
  auto nameOffset = builder.CreateString(name ? name.str() : "model");
  Offset<flatbuffers::String> config;
  if (auto text = model.getAs<StringAttr>("config_json"))
    config = builder.CreateString(text.str());
  return fb::CreateModel(builder, nameOffset, number("vocab", 0),
                         number("padded_vocab", 0), number("positions", 0),
                         number("width", 0), number("layers", 0),
                         number("heads", 0), number("inner", 0),
                         number("eos", -1), number("parameters", 0), config);
}

FailureOr<fb::Precision> PlanWriter::precision() {
  auto attr = module->getAttrOfType<StringAttr>(plan::precisionAttrName);
  auto value = llvm::StringSwitch<std::optional<fb::Precision>>(
                   attr ? attr.getValue() : "fp32")
                   .Case("fp32", fb::Precision::FP32)
                   .Case("tf32", fb::Precision::TF32)
                   .Case("fp16", fb::Precision::FP16)
                   .Case("bf16", fb::Precision::BF16)
                   .Default(std::nullopt);
  if (value)
    return *value;
  return module.emitError("unknown precision ") << attr;
}

FailureOr<fb::Mode> PlanWriter::mode() {
  auto attr = module->getAttrOfType<StringAttr>(plan::modeAttrName);
  auto value = llvm::StringSwitch<std::optional<fb::Mode>>(
                   attr ? attr.getValue() : "generate")
                   .Case("generate", fb::Mode::Generate)
                   .Case("eval", fb::Mode::Eval)
                   .Case("train", fb::Mode::Train)
                   .Default(std::nullopt);
  if (value)
    return *value;
  return module.emitError("unknown mode ") << attr;
}

std::vector<Offset<fb::Arena>> PlanWriter::writeArenas() {
  std::vector<Offset<fb::Arena>> result;
  for (plan::ArenaOp arena : tables.getArenas())
    result.push_back(fb::CreateArena(builder, fb::ArenaKind(arena.getKind()),
                                     arena.getBytes(), arena.getAlignment()));
  return result;
}

std::vector<Offset<fb::Buffer>> PlanWriter::writeBuffers() {
  std::vector<Offset<fb::Buffer>> result;
  for (const BufferEntry &entry : tables.getBuffers()) {
    auto name = builder.CreateString(entry.name);
    std::vector<uint64_t> shape(entry.type.getShape().begin(),
                                entry.type.getShape().end());
    auto shapeOffset = builder.CreateVector(shape);
    result.push_back(fb::CreateBuffer(
        builder, name, dtypeOf(entry.type.getElementType()), shapeOffset,
        plan::bytesOf(entry.type), entry.arena, entry.offset, entry.program,
        entry.first, entry.last, entry.viewOf));
  }
  return result;
}

std::vector<Offset<fb::CodeModule>> PlanWriter::writeModules() {
  std::vector<Offset<fb::CodeModule>> result;
  for (const CodeModule &image : code.modules) {
    payloadBytes.resize(
        llvm::alignTo(payloadBytes.size(), gpt2rt::sectionAlignment));
    payloads.push_back(
        fb::CreatePayload(builder, payloadBytes.size(), image.bytes.size()));
    payloadBytes += image.bytes;
    auto arch = builder.CreateString(image.arch);
    result.push_back(fb::CreateCodeModule(
        builder, arch, fb::CodeFormat(image.format), payloads.size() - 1));
  }
  return result;
}

FailureOr<std::vector<Offset<fb::Kernel>>> PlanWriter::writeKernels() {
  if (code.kernels.size() != tables.getKernels().size())
    return module.emitError("has ")
           << tables.getKernels().size() << " kernels but code for "
           << code.kernels.size();
  std::vector<Offset<fb::Kernel>> result;
  for (auto [op, kernel] : llvm::zip_equal(tables.getKernels(), code.kernels)) {
    plan::KernelOp kernelOp = op;
    if (kernelOp.getSymName() != kernel.name)
      return kernelOp.emitOpError("got the code of '") << kernel.name << "'";
    std::vector<Offset<fb::KernelImage>> images;
    for (const KernelImage &image : kernel.images)
      images.push_back(
          fb::CreateKernelImage(builder, image.module, image.registers,
                                image.staticSharedBytes, image.spillBytes));
    auto name = builder.CreateString(kernel.name);
    auto kind = builder.CreateString(kernelOp.getKind().str());
    auto imagesOffset = builder.CreateVector(images);
    result.push_back(
        fb::CreateKernel(builder, name, kind, imagesOffset, kernel.blockThreads,
                         kernel.dynamicSharedBytes, kernel.rowsGrain));
  }
  return result;
}

Offset<fb::Program> PlanWriter::writeProgram(plan::ProgramOp program) {
  std::vector<Offset<fb::Instruction>> instructions;
  for (plan::InstructionOpInterface op : program.getInstructions())
    instructions.push_back(writeInstruction(builder, tables, op));
  auto name = builder.CreateString(program.getSymName().str());
  auto instructionsOffset = builder.CreateVector(instructions);
  int32_t count = program.getCount()
                      ? int32_t(tables.globalIndex(*program.getCount()))
                      : -1;
  return fb::CreateProgram(builder, name, fb::Role(program.getRole()),
                           program.getBatch(), program.getTokens(),
                           instructionsOffset, count);
}

/// What an older gpt2-run could not ignore.
static uint64_t requiredFeatures(fb::Mode mode, const PlanTables &tables) {
  uint64_t features = mode == fb::Mode::Train ? gpt2rt::planTrainingFeature : 0;
  for (plan::ProgramOp program : tables.getPrograms())
    if (program.getRole() == plan::Role::Sample)
      features |= gpt2rt::planSampleFeature;
  return features;
}

std::vector<Offset<fb::Cost>> PlanWriter::writeCosts() {
  std::vector<Offset<fb::Cost>> result;
  for (DictionaryAttr cost : tables.getCosts()) {
    auto number = [&](StringRef name) -> uint64_t {
      auto value = cost.getAs<IntegerAttr>(name);
      return value ? value.getInt() : 0;
    };
    auto key = cost.getAs<StringAttr>("key");
    auto keyOffset = builder.CreateString(key ? key.str() : "");
    result.push_back(fb::CreateCost(builder, keyOffset, number("rows"),
                                    number("flops"), number("bytes")));
  }
  return result;
}

FailureOr<std::string> PlanWriter::write(StringRef producer) {
  FailureOr<Offset<fb::Model>> model = writeModel();
  FailureOr<fb::Precision> precisionValue = precision();
  FailureOr<fb::Mode> modeValue = mode();
  if (failed(model) || failed(precisionValue) || failed(modeValue))
    return failure();
  FailureOr<std::vector<Offset<fb::Kernel>>> kernels = writeKernels();
  if (failed(kernels))
    return failure();
  auto target = module->getAttrOfType<plan::TargetAttr>(plan::targetAttrName);
  auto batch = module->getAttrOfType<IntegerAttr>(plan::batchAttrName);
  if (!target || !batch)
    return module.emitError("has no plan.target or plan.batch attribute");
  auto accumulation =
      module->getAttrOfType<IntegerAttr>(plan::maxAccumulationAttrName);
  uint32_t mostAccumulation = accumulation ? accumulation.getInt() : 0;
  std::vector<Offset<fb::Program>> programs;
  for (plan::ProgramOp program : tables.getPrograms())
    programs.push_back(writeProgram(program));
  auto arenas = builder.CreateVector(writeArenas());
  auto buffers = builder.CreateVector(writeBuffers());
  auto modules = builder.CreateVector(writeModules());
  auto payloadTable = builder.CreateVector(payloads);
  auto kernelTable = builder.CreateVector(*kernels);
  auto programTable = builder.CreateVector(programs);
  auto costs = builder.CreateVector(writeCosts());
  auto producerName = builder.CreateString(producer.str());
  fb::FinishPlanBuffer(
      builder,
      fb::CreatePlan(builder, producerName, fb::Target(target.getValue()),
                     *precisionValue, *modeValue, *model, batch.getInt(),
                     arenas, buffers, payloadTable, modules, kernelTable,
                     programTable, mostAccumulation, /*tuning=*/0, costs));
  gpt2rt::Result<std::string> file = gpt2rt::assemblePlanFile(
      std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())),
      std::as_bytes(std::span(payloadBytes)),
      requiredFeatures(*modeValue, tables));
  if (!file.ok())
    return module.emitError(file.status().message());
  // What gpt2-run would refuse is not written.
  gpt2rt::Result<gpt2rt::Plan> plan =
      gpt2rt::Plan::parse(std::as_bytes(std::span(*file)));
  if (!plan.ok())
    return module.emitError("gpt2c made a plan that gpt2-run would refuse: ")
           << plan.status().message();
  return *std::move(file);
}

} // namespace

FailureOr<std::string> mlir::gpt2c::buildPlanFile(ModuleOp module,
                                                  const CompiledCode &code,
                                                  StringRef producer) {
  FailureOr<PlanTables> tables = PlanTables::build(module);
  if (failed(tables))
    return failure();
  return PlanWriter(module, code, *tables).write(producer);
}
