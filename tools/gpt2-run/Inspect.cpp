//===- Inspect.cpp - gpt2-run inspect -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "tools/gpt2-run/Inspect.h"
#include "runtime/Plan/Operands.h"
#include "runtime/Support/Json.h"
#include "tools/gpt2-run/Commands.h"
#include "tools/gpt2-run/Runner.h"

#include <map>

using namespace gpt2rt;
using namespace gpt2rt::tool;

namespace {

/// "7 launch, 4 matmul": what a program is made of.
std::string kindsText(const fb::Program &program) {
  std::map<std::string, unsigned> kinds;
  for (const fb::Instruction *instruction : *program.instructions())
    ++kinds[instructionName(instruction->op_type())];
  std::string text;
  for (const auto &[kind, count] : kinds)
    text += strCat(text.empty() ? "" : ", ", count, " ", kind);
  return text;
}

void printModel(const Plan &plan, const std::string &path) {
  const fb::Plan &root = plan.root();
  const fb::Model &model = *root.model();
  std::printf("%s: format %u.%u, made by %s\n", path.c_str(),
              plan.header().major, plan.header().minor,
              root.producer()->c_str());
  std::printf("target %s, precision %s, mode %s, batch %u\n",
              fb::EnumNameTarget(root.target()),
              fb::EnumNamePrecision(root.precision()),
              fb::EnumNameMode(root.mode()), root.batch());
  std::printf("model %s: %u layers, %u heads, width %u, inner %u, %u "
              "positions, vocabulary %u (padded %u), %llu parameters\n",
              model.name()->c_str(), model.layers(), model.heads(),
              model.width(), model.inner(), model.positions(), model.vocab(),
              model.padded_vocab(),
              static_cast<unsigned long long>(model.parameters()));
  if (const fb::Tuning *tuning = root.tuning())
    std::printf("%u algorithms of products measured on %s with cuBLASLt %llu\n",
                tuning->algorithms()->size(),
                quote(tuning->device()->string_view()).c_str(),
                static_cast<unsigned long long>(tuning->library()));
}

void printPrograms(const fb::Plan &root) {
  std::printf("\nprograms\n");
  for (const fb::Program *program : *root.programs())
    std::printf("  %-15s batch %-3u tokens %-5u %4u instructions: %s\n",
                program->name()->c_str(), program->batch(), program->tokens(),
                program->instructions()->size(), kindsText(*program).c_str());
}

void printImage(const fb::Plan &root, const fb::Kernel &kernel,
                const fb::KernelImage &image) {
  const fb::CodeModule &module = *root.modules()->Get(image.module_());
  const char *arch = module.arch()->c_str();
  // The driver assembles PTX: only then are there registers to count.
  if (module.format() == fb::CodeFormat::Ptx) {
    std::printf(", PTX %s", arch);
    return;
  }
  std::printf(", %s", arch);
  if (root.target() == fb::Target::CPU)
    return;
  std::printf(": %u registers, %u bytes shared", image.registers(),
              image.static_shared_bytes() + kernel.dynamic_shared_bytes());
  if (image.spill_bytes())
    std::printf(", %u bytes spilled", image.spill_bytes());
}

void printKernels(const fb::Plan &root) {
  std::printf("\nkernels\n");
  for (const fb::Kernel *kernel : *root.kernels()) {
    std::printf("  %-40s %s", kernel->name()->c_str(), kernel->kind()->c_str());
    if (kernel->block_threads())
      std::printf(", %u threads", kernel->block_threads());
    for (const fb::KernelImage *image : *kernel->images())
      printImage(root, *kernel, *image);
    std::printf("\n");
  }
}

/// Arenas with the globals in them, in order of offset; a program's buffers are
/// many and in the JSON form.
void printMemoryMap(const Plan &plan) {
  const fb::Plan &root = plan.root();
  std::printf("\nmemory, %llu bytes (%s)\n",
              static_cast<unsigned long long>(plan.totalBytes()),
              formatBytes(plan.totalBytes()).c_str());
  for (uint32_t i = 0; i < root.arenas()->size(); ++i) {
    const fb::Arena &arena = *root.arenas()->Get(i);
    std::map<uint64_t, const fb::Buffer *> byOffset;
    for (const fb::Buffer *buffer : *root.buffers())
      if (buffer->arena() == i && buffer->program() < 0 &&
          buffer->view_of() < 0)
        byOffset[buffer->offset()] = buffer;
    std::printf("  arena %u, %s: %llu bytes (%s)\n", i,
                fb::EnumNameArenaKind(arena.kind()),
                static_cast<unsigned long long>(arena.bytes()),
                formatBytes(arena.bytes()).c_str());
    for (const auto &[offset, buffer] : byOffset)
      std::printf("    %12llu %12llu  %-5s %-22s %s\n",
                  static_cast<unsigned long long>(offset),
                  static_cast<unsigned long long>(buffer->bytes()),
                  fb::EnumNameDType(buffer->dtype()),
                  strCat(std::span<const uint64_t>(buffer->shape()->data(),
                                                   buffer->shape()->size()))
                      .c_str(),
                  buffer->name()->c_str());
  }
}

void printWeights(const Plan &plan) {
  std::printf("\nweights wanted\n");
  for (const fb::LoadWeight *load : weightsOf(plan)) {
    std::string shape = load->cols() ? strCat(load->rows(), " x ", load->cols())
                                     : strCat(load->rows());
    const fb::Buffer &buffer = plan.buffer(load->dst());
    std::printf("  %-32s %-14s -> %s%s\n", load->names()->Get(0)->c_str(),
                shape.c_str(), fb::EnumNameDType(buffer.dtype()),
                load->transpose() ? ", transposed" : "");
  }
}

Status inspect(const std::string &path, bool json) {
  GPT2_ASSIGN_OR_RETURN(Plan plan, Plan::load(path));
  if (json) {
    printJson(planJson(plan));
    return Status::okStatus();
  }
  printModel(plan, path);
  printPrograms(plan.root());
  printKernels(plan.root());
  printMemoryMap(plan);
  printWeights(plan);
  return Status::okStatus();
}

} // namespace

std::vector<const fb::LoadWeight *> tool::weightsOf(const Plan &plan) {
  std::vector<const fb::LoadWeight *> loads;
  for (const fb::Program *program : *plan.root().programs())
    for (const fb::Instruction *instruction : *program->instructions())
      if (const fb::LoadWeight *load = instruction->op_as_LoadWeight())
        loads.push_back(load);
  return loads;
}

Command tool::addInspect(CLI::App &app) {
  struct Flags {
    std::string plan;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App *sub = app.add_subcommand("inspect", "Describes a plan file");
  sub->add_option("PLAN", flags->plan, "Plan file made by gpt2c")->required();
  sub->add_flag("--json", flags->json, "Print one JSON object");
  return [=] { return inspect(flags->plan, flags->json); };
}
