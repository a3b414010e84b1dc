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
      : plan(plan), written(plan.buffers()->size(), false) {}

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
      if (operand.writes())
        written[operand.buffer] = true;
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
    if (operand.writes() && kind(operand.buffer) == fb::ArenaKind::Weights &&
        program.role() != fb::Role::Init)
      return dataLoss(field.text(), " writes parameter ", named(operand.buffer),
                      ", which only an Init program may");
    return Status::okStatus();
  }

  /// Whatever programs can read of a parameter, init has written.
  Status checkParameters() const {
    for (uint32_t i = 0; i < plan.buffers()->size(); ++i)
      if (kind(i) == fb::ArenaKind::Weights && at(i).view_of() == -1 &&
          !written[i])
        return dataLoss("buffers[", i, "] is parameter ", named(i),
                        ", which no Init program writes");
    return Status::okStatus();
  }

  const fb::Plan &plan;
  std::vector<bool> written;     // by a view of it does not count
  std::vector<Operand> operands; // of the current instruction
};

} // namespace

Status detail::validateDataflow(const fb::Plan &plan) {
  return Dataflow(plan).run();
}
