//===- ValidateInstructions.cpp - Programs and their operands -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Plan/OperandCheck.h"
#include "runtime/Plan/Operands.h"

using namespace gpt2rt;
using namespace gpt2rt::detail;

namespace {

/// CUDA's limits on a launch.
constexpr uint32_t maxGridX = 0x7fffffff, maxGridYZ = 65535;
constexpr uint64_t maxParameterBytes = 4096;

/// Indices of every operand before anything looks at a buffer, and that the
/// buffers of other programs are left alone.
Status checkOperandIndices(const fb::Plan &plan, uint32_t program,
                           const fb::Instruction &instruction,
                           const Where &where) {
  std::vector<Operand> operands;
  operandsOf(instruction, operands);
  for (const Operand &operand : operands) {
    Where field(where, operand.field, operand.index);
    if (operand.buffer >= plan.buffers()->size())
      return dataLoss(field.text(), " is ", operand.buffer,
                      ", but the plan has ", plan.buffers()->size(),
                      " buffers");
    int32_t owner = plan.buffers()->Get(operand.buffer)->program();
    if (owner != -1 && static_cast<uint32_t>(owner) != program)
      return dataLoss(field.text(), " is ", operand.buffer,
                      ", but that buffer belongs to program ", owner);
  }
  return Status::okStatus();
}

Status checkGrid(const fb::Launch &op, const Where &where) {
  if (op.grid_x() == 0 || op.grid_x() > maxGridX)
    return where.bad("grid_x", op.grid_x(), "it must be in [1, ", maxGridX,
                     "]");
  if (op.grid_y() == 0 || op.grid_y() > maxGridYZ)
    return where.bad("grid_y", op.grid_y(), "it must be in [1, ", maxGridYZ,
                     "]");
  if (op.grid_z() == 0 || op.grid_z() > maxGridYZ)
    return where.bad("grid_z", op.grid_z(), "it must be in [1, ", maxGridYZ,
                     "]");
  uint64_t scalars = op.scalars() ? op.scalars()->size() : 0;
  uint64_t bytes = 8 * uint64_t(op.buffers()->size()) + 4 * (1 + scalars);
  if (bytes > maxParameterBytes)
    return dataLoss(where.text(), " has ", bytes,
                    " bytes of kernel parameters, but CUDA takes ",
                    maxParameterBytes);
  return Status::okStatus();
}

Status check(const OperandCheck &operands, const fb::Launch &op) {
  const Where &where = operands.where;
  if (op.kernel() >= operands.plan.kernels()->size())
    return where.bad("kernel", op.kernel(), "the plan has ",
                     operands.plan.kernels()->size(), " kernels");
  if (op.buffers()->size() == 0 || op.access()->size() != op.buffers()->size())
    return dataLoss(where.text(), ".access has ", op.access()->size(),
                    " entries, but buffers has ", op.buffers()->size());
  for (uint32_t i = 0; i < op.access()->size(); ++i)
    if (!isKnown(static_cast<fb::Access>(op.access()->Get(i))))
      return dataLoss(where.text(), ".access[", i, "] is ",
                      unsigned(op.access()->Get(i)),
                      ", but 1 to 3 are read, write and both");
  if (op.rows() == 0 || op.rows() > maxRows)
    return where.bad("rows", op.rows(), "it must be in [1, ", maxRows, "]");
  const fb::Kernel &kernel = *operands.plan.kernels()->Get(op.kernel());
  // What a row kernel writes has as many rows as it runs over, or, where it
  // sums over columns, a number a block that it runs over.
  if (kernel.kind()->string_view() == "row")
    for (uint32_t i = 0; i < op.buffers()->size(); ++i) {
      uint32_t buffer = op.buffers()->Get(i);
      if (static_cast<fb::Access>(op.access()->Get(i)) != fb::Access::Read &&
          operands.leading(buffer) < op.rows() &&
          operands.matrix(buffer).columns != op.rows())
        return where.bad("rows", op.rows(), operands.describe(buffer), " has ",
                         operands.leading(buffer), " rows");
    }
  return operands.plan.target() == fb::Target::CUDA ? checkGrid(op, where)
                                                    : Status::okStatus();
}

Status checkAlgorithm(const OperandCheck &operands, const fb::Matmul &op) {
  const fb::Tuning *tuning = operands.plan.tuning();
  uint32_t algorithms = tuning ? tuning->algorithms()->size() : 0;
  if (op.algorithm() < -1 || op.algorithm() >= int64_t(algorithms))
    return operands.where.bad("algorithm", op.algorithm(), "the plan has ",
                              algorithms, " algorithms");
  return Status::okStatus();
}

Status check(const OperandCheck &operands, const fb::Matmul &op) {
  const Where &where = operands.where;
  if (!isKnown(op.epilogue()))
    return where.bad("epilogue", unsigned(op.epilogue()),
                     "the largest known is ", unsigned(fb::Epilogue::MAX));
  if ((op.epilogue() == fb::Epilogue::Bias) != (op.bias() >= 0))
    return where.bad("bias", op.bias(), "the epilogue is ",
                     fb::EnumNameEpilogue(op.epilogue()));
  GPT2_RETURN_IF_ERROR(checkAlgorithm(operands, op));
  for (auto [field, buffer] :
       {std::pair("a", op.a()), {"d", op.d()}, {"weight", op.weight()}})
    GPT2_RETURN_IF_ERROR(operands.isFloat(field, buffer));
  bool transposed = op.transpose_a();
  GPT2_RETURN_IF_ERROR(operands.columns(transposed ? "m" : "k",
                                        transposed ? op.m() : op.k(), op.a()));
  GPT2_RETURN_IF_ERROR(operands.rows(transposed ? "k" : "m",
                                     transposed ? op.k() : op.m(), op.a()));
  GPT2_RETURN_IF_ERROR(operands.columns("n", op.n(), op.d()));
  GPT2_RETURN_IF_ERROR(operands.rows("m", op.m(), op.d()));
  if (transposed && op.dynamic_rows())
    return where.bad("dynamic_rows", true, "transpose_a is, too");
  if (op.accumulate() && (operands.type(op.d()) != fb::DType::F32 ||
                          op.epilogue() != fb::Epilogue::None))
    return where.bad("accumulate", true, operands.describe(op.d()), " holds ",
                     fb::EnumNameDType(operands.type(op.d())),
                     " and the epilogue is ",
                     fb::EnumNameEpilogue(op.epilogue()),
                     ": sums are F32 and have no epilogue");
  uint32_t rows = op.weight_nk() ? op.n() : op.k();
  uint32_t columns = op.weight_nk() ? op.k() : op.n();
  GPT2_RETURN_IF_ERROR(operands.shape("weight", op.weight(), {rows, columns}));
  if (operands.type(op.a()) != operands.type(op.weight()))
    return where.bad("weight", operands.describe(op.weight()), "its type is ",
                     fb::EnumNameDType(operands.type(op.weight())), " and ",
                     operands.describe(op.a()), " has ",
                     fb::EnumNameDType(operands.type(op.a())));
  if (op.bias() < 0)
    return Status::okStatus();
  GPT2_RETURN_IF_ERROR(operands.isFloat("bias", op.bias()));
  // cuBLASLt adds it in the result's type, oneDNN in fp32.
  if (operands.plan.target() == fb::Target::CUDA &&
      operands.type(op.bias()) != operands.type(op.d()))
    return where.bad("bias", operands.describe(op.bias()), "its type is ",
                     fb::EnumNameDType(operands.type(op.bias())), " and ",
                     operands.describe(op.d()), " has ",
                     fb::EnumNameDType(operands.type(op.d())));
  return operands.columns("n", op.n(), op.bias());
}

Status check(const OperandCheck &operands, const fb::Attention &op) {
  return checkAttention(operands, op);
}
Status check(const OperandCheck &operands, const fb::AttentionGrad &op) {
  return checkAttention(operands, op);
}
Status check(const OperandCheck &operands, const fb::CacheAppend &op) {
  return checkAttention(operands, op);
}

Status check(const OperandCheck &operands, const fb::Sample &op) {
  const Where &where = operands.where;
  if (op.batch() == 0)
    return where.bad("batch", op.batch(), "it must be at least 1");
  if (operands.type(op.logits()) != fb::DType::F32)
    return where.bad("logits", operands.describe(op.logits()),
                     "its type is not F32");
  GPT2_RETURN_IF_ERROR(operands.rows("batch", op.batch(), op.logits()));
  uint64_t columns = operands.matrix(op.logits()).columns;
  if (op.vocab() == 0 || op.vocab() > columns)
    return where.bad("vocab", op.vocab(), operands.describe(op.logits()),
                     " has ", columns, " columns");
  if (op.positions_limit() == 0 || op.positions_limit() > maxRows)
    return where.bad("positions_limit", op.positions_limit(),
                     "it must be in [1, ", maxRows, "]");
  constexpr uint64_t words = 8; // sizeof(SamplingParams) / 4
  GPT2_RETURN_IF_ERROR(
      operands.integers("sampling", op.sampling(), words * op.batch()));
  for (auto [field, buffer] : {std::pair("tokens", op.tokens()),
                               {"positions", op.positions()},
                               {"starts", op.starts()}})
    GPT2_RETURN_IF_ERROR(operands.integers(field, buffer, op.batch()));
  for (auto [field, buffer] :
       {std::pair("count", op.count()), {"slot", op.slot()}})
    if (buffer >= 0)
      GPT2_RETURN_IF_ERROR(operands.integers(field, buffer, 1));
  return Status::okStatus();
}

Status check(const OperandCheck &operands, const fb::Copy &op) {
  const fb::Buffer &src = *operands.plan.buffers()->Get(op.src());
  const fb::Buffer &dst = *operands.plan.buffers()->Get(op.dst());
  if (src.dtype() != dst.dtype() || src.bytes() != dst.bytes())
    return operands.where.bad("dst", operands.describe(op.dst()), "it has ",
                              dst.bytes(), " bytes of ",
                              fb::EnumNameDType(dst.dtype()), " and ",
                              operands.describe(op.src()), " has ", src.bytes(),
                              " of ", fb::EnumNameDType(src.dtype()));
  return Status::okStatus();
}

Status check(const OperandCheck &, const fb::Fill &) {
  return Status::okStatus();
}

/// What init fills are gradients and moments: other memory is bound or zero.
Status checkClears(const OperandCheck &operands, const fb::Fill &op) {
  const fb::Buffer &dst = *operands.plan.buffers()->Get(op.dst());
  fb::ArenaKind kind = operands.plan.arenas()->Get(dst.arena())->kind();
  if (kind == fb::ArenaKind::Gradients || kind == fb::ArenaKind::Optimizer)
    return Status::okStatus();
  return operands.where.bad("dst", operands.describe(op.dst()),
                            "it does not lie in a Gradients or Optimizer "
                            "arena");
}

Status check(const OperandCheck &operands, const fb::LoadWeight &op) {
  const Where &where = operands.where;
  if (op.names()->size() == 0)
    return dataLoss(where.text(), ".names is empty: no tensor to load");
  const fb::Buffer &dst = *operands.plan.buffers()->Get(op.dst());
  fb::ArenaKind kind = operands.plan.arenas()->Get(dst.arena())->kind();
  if (kind != fb::ArenaKind::Weights)
    return where.bad("dst", operands.describe(op.dst()),
                     "it does not lie in a Weights arena");
  GPT2_RETURN_IF_ERROR(operands.isFloat("dst", op.dst()));
  // A vector of the file is a vector here: one row, or a column of ones.
  std::span<const uint64_t> shape = operands.shapeOf(op.dst());
  if (op.rows() == 0)
    return where.bad("rows", op.rows(), "the tensor would be empty");
  if (op.cols() == 0) {
    if (op.transpose() ||
        op.rows() > dst.bytes() / operands.elementSize(op.dst()))
      return where.bad("rows", op.rows(),
                       "a vector of that length does not "
                       "fit ",
                       operands.describe(op.dst()), " of shape ", shape);
    return Status::okStatus();
  }
  uint64_t rows = op.transpose() ? op.cols() : op.rows();
  uint64_t columns = op.transpose() ? op.rows() : op.cols();
  if (shape.size() != 2 || rows > shape[0] || columns > shape[1])
    return where.bad("rows", op.rows(), "a tensor of ", rows, " x ", columns,
                     " does not fit ", operands.describe(op.dst()),
                     " of shape ", shape);
  return Status::okStatus();
}

Status check(const OperandCheck &operands, const fb::EmbedGrad &op) {
  const Where &where = operands.where;
  if (op.batch() == 0 || op.tokens_per_sequence() == 0)
    return dataLoss(where.text(), " has batch ", op.batch(),
                    " and tokens_per_sequence ", op.tokens_per_sequence(),
                    ", but none may be 0");
  uint64_t rows = uint64_t(op.batch()) * op.tokens_per_sequence();
  GPT2_RETURN_IF_ERROR(operands.rows("batch * tokens", rows, op.dx()));
  uint64_t columns = operands.matrix(op.dx()).columns;
  for (auto [field, buffer] :
       {std::pair("dx", op.dx()), {"dwte", op.dwte()}, {"dwpe", op.dwpe()}}) {
    if (operands.type(buffer) != fb::DType::F32)
      return where.bad(field, operands.describe(buffer), "its type is not F32");
    GPT2_RETURN_IF_ERROR(operands.columns("columns of dx", columns, buffer));
  }
  GPT2_RETURN_IF_ERROR(operands.rows("tokens_per_sequence",
                                     op.tokens_per_sequence(), op.dwpe()));
  GPT2_RETURN_IF_ERROR(operands.integers("tokens", op.tokens(), rows));
  return operands.integers("order", op.order(), rows);
}

template <typename Op>
Status checkAs(const OperandCheck &operands, const fb::Program &program,
               const Op &op) {
  if constexpr (requires { op.dynamic_rows(); })
    if (op.dynamic_rows() && program.count_slot() < 0)
      return operands.where.bad("dynamic_rows", true,
                                "the program has no count_slot");
  return check(operands, op);
}

Status dispatch(const OperandCheck &operands, const fb::Program &program,
                const fb::Instruction &instruction) {
  // Executors run Init by binding weights and clearing the training state.
  bool isInit = program.role() == fb::Role::Init;
  bool loads = instruction.op_type() == fb::Op::LoadWeight;
  if (loads && !isInit)
    return dataLoss(operands.where.text(),
                    " loads a weight, but only an Init program may");
  if (isInit && !loads && instruction.op_type() != fb::Op::Fill)
    return dataLoss(operands.where.text(),
                    " stands in an Init program, which may only load weights "
                    "and fill");
  if (isInit && !loads)
    GPT2_RETURN_IF_ERROR(checkClears(operands, *instruction.op_as_Fill()));
  switch (instruction.op_type()) {
  case fb::Op::NONE:
    break;
  case fb::Op::Launch:
    return checkAs(operands, program, *instruction.op_as_Launch());
  case fb::Op::Matmul:
    return checkAs(operands, program, *instruction.op_as_Matmul());
  case fb::Op::Attention:
    return checkAs(operands, program, *instruction.op_as_Attention());
  case fb::Op::CacheAppend:
    return checkAs(operands, program, *instruction.op_as_CacheAppend());
  case fb::Op::Sample:
    return checkAs(operands, program, *instruction.op_as_Sample());
  case fb::Op::Copy:
    return checkAs(operands, program, *instruction.op_as_Copy());
  case fb::Op::Fill:
    return checkAs(operands, program, *instruction.op_as_Fill());
  case fb::Op::LoadWeight:
    return checkAs(operands, program, *instruction.op_as_LoadWeight());
  case fb::Op::AttentionGrad:
    return checkAs(operands, program, *instruction.op_as_AttentionGrad());
  case fb::Op::EmbedGrad:
    return checkAs(operands, program, *instruction.op_as_EmbedGrad());
  }
  return internalError("instruction tag was not checked");
}

Status checkProgram(const fb::Plan &plan, const fb::Program &program,
                    const Where &where) {
  if (!isKnown(program.role()))
    return where.bad("role", unsigned(program.role()), "the largest known is ",
                     unsigned(fb::Role::MAX));
  if (program.batch() > plan.batch())
    return where.bad("batch", program.batch(), "the plan's batch is ",
                     plan.batch());
  if (program.count_slot() < -1 ||
      program.count_slot() >= int64_t(plan.buffers()->size()))
    return where.bad("count_slot", program.count_slot(), "the plan has ",
                     plan.buffers()->size(), " buffers");
  if (program.count_slot() < 0)
    return Status::okStatus();
  const fb::Buffer &slot = *plan.buffers()->Get(program.count_slot());
  if (slot.program() != -1 || slot.dtype() != fb::DType::I32)
    return where.bad("count_slot", program.count_slot(),
                     "that buffer is no I32 state slot");
  return Status::okStatus();
}

} // namespace

