//===- Steps.h - Instructions with resolved addresses -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/BlasLt.h"
#include "runtime/CUDA/DeviceArenas.h"
#include "runtime/CUDA/Kernels.h"

namespace gpt2rt::cuda {

/// One instruction: something that can be put on a stream, for a capture or
/// for a timed run.
class Step {
public:
  virtual ~Step() = default;
  /// Onto a stream of the context. `afterKernel`: what precedes it there is a
  /// kernel of the plan, so that it may start before that one has ended if it
  /// waits by itself.
  virtual Status enqueue(const Context &context, CUstream stream,
                         bool afterKernel) = 0;
  virtual bool isKernel() const { return false; }
  /// The product, where it is one.
  virtual MatmulCall *matmul() { return nullptr; }
};
using Steps = std::vector<std::unique_ptr<Step>>;

/// What became of the algorithms that the plan brings.
struct TuningUse {
  bool isHere = false;  ///< measured on this device with this library
  unsigned refused = 0; ///< by the library, of those that were tried
};

struct StepContext {
  const Context &context;
  const Plan &plan;
  const DeviceArenas &arenas;
  const Kernels &kernels;
  const BlasLt *library; ///< Null where the plan has no matmul.
  TuningUse &tuning;
};

/// Resolves an instruction. LoadWeight has no step: bindWeights() does it.
Result<std::unique_ptr<Step>> makeStep(const StepContext &context,
                                       const fb::Instruction &instruction);

/// The instruction as a line of a profile: "Launch decode_attention_0".
std::string describe(const Plan &plan, const fb::Instruction &instruction);

} // namespace gpt2rt::cuda
