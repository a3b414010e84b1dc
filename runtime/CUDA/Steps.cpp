//===- Steps.cpp - Instructions with resolved addresses -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Steps.h"

#include "runtime/Support/Convert.h"

#include <algorithm>
#include <bit>

using namespace gpt2rt;
using namespace gpt2rt::cuda;

namespace {

DType typeOf(const fb::Buffer &buffer) {
  return static_cast<DType>(buffer.dtype());
}

class LaunchStep : public Step {
public:
  LaunchStep(const StepContext &context, const fb::Launch &launch)
      : kernel(context.kernels[launch.kernel()]),
        programmatic(launch.programmatic()), grid{launch.grid_x(),
                                                  launch.grid_y(),
                                                  launch.grid_z()} {
    for (uint32_t buffer : *launch.buffers())
      pointers.push_back(context.arenas.address(context.plan.buffer(buffer)));
    scalars.push_back(static_cast<int32_t>(launch.rows()));
    if (launch.scalars())
      scalars.insert(scalars.end(), launch.scalars()->begin(),
                     launch.scalars()->end());
  }

  bool isKernel() const override { return true; }

  Status enqueue(const Context &context, CUstream stream,
                 bool afterKernel) override {
    std::vector<void *> arguments;
    for (CUdeviceptr &pointer : pointers)
      arguments.push_back(&pointer);
    for (int32_t &scalar : scalars)
      arguments.push_back(&scalar);
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config = {};
    config.gridDimX = grid[0];
    config.gridDimY = grid[1];
    config.gridDimZ = grid[2];
    config.blockDimX = kernel.blockThreads;
    config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = kernel.sharedBytes;
    config.hStream = stream;
    config.attrs = &attribute;
    config.numAttrs = programmatic && kernel.waitsItself && afterKernel;
    GPT2_CU(context.driver(), cuLaunchKernelEx, &config, kernel.function,
            arguments.data(), nullptr);
    return Status();
  }

private:
  const LoadedKernel &kernel;
  bool programmatic;
  unsigned grid[3];
  std::vector<CUdeviceptr> pointers;
  std::vector<int32_t> scalars;
};

class MatmulStep : public Step {
public:
  explicit MatmulStep(std::unique_ptr<MatmulCall> call)
      : call(std::move(call)) {}
  MatmulCall *matmul() override { return call.get(); }
  Status enqueue(const Context &, CUstream stream, bool) override {
    return call->run(stream);
  }

private:
  std::unique_ptr<MatmulCall> call;
};

class CopyStep : public Step {
public:
  CopyStep(CUdeviceptr to, CUdeviceptr from, uint64_t bytes)
      : to(to), from(from), bytes(bytes) {}
  Status enqueue(const Context &context, CUstream stream, bool) override {
    GPT2_CU(context.driver(), cuMemcpyDtoDAsync, to, from, bytes, stream);
    return Status();
  }

private:
  CUdeviceptr to, from;
  uint64_t bytes;
};

class FillStep : public Step {
public:
  FillStep(CUdeviceptr to, uint64_t elements, unsigned elementBytes,
           uint32_t bits)
      : to(to), elements(elements), elementBytes(elementBytes), bits(bits) {}
  Status enqueue(const Context &context, CUstream stream, bool) override {
    const Driver &driver = context.driver();
    if (elementBytes == 4)
      GPT2_CU(driver, cuMemsetD32Async, to, bits, elements, stream);
    else if (elementBytes == 2)
      GPT2_CU(driver, cuMemsetD16Async, to, static_cast<uint16_t>(bits),
              elements, stream);
    else
      GPT2_CU(driver, cuMemsetD8Async, to, static_cast<uint8_t>(bits), elements,
              stream);
    return Status();
  }

private:
  CUdeviceptr to;
  uint64_t elements;
  unsigned elementBytes;
  uint32_t bits;
};

/// The bit pattern of a fill, or nothing for 8-byte types, which no CUDA
/// program holds.
std::optional<uint32_t> fillBits(DType type, float value) {
  switch (type) {
  case DType::F32:
    return std::bit_cast<uint32_t>(value);
  case DType::F16:
    return floatToHalf(value);
  case DType::BF16:
    return floatToBFloat16(value);
  case DType::I32:
    return static_cast<uint32_t>(static_cast<int32_t>(value));
  case DType::U8:
  case DType::I8:
  case DType::BOOL:
    return static_cast<uint8_t>(static_cast<int32_t>(value));
  default:
    return std::nullopt;
  }
}

Result<std::unique_ptr<Step>> makeFill(const StepContext &context,
                                       const fb::Fill &fill) {
  const fb::Buffer &buffer = context.plan.buffer(fill.dst());
  DType type = typeOf(buffer);
  std::optional<uint32_t> bits = fillBits(type, fill.value());
  if (!bits)
    return failedPrecondition("fill of '", context.plan.bufferName(fill.dst()),
                              "': the CUDA target fills no ", name(type));
  auto bytes = static_cast<unsigned>(sizeOf(type));
  return std::unique_ptr<Step>(std::make_unique<FillStep>(
      context.arenas.address(buffer), buffer.bytes() / bytes, bytes, *bits));
}

Result<std::unique_ptr<Step>> makeMatmul(const StepContext &context,
                                         const fb::Matmul &matmul) {
  const Plan &plan = context.plan;
  auto address = [&](uint32_t buffer) {
    return context.arenas.address(plan.buffer(buffer));
  };
  MatmulShape shape;
  shape.m = matmul.m();
  shape.n = matmul.n();
  shape.k = matmul.k();
  shape.weightNk = matmul.weight_nk();
  shape.transposeA = matmul.transpose_a();
  shape.accumulate = matmul.accumulate();
  shape.tf32 = plan.root().precision() == fb::Precision::TF32;
  shape.input = typeOf(plan.buffer(matmul.a()));
  shape.output = typeOf(plan.buffer(matmul.d()));
  MatmulBuffers buffers;
  buffers.a = address(matmul.a());
  buffers.weight = address(matmul.weight());
  buffers.d = address(matmul.d());
  if (matmul.workspace() >= 0) {
    auto workspace = static_cast<uint32_t>(matmul.workspace());
    buffers.workspace = address(workspace);
    buffers.workspaceBytes = plan.buffer(workspace).bytes();
  }
  if (matmul.bias() >= 0) {
    shape.bias = shape.output; // the validator has seen to it
    buffers.bias = address(static_cast<uint32_t>(matmul.bias()));
  }
  GPT2_ASSIGN_OR_RETURN(std::unique_ptr<MatmulCall> call,
                        context.library->plan(shape, buffers));
  if (!call)
    return failedPrecondition("cuBLASLt has no algorithm for ", shape.text(),
                              " on this GPU (", context.context.name(),
                              "): compile with --precision=fp32");
  if (context.tuning.isHere && matmul.algorithm() >= 0) {
    AlgorithmWords words;
    const auto &saved = *plan.root().tuning()->algorithms()->Get(
        static_cast<flatbuffers::uoffset_t>(matmul.algorithm()));
    std::copy(saved.words()->begin(), saved.words()->end(), words.begin());
    context.tuning.refused += !call->use(words);
  }
  return std::unique_ptr<Step>(std::make_unique<MatmulStep>(std::move(call)));
}

} // namespace