Status detail::validateInstructions(const fb::Plan &plan) {
  for (uint32_t p = 0; p < plan.programs()->size(); ++p) {
    const fb::Program &program = *plan.programs()->Get(p);
    Where programWhere("programs", p);
    GPT2_RETURN_IF_ERROR(checkProgram(plan, program, programWhere));
    for (uint32_t i = 0; i < program.instructions()->size(); ++i) {
      const fb::Instruction &instruction = *program.instructions()->Get(i);
      Where at(programWhere, "instructions", i);
      // The verifier lets unknown tags pass: they may be a newer format's.
      if (instruction.op_type() == fb::Op::NONE ||
          !isKnown(instruction.op_type()))
        return at.bad("op_type", unsigned(instruction.op_type()),
                      "this gpt2-run knows 1 to ", unsigned(fb::Op::MAX));
      uint32_t costs = plan.costs() ? plan.costs()->size() : 0;
      if (instruction.cost() < -1 || instruction.cost() >= int64_t(costs))
        return at.bad("cost", instruction.cost(), "the plan has ", costs,
                      " costs");
      Where where(at, instructionName(instruction.op_type()));
      GPT2_RETURN_IF_ERROR(checkOperandIndices(plan, p, instruction, where));
      GPT2_RETURN_IF_ERROR(
          dispatch(OperandCheck{plan, where}, program, instruction));
    }
  }
  return Status::okStatus();
}
