//===- ValidateDataflow.cpp - Lifetimes, first writes, constants ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Plan/Operands.h"
#include "runtime/Plan/Validator.h"

using namespace gpt2rt;
using namespace gpt2rt::detail;

namespace {

class Dataflow {
public:
  explicit Dataflow(const fb::Plan &plan)
      : plan(plan), written(plan.buffers()->size(), false),
        initialized(plan.buffers()->size(), false) {}

  Status run() {
    for (uint32_t p = 0; p < plan.programs()->size(); ++p) {
      const fb::Program &program = *plan.programs()->Get(p);
      for (uint32_t i = 0; i < program.instructions()->size(); ++i) {
        const fb::Instruction &instruction = *program.instructions()->Get(i);
        GPT2_RETURN_IF_ERROR(checkInstruction(program, i, instruction, p));
      }
    }
    return checkParameters();
  }

private:
  const fb::Buffer &at(uint32_t index) const {
    return *plan.buffers()->Get(index);
  }
  fb::ArenaKind kind(uint32_t index) const {
    return plan.arenas()->Get(at(index).arena())->kind();
  }
  std::string named(uint32_t index) const {
    return strCat("buffer ", quote(at(index).name()->string_view()));
  }

  /// Reads come first: an instruction cannot read what only it writes.
  Status checkInstruction(const fb::Program &program, uint32_t i,
                          const fb::Instruction &instruction, uint32_t p) {
    Where programWhere("programs", p);
    Where at(programWhere, "instructions", i);
    Where where(at, instructionName(instruction.op_type()));
    operandsOf(instruction, operands);
    for (const Operand &operand : operands)
      GPT2_RETURN_IF_ERROR(checkOperand(program, i, operand, where));
    for (const Operand &operand : operands)
      if (operand.writes()) {
        written[operand.buffer] = true;
        if (program.role() == fb::Role::Init)
          initialized[operand.buffer] = true;
      }
    return Status::okStatus();
  }

  Status checkOperand(const fb::Program &program, uint32_t i,
                      const Operand &operand, const Where &where) const {
    const fb::Buffer &buffer = at(operand.buffer);
    Where field(where, operand.field, operand.index);
    if (buffer.program() >= 0 && (i < buffer.first() || i > buffer.last()))
      return dataLoss(field.text(), " is ", named(operand.buffer),
                      ", which lives in instructions ", buffer.first(), "..",
                      buffer.last(), " only");
    // Libraries' scratch has no contents to speak of.
    if (operand.reads() && buffer.program() >= 0 && !written[operand.buffer] &&
        kind(operand.buffer) != fb::ArenaKind::Workspace)
      return dataLoss(field.text(), " reads ", named(operand.buffer),
                      ", which nothing before it has written");
    if (operand.writes() && !mayWrite(program.role(), kind(operand.buffer)))
      return dataLoss(field.text(), " writes ", noun(operand.buffer), " ",
                      named(operand.buffer), ", which ",
                      kind(operand.buffer) == fb::ArenaKind::Gradients
                          ? "only Init, Accumulate and Update programs may"
                          : "only an Init program may, or an Update program");
    return Status::okStatus();
  }

  /// Parameters and moments are the optimizer's to change, gradients also
  /// those of the programs that sum them up.
  static bool mayWrite(fb::Role role, fb::ArenaKind kind) {
    if (!isInitialized(kind) || role == fb::Role::Init ||
        role == fb::Role::Update)
      return true;
    return kind == fb::ArenaKind::Gradients && role == fb::Role::Accumulate;
  }

  /// Whether globals of the kind begin with what init writes.
  static bool isInitialized(fb::ArenaKind kind) {
    return kind == fb::ArenaKind::Weights || kind == fb::ArenaKind::Gradients ||
           kind == fb::ArenaKind::Optimizer;
  }

  const char *noun(uint32_t index) const {
    if (kind(index) == fb::ArenaKind::Gradients)
      return "gradient";
    return kind(index) == fb::ArenaKind::Optimizer ? "moment" : "parameter";
  }

  /// Whatever programs can read of a parameter, init has written.
  Status checkParameters() const {
    for (uint32_t i = 0; i < plan.buffers()->size(); ++i)
      if (isInitialized(kind(i)) && at(i).view_of() == -1 && !initialized[i])
        return dataLoss("buffers[", i, "] is ", noun(i), " ", named(i),
                        ", which no Init program writes");
    return Status::okStatus();
  }

  const fb::Plan &plan;
  std::vector<bool> written;     // by a view of it does not count
  std::vector<bool> initialized; // the same, by an Init program
  std::vector<Operand> operands; // of the current instruction
};

} // namespace

Status detail::validateDataflow(const fb::Plan &plan) {
  return Dataflow(plan).run();
}
