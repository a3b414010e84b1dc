//===- PlanText.cpp - A plan file as text
//-----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the finished file, so that what is shown is what was written.
//
//===----------------------------------------------------------------------===//
#include "compiler/Target/PlanFile.h"

#include "runtime/Plan/Plan.h"
#include "runtime/Support/DType.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::gpt2c;
namespace fb = gpt2rt::fb;

namespace {

class Printer {
public:
  Printer(const gpt2rt::Plan &plan, llvm::raw_ostream &os)
      : plan(plan), root(plan.root()), os(os) {}

  void print() {
    printHead();
    printArenas();
    printBuffers();
    printKernels();
    for (const fb::Program *program : *root.programs())
      printProgram(*program);
  }

private:
  void printHead();
  void printArenas();
  void printBuffers();
  void printKernels();
  void printProgram(const fb::Program &program);
  void printInstruction(const fb::Instruction &instruction);
  void print(const fb::Launch &op);
  void print(const fb::Matmul &op);
  void print(const fb::Attention &op);
  void print(const fb::AttentionGrad &op);
  void print(const fb::EmbedGrad &op);
  void print(const fb::CacheAppend &op);
  void print(const fb::Sample &op);
  void print(const fb::LoadWeight &op);

  StringRef nameOf(uint32_t buffer) const { return plan.bufferName(buffer); }
  /// " key name", or nothing for an absent operand.
  void printOptional(StringRef key, int32_t buffer) {
    if (buffer >= 0)
      os << ' ' << key << ' ' << nameOf(buffer);
  }
  void printDynamic(bool dynamic) {
    if (dynamic)
      os << " dynamic";
  }
  void printDropout(int32_t rng, float dropout, uint32_t id) {
    printOptional("rng", rng);
    if (rng >= 0)
      os << " dropout " << dropout << " id " << id;
  }

