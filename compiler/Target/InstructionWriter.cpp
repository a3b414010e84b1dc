//===- InstructionWriter.cpp - Instructions as FlatBuffer tables
//------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Target/InstructionWriter.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::gpt2c;
namespace fb = gpt2rt::fb;

namespace {

uint32_t dimension(Value buffer, unsigned i) {
  return cast<MemRefType>(buffer.getType()).getDimSize(i);
}

template <typename Op>
float dropoutOf(Op op) {
  return op.getDropout() ? op.getDropout()->convertToFloat() : 0.0f;
}

class Writer {
public:
  Writer(flatbuffers::FlatBufferBuilder &builder, const PlanTables &tables)
      : builder(builder), tables(tables) {}

  auto write(plan::LaunchOp op) {
    std::vector<uint32_t> buffers;
    std::vector<fb::Access> access;
    for (Value in : op.getIns()) {
      buffers.push_back(tables.indexOf(in));
      access.push_back(fb::Access::Read);
    }
    for (auto [i, out] : llvm::enumerate(op.getOuts())) {
      buffers.push_back(tables.indexOf(out));
      access.push_back(op.isUpdate(i) ? fb::Access::ReadWrite
                                      : fb::Access::Write);
    }
    std::vector<int32_t> scalars =
        op.getScalars().value_or(ArrayRef<int32_t>()).vec();
    auto buffersOffset = builder.CreateVector(buffers);
    auto accessOffset = builder.CreateVector(access);
    auto scalarsOffset = builder.CreateVector(scalars);
    static constexpr int32_t noGrid[] = {1, 1, 1};
    ArrayRef<int32_t> grid = op.getGrid().value_or(ArrayRef<int32_t>(noGrid));
    return fb::CreateLaunch(builder, tables.kernelIndex(op.getKernel()),
                            buffersOffset, accessOffset, scalarsOffset,
                            op.getRows(), grid[0], grid[1], grid[2],
                            op.getProgrammatic(), op.getDynamicRows());
  }

  auto write(plan::MatmulOp op) {
    return fb::CreateMatmul(
        builder, tables.indexOf(op.getA()), tables.indexOf(op.getWeight()),
        tables.indexOrNone(op.getBias()), tables.indexOf(op.getD()), op.getM(),
        op.getN(), op.getK(), !op.getWeightKn(),
        op.getBias() ? fb::Epilogue::Bias : fb::Epilogue::None,
        tables.indexOrNone(op.getWorkspace()), op.getDynamicRows(),
        op.getTransposeA(), op.getAccumulate());
  }

  auto write(plan::AttentionOp op) {
    return fb::CreateAttention(
        builder, tables.indexOf(op.getQkv()), tables.indexOf(op.getOut()),
        tables.indexOrNone(op.getKCache()), tables.indexOrNone(op.getVCache()),
        tables.indexOrNone(op.getStarts()), tables.indexOrNone(op.getSlot()),
        op.getBatch(), op.getTokens(), op.getHeads(), op.getHeadSize(),
        op.getScale().convertToFloat(), tables.indexOrNone(op.getWorkspace()),
        op.getDynamicRows(), tables.indexOrNone(op.getLse()),
        tables.indexOrNone(op.getRng()), dropoutOf(op),
        op.getDropoutId().value_or(0));
  }

  auto write(plan::AttentionGradOp op) {
    return fb::CreateAttentionGrad(
        builder, tables.indexOf(op.getQkv()), tables.indexOf(op.getOut()),
        tables.indexOf(op.getLse()), tables.indexOf(op.getDout()),
        tables.indexOf(op.getDqkv()), op.getBatch(), op.getTokens(),
        op.getHeads(), op.getHeadSize(), op.getScale().convertToFloat(),
        tables.indexOrNone(op.getWorkspace()), tables.indexOrNone(op.getRng()),
        dropoutOf(op), op.getDropoutId().value_or(0));
  }

