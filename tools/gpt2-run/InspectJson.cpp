//===- InspectJson.cpp - A plan as JSON -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Plan/Operands.h"
#include "runtime/Support/Json.h"
#include "tools/gpt2-run/Inspect.h"

using namespace gpt2rt;
using namespace gpt2rt::tool;

namespace {

Json modelJson(const fb::Model &model) {
  return {{"name", model.name()->str()},
          {"vocab", model.vocab()},
          {"padded_vocab", model.padded_vocab()},
          {"positions", model.positions()},
          {"width", model.width()},
          {"layers", model.layers()},
          {"heads", model.heads()},
          {"inner", model.inner()},
          {"eos", model.eos()},
          {"parameters", model.parameters()}};
}

const char *accessName(const Operand &operand) {
  if (operand.reads() && operand.writes())
    return "read_write";
  return operand.writes() ? "write" : "read";
}

template <typename Op>
Json attentionJson(const Op &op) {
  return {{"batch", op.batch()},
          {"tokens", op.tokens()},
          {"heads", op.heads()},
          {"head_size", op.head_size()},
          {"dropout", op.dropout()}};
}

Json instructionJson(const Plan &plan, const fb::Instruction &instruction) {
  Json json = {{"op", instructionName(instruction.op_type())}};
  if (const fb::Launch *op = instruction.op_as_Launch()) {
    json["kernel"] = plan.root().kernels()->Get(op->kernel())->name()->str();
    json["rows"] = op->rows();
    if (plan.root().target() == fb::Target::CUDA)
      json["grid"] = {op->grid_x(), op->grid_y(), op->grid_z()};
  } else if (const fb::Matmul *op = instruction.op_as_Matmul()) {
    json["m"] = op->m();
    json["n"] = op->n();
    json["k"] = op->k();
    json["epilogue"] = fb::EnumNameEpilogue(op->epilogue());
    json["transpose_a"] = op->transpose_a();
    json["accumulate"] = op->accumulate();
    if (op->algorithm() >= 0)
      json["algorithm"] = op->algorithm();
  } else if (const fb::Attention *op = instruction.op_as_Attention()) {
    json.update(attentionJson(*op));
  } else if (const fb::AttentionGrad *op = instruction.op_as_AttentionGrad()) {
    json.update(attentionJson(*op));
  }
  if (instruction.cost() >= 0)
    json["cost"] = instruction.cost();
  std::vector<Operand> operands;
  operandsOf(instruction, operands);
  Json list = Json::array();
  for (const Operand &operand : operands)
    list.push_back({{"field", operand.field},
                    {"buffer", operand.buffer},
                    {"access", accessName(operand)}});
  json["operands"] = std::move(list);
  return json;
}

Json programsJson(const Plan &plan) {
  Json programs = Json::array();
  for (const fb::Program *program : *plan.root().programs()) {
    Json instructions = Json::array();
    for (const fb::Instruction *instruction : *program->instructions())
      instructions.push_back(instructionJson(plan, *instruction));
    programs.push_back({{"name", program->name()->str()},
                        {"role", fb::EnumNameRole(program->role())},
                        {"batch", program->batch()},
                        {"tokens", program->tokens()},
                        {"instructions", std::move(instructions)}});
  }
  return programs;
}

Json imageJson(const fb::Plan &root, const fb::KernelImage &image) {
  const fb::CodeModule &module = *root.modules()->Get(image.module_());
  Json json = {{"arch", module.arch()->str()},
               {"format", fb::EnumNameCodeFormat(module.format())}};
  // The driver assembles PTX: only then are there registers to count.
  if (module.format() != fb::CodeFormat::Ptx) {
    json["registers"] = image.registers();
    json["static_shared_bytes"] = image.static_shared_bytes();
    json["spill_bytes"] = image.spill_bytes();
  }
  return json;
}

Json kernelsJson(const fb::Plan &root) {
  Json kernels = Json::array();
  for (const fb::Kernel *kernel : *root.kernels()) {
    Json images = Json::array();
    for (const fb::KernelImage *image : *kernel->images())
      images.push_back(imageJson(root, *image));
    kernels.push_back({{"name", kernel->name()->str()},
                       {"kind", kernel->kind()->str()},
                       {"block_threads", kernel->block_threads()},
                       {"dynamic_shared_bytes", kernel->dynamic_shared_bytes()},
                       {"images", std::move(images)}});
  }
  return kernels;
}

Json modulesJson(const fb::Plan &root) {
  Json modules = Json::array();
  for (const fb::CodeModule *module : *root.modules())
    modules.push_back(
        {{"arch", module->arch()->str()},
         {"format", fb::EnumNameCodeFormat(module->format())},
         {"bytes", root.payloads()->Get(module->payload())->size()}});
  return modules;
}

Json shapeJson(const fb::Buffer &buffer) {
  return Json(
      std::vector<uint64_t>(buffer.shape()->begin(), buffer.shape()->end()));
}

Json buffersJson(const fb::Plan &root) {
  Json buffers = Json::array();
  for (const fb::Buffer *buffer : *root.buffers()) {
    Json json = {{"name", buffer->name()->str()},
                 {"dtype", fb::EnumNameDType(buffer->dtype())},
                 {"shape", shapeJson(*buffer)},
                 {"bytes", buffer->bytes()},
                 {"arena", buffer->arena()},
                 {"offset", buffer->offset()}};
    if (buffer->program() >= 0) {
      json["program"] = buffer->program();
      json["first"] = buffer->first();
      json["last"] = buffer->last();
    }
    if (buffer->view_of() >= 0)
      json["view_of"] = buffer->view_of();
    buffers.push_back(std::move(json));
  }
  return buffers;
}

Json weightsJson(const Plan &plan) {
  Json weights = Json::array();
  for (const fb::LoadWeight *load : weightsOf(plan)) {
    const fb::Buffer &buffer = plan.buffer(load->dst());
    Json names = Json::array();
    for (const flatbuffers::String *name : *load->names())
      names.push_back(name->str());
    Json shape = {load->rows()};
    if (load->cols())
      shape.push_back(load->cols());
    weights.push_back({{"name", load->names()->Get(0)->str()},
                       {"names", std::move(names)},
                       {"shape", std::move(shape)},
                       {"transpose", load->transpose()},
                       {"dtype", fb::EnumNameDType(buffer.dtype())},
                       {"device_shape", shapeJson(buffer)},
                       {"bytes", buffer.bytes()}});
  }
  return weights;
}

Json arenasJson(const fb::Plan &root) {
  Json arenas = Json::array();
  for (const fb::Arena *arena : *root.arenas())
    arenas.push_back({{"kind", fb::EnumNameArenaKind(arena->kind())},
                      {"bytes", arena->bytes()},
                      {"alignment", arena->alignment()}});
  return arenas;
}

Json costsJson(const fb::Plan &root) {
  Json costs = Json::array();
  if (root.costs())
    for (const fb::Cost *cost : *root.costs())
      costs.push_back({{"op", cost->key()->str()},
                       {"rows", cost->rows()},
                       {"flops", cost->flops()},
                       {"bytes", cost->bytes()}});
  return costs;
}

Json tuningJson(const fb::Plan &root) {
  const fb::Tuning *tuning = root.tuning();
  if (!tuning)
    return nullptr;
  Json algorithms = Json::array();
  for (const fb::MatmulAlgorithm *algorithm : *tuning->algorithms())
    algorithms.push_back(std::vector<uint64_t>(algorithm->words()->begin(),
                                               algorithm->words()->end()));
  return {{"device", tuning->device()->str()},
          {"cublaslt", tuning->library()},
          {"algorithms", std::move(algorithms)}};
}

} // namespace

Json tool::planJson(const Plan &plan) {
  const fb::Plan &root = plan.root();
  const PlanHeader &header = plan.header();
  return {
      {"format", strCat(header.major, ".", header.minor)},
      {"file_bytes", header.fileSize},
      {"producer", root.producer()->str()},
      {"target", fb::EnumNameTarget(root.target())},
      {"precision", fb::EnumNamePrecision(root.precision())},
      {"mode", fb::EnumNameMode(root.mode())},
      {"batch", root.batch()},
      {"model", modelJson(*root.model())},
      {"memory",
       {{"predicted_bytes", plan.totalBytes()}, {"arenas", arenasJson(root)}}},
      {"programs", programsJson(plan)},
      {"kernels", kernelsJson(root)},
      {"modules", modulesJson(root)},
      {"buffers", buffersJson(root)},
      {"weights", weightsJson(plan)},
      {"costs", costsJson(root)},
      {"tuning", tuningJson(root)}};
}