  const gpt2rt::Plan &plan;
  const fb::Plan &root;
  llvm::raw_ostream &os;
};

void Printer::printHead() {
  const fb::Model &model = *root.model();
  os << "plan " << model.name()->c_str() << " target "
     << fb::EnumNameTarget(root.target()) << " precision "
     << fb::EnumNamePrecision(root.precision()) << " mode "
     << fb::EnumNameMode(root.mode()) << " batch " << root.batch() << " by "
     << root.producer()->c_str();
  if (root.max_accumulation() != 0)
    os << " max accumulation " << root.max_accumulation();
  os << '\n';
  os << "model vocab " << model.vocab() << " padded " << model.padded_vocab()
     << " positions " << model.positions() << " width " << model.width()
     << " layers " << model.layers() << " heads " << model.heads() << " inner "
     << model.inner() << " eos " << model.eos() << " parameters "
     << model.parameters() << '\n';
}

void Printer::printArenas() {
  for (const fb::Arena *arena : *root.arenas())
    os << "arena " << fb::EnumNameArenaKind(arena->kind()) << " bytes "
       << arena->bytes() << " alignment " << arena->alignment() << '\n';
}

void Printer::printBuffers() {
  for (const fb::Buffer *buffer : *root.buffers()) {
    os << "buffer " << buffer->name()->c_str() << ' '
       << fb::EnumNameDType(buffer->dtype()) << " [";
    llvm::interleave(
        *buffer->shape(), os, [&](uint64_t size) { os << size; }, "x");
    os << "] "
       << fb::EnumNameArenaKind(root.arenas()->Get(buffer->arena())->kind())
       << '+' << buffer->offset();
    if (buffer->program() >= 0)
      os << " live " << buffer->first() << ".." << buffer->last();
    if (buffer->view_of() >= 0)
      os << " view";
    os << '\n';
  }
}

void Printer::printKernels() {
  for (const fb::Kernel *kernel : *root.kernels()) {
    os << "kernel " << kernel->name()->c_str() << ' '
       << kernel->kind()->c_str();
    if (kernel->block_threads())
      os << " threads " << kernel->block_threads() << " shared "
         << kernel->dynamic_shared_bytes();
    if (kernel->rows_grain())
      os << " grain " << kernel->rows_grain();
    for (const fb::KernelImage *image : *kernel->images()) {
      const fb::CodeModule &module = *root.modules()->Get(image->module_());
      os << ' ' << module.arch()->c_str() << '/'
         << fb::EnumNameCodeFormat(module.format());
      if (image->registers())
        os << "(registers " << image->registers() << " spill "
           << image->spill_bytes() << ')';
    }
    os << '\n';
  }
}

void Printer::printProgram(const fb::Program &program) {
  os << "program " << program.name()->c_str() << ' '
     << fb::EnumNameRole(program.role()) << " batch " << program.batch()
     << " tokens " << program.tokens();
  printOptional("count", program.count_slot());
  os << '\n';
  unsigned number = 0;
  for (const fb::Instruction *instruction : *program.instructions()) {
    os << "  " << number++ << ' ';
    printInstruction(*instruction);
    os << '\n';
  }
}

void Printer::print(const fb::Launch &op) {
  os << "launch " << root.kernels()->Get(op.kernel())->name()->c_str()
     << " rows " << op.rows();
  if (root.target() == fb::Target::CUDA)
    os << " grid " << op.grid_x() << 'x' << op.grid_y() << 'x' << op.grid_z();
  for (unsigned i = 0; op.scalars() && i < op.scalars()->size(); ++i)
    os << " scalar " << op.scalars()->Get(i);
  for (unsigned i = 0; i < op.buffers()->size(); ++i) {
    constexpr StringRef access[] = {"", "in", "out", "inout"};
    os << ' ' << access[unsigned(op.access()->Get(i))] << ' '
       << nameOf(op.buffers()->Get(i));
  }
  printDynamic(op.dynamic_rows());
}

void Printer::print(const fb::Matmul &op) {
  os << "matmul " << op.m() << 'x' << op.n() << 'x' << op.k() << " in "
     << nameOf(op.a()) << " weight " << nameOf(op.weight());
  printOptional("bias", op.bias());
  os << (op.transpose_a() ? " transposed" : "")
     << (op.accumulate() ? " inout " : " out ") << nameOf(op.d());
  printOptional("workspace", op.workspace());
  printDynamic(op.dynamic_rows());
}

void Printer::print(const fb::Attention &op) {
  os << "attention batch " << op.batch() << " tokens " << op.tokens()
     << " heads " << op.heads() << 'x' << op.head_size() << " in "
     << nameOf(op.qkv());
  printOptional("k", op.k_cache());
  printOptional("v", op.v_cache());
  printOptional("starts", op.starts());
  printOptional("slot", op.slot());
  printDropout(op.rng(), op.dropout(), op.dropout_id());
  os << " out " << nameOf(op.out());
  printOptional("lse", op.lse());
  printOptional("workspace", op.workspace());
  printDynamic(op.dynamic_rows());
}

void Printer::print(const fb::AttentionGrad &op) {
  os << "attention_grad batch " << op.batch() << " tokens " << op.tokens()
     << " heads " << op.heads() << 'x' << op.head_size() << " in "
     << nameOf(op.qkv()) << " in " << nameOf(op.out()) << " lse "
     << nameOf(op.lse()) << " in " << nameOf(op.dout());
  printDropout(op.rng(), op.dropout(), op.dropout_id());
  os << " out " << nameOf(op.dqkv());
  printOptional("workspace", op.workspace());
}

void Printer::print(const fb::EmbedGrad &op) {
  os << "embed_grad batch " << op.batch() << " tokens "
     << op.tokens_per_sequence() << " in " << nameOf(op.dx()) << " tokens "
     << nameOf(op.tokens()) << " order " << nameOf(op.order()) << " inout "
     << nameOf(op.dwte()) << " inout " << nameOf(op.dwpe());
}

void Printer::print(const fb::CacheAppend &op) {
  os << "cache_append batch " << op.batch() << " tokens " << op.tokens()
     << " in " << nameOf(op.qkv()) << " starts " << nameOf(op.starts());
  printOptional("count", op.count());
  printOptional("slot", op.slot());
  os << " inout " << nameOf(op.k_cache()) << " inout " << nameOf(op.v_cache());
}

void Printer::print(const fb::Sample &op) {
  os << "sample batch " << op.batch() << " vocab " << op.vocab() << " in "
     << nameOf(op.logits()) << " sampling " << nameOf(op.sampling())
     << " starts " << nameOf(op.starts());
  printOptional("count", op.count());
  printOptional("slot", op.slot());
  os << " out " << nameOf(op.tokens()) << " out " << nameOf(op.positions());
  printOptional("workspace", op.workspace());
}

void Printer::print(const fb::LoadWeight &op) {
  os << "load_weight " << op.names()->Get(0)->c_str() << ' ' << op.rows() << 'x'
     << op.cols() << (op.transpose() ? " transpose" : "") << " out "
     << nameOf(op.dst());
}

void Printer::printInstruction(const fb::Instruction &instruction) {
  switch (instruction.op_type()) {
  case fb::Op::Launch:
    return print(*instruction.op_as_Launch());
  case fb::Op::Matmul:
    return print(*instruction.op_as_Matmul());
  case fb::Op::Attention:
    return print(*instruction.op_as_Attention());
  case fb::Op::CacheAppend:
    return print(*instruction.op_as_CacheAppend());
  case fb::Op::Sample:
    return print(*instruction.op_as_Sample());
  case fb::Op::LoadWeight:
    return print(*instruction.op_as_LoadWeight());
  case fb::Op::AttentionGrad:
    return print(*instruction.op_as_AttentionGrad());
  case fb::Op::EmbedGrad:
    return print(*instruction.op_as_EmbedGrad());
  case fb::Op::Copy:
    os << "copy in " << nameOf(instruction.op_as_Copy()->src()) << " out "
       << nameOf(instruction.op_as_Copy()->dst());
    return;
  case fb::Op::Fill:
    os << "fill " << instruction.op_as_Fill()->value() << " out "
       << nameOf(instruction.op_as_Fill()->dst());
    return;
  case fb::Op::NONE:
    break;
  }
  llvm_unreachable("the plan was validated");
}

} // namespace

std::string mlir::gpt2c::printPlanFile(const std::string &file) {
  gpt2rt::Result<gpt2rt::Plan> plan =
      gpt2rt::Plan::parse(std::as_bytes(std::span(file)));
  if (!plan.ok())
    llvm::report_fatal_error("not a plan made by buildPlanFile");
  std::string text;
  llvm::raw_string_ostream os(text);
  Printer(*plan, os).print();
  return text;
}