  auto write(plan::EmbedGradOp op) {
    return fb::CreateEmbedGrad(
        builder, tables.indexOf(op.getDx()), tables.indexOf(op.getTokens()),
        tables.indexOf(op.getOrder()), tables.indexOf(op.getDwte()),
        tables.indexOf(op.getDwpe()), op.getBatch(), op.getTokensPerSequence());
  }

  auto write(plan::CacheAppendOp op) {
    return fb::CreateCacheAppend(
        builder, tables.indexOf(op.getQkv()), tables.indexOf(op.getKCache()),
        tables.indexOf(op.getVCache()), tables.indexOf(op.getStarts()),
        tables.indexOrNone(op.getCount()), tables.indexOrNone(op.getSlot()),
        op.getBatch(), op.getTokens(), op.getHeads(), op.getHeadSize());
  }

  auto write(plan::SampleOp op) {
    return fb::CreateSample(
        builder, tables.indexOf(op.getLogits()),
        tables.indexOf(op.getSampling()), tables.indexOf(op.getTokens()),
        tables.indexOf(op.getPositions()), tables.indexOf(op.getStarts()),
        tables.indexOrNone(op.getCount()), tables.indexOrNone(op.getSlot()),
        dimension(op.getLogits(), 0), op.getVocab(), op.getPositionsLimit(),
        tables.indexOrNone(op.getWorkspace()));
  }

  auto write(plan::CopyOp op) {
    return fb::CreateCopy(builder, tables.indexOf(op.getSrc()),
                          tables.indexOf(op.getDst()));
  }

  auto write(plan::FillOp op) {
    return fb::CreateFill(builder, tables.indexOf(op.getDst()),
                          op.getValue().convertToFloat());
  }

  auto write(plan::LoadWeightOp op) {
    std::vector<flatbuffers::Offset<flatbuffers::String>> names;
    for (auto name : op.getNames().getAsRange<StringAttr>())
      names.push_back(builder.CreateString(name.str()));
    auto namesOffset = builder.CreateVector(names);
    return fb::CreateLoadWeight(builder, namesOffset,
                                tables.indexOf(op.getDst()), op.getRows(),
                                op.getCols(), op.getTranspose());
  }

  template <typename Op>
  flatbuffers::Offset<fb::Instruction> instruction(Op op, fb::Op tag) {
    auto table = write(op);
    return fb::CreateInstruction(builder, tag, table.Union(),
                                 tables.costIndex(op));
  }

private:
  flatbuffers::FlatBufferBuilder &builder;
  const PlanTables &tables;
};

} // namespace

flatbuffers::Offset<fb::Instruction>
mlir::gpt2c::writeInstruction(flatbuffers::FlatBufferBuilder &builder,
                              const PlanTables &tables,
                              plan::InstructionOpInterface op) {
  Writer writer(builder, tables);
  return llvm::TypeSwitch<Operation *, flatbuffers::Offset<fb::Instruction>>(op)
      .Case([&](plan::LaunchOp op) {
        return writer.instruction(op, fb::Op::Launch);
      })
      .Case([&](plan::MatmulOp op) {
        return writer.instruction(op, fb::Op::Matmul);
      })
      .Case([&](plan::AttentionOp op) {
        return writer.instruction(op, fb::Op::Attention);
      })
      .Case([&](plan::CacheAppendOp op) {
        return writer.instruction(op, fb::Op::CacheAppend);
      })
      .Case([&](plan::SampleOp op) {
        return writer.instruction(op, fb::Op::Sample);
      })
      .Case(
          [&](plan::CopyOp op) { return writer.instruction(op, fb::Op::Copy); })
      .Case(
          [&](plan::FillOp op) { return writer.instruction(op, fb::Op::Fill); })
      .Case([&](plan::AttentionGradOp op) {
        return writer.instruction(op, fb::Op::AttentionGrad);
      })
      .Case([&](plan::EmbedGradOp op) {
        return writer.instruction(op, fb::Op::EmbedGrad);
      })
      .Case([&](plan::LoadWeightOp op) {
        return writer.instruction(op, fb::Op::LoadWeight);
      });
}