Result<std::unique_ptr<Step>>
cuda::makeStep(const StepContext &context, const fb::Instruction &instruction) {
  const Plan &plan = context.plan;
  switch (instruction.op_type()) {
  case fb::Op::Launch:
    return std::unique_ptr<Step>(
        std::make_unique<LaunchStep>(context, *instruction.op_as_Launch()));
  case fb::Op::Matmul:
    return makeMatmul(context, *instruction.op_as_Matmul());
  case fb::Op::Copy: {
    const fb::Copy &copy = *instruction.op_as_Copy();
    return std::unique_ptr<Step>(std::make_unique<CopyStep>(
        context.arenas.address(plan.buffer(copy.dst())),
        context.arenas.address(plan.buffer(copy.src())),
        plan.buffer(copy.dst()).bytes()));
  }
  case fb::Op::Fill:
    return makeFill(context, *instruction.op_as_Fill());
  default:
    return failedPrecondition(
        "the CUDA target runs ", fb::EnumNameOp(instruction.op_type()),
        " as generated kernels only, but the plan has it as an instruction: "
        "compile it with this version of gpt2c");
  }
}

std::string cuda::describe(const Plan &plan,
                           const fb::Instruction &instruction) {
  std::string what = fb::EnumNameOp(instruction.op_type());
  if (const fb::Launch *launch = instruction.op_as_Launch())
    return what + " " +
           plan.root().kernels()->Get(launch->kernel())->name()->str();
  if (const fb::Matmul *matmul = instruction.op_as_Matmul())
    return strCat(what, " ", matmul->m(), "x", matmul->n(), "x", matmul->k());
  return what;
}
