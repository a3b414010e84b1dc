// What a target (CPU, CUDA) implements to run a plan.
// SPDX-License-Identifier: Apache-2.0

#ifndef GPT2_RUNTIME_DEVICE_EXECUTOR_H
#define GPT2_RUNTIME_DEVICE_EXECUTOR_H

#include "runtime/Formats/Checkpoint.h"
#include "runtime/Plan/Tuning.h"
#include "runtime/Support/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gpt2rt {

/// Bytes of one arena as the plan predicts them and as the target got them.
struct ArenaUse {
  std::string name;
  uint64_t predicted = 0;
  uint64_t allocated = 0;
};

/// Memory of a loaded plan. `reserve` is what lies outside the plan's promise
/// (code, graphs, libraries), measured after creation, and `context` what the
/// driver took before that, where there is one and it can be seen.
struct MemoryReport {
  std::vector<ArenaUse> arenas;
  uint64_t reserve = 0;
  std::optional<uint64_t> context = std::nullopt;
};

/// Where weights come from when there is no checkpoint.
struct RandomWeights {
  uint64_t seed = 0;
};

/// Time of one instruction, or of several alike.
struct InstructionTime {
  std::string what;
  double seconds = 0;
  uint64_t count = 1;
};

/// What the device does at most; 0 where that is not known.
struct DeviceRates {
  double flops =
      0; ///< operations a second of products, in the plan's precision
  double bytes = 0; ///< bytes a second from and to its memory
};

/// How algorithms of products are compared.
struct TuneOptions {
  int candidates = 32;     ///< of the library's heuristic, each product
  double leastGain = 0.01; ///< share by which a new choice must be faster
};

/// Runs the programs of one plan on one device. Not thread safe. Buffers are
/// named by their index in the plan.
class Executor {
public:
  virtual ~Executor() = default;

  /// Runs the plan's `init` program: converts and lays out every parameter.
  /// Fails before touching anything if a tensor is missing or its shape is not
  /// what the plan wants.
  virtual Status bindWeights(const Checkpoint &checkpoint) = 0;

  /// Fills parameters with N(0, 0.02) (matrices), 1 (gamma) and 0 (the rest).
  virtual Status bindRandomWeights(const RandomWeights &random) = 0;

  /// Replays a program and returns when its effects can be read.
  virtual Status run(uint32_t program) = 0;

  /// Copies host bytes into a state buffer, from its first byte + offset.
  virtual Status write(uint32_t buffer, uint64_t offset, const void *data,
                       uint64_t bytes) = 0;

  /// Copies out of a state buffer.
  virtual Status read(uint32_t buffer, uint64_t offset, void *data,
                      uint64_t bytes) = 0;

  /// The same for any buffer that lives as long as the plan: parameters and
  /// moments, which checkpoints are made of.
  virtual Status writeGlobal(uint32_t buffer, uint64_t offset, const void *data,
                             uint64_t bytes) {
    return write(buffer, offset, data, bytes);
  }
  virtual Status readGlobal(uint32_t buffer, uint64_t offset, void *data,
                            uint64_t bytes) {
    return read(buffer, offset, data, bytes);
  }

  virtual MemoryReport memory() const = 0;

  /// Operations a second that the device can reach at most in the plan's
  /// precision; 0 where nobody knows.
  virtual double peakFlops() const { return 0; }
  /// Bytes a second from and to its memory, the same way.
  virtual double peakBytes() const { return 0; }

  /// Runs a program once with a timer around each instruction.
  virtual Result<std::vector<InstructionTime>> profile(uint32_t program) = 0;

  /// What is not as the plan wants it, though it runs: a line each.
  virtual std::vector<std::string> warnings() const { return {}; }

  /// Runs every program once and measures the algorithms that could compute its
  /// products, on what its buffers hold then. The state must be set for every
  /// program. Programs run with the fastest ones afterwards.
  virtual Result<MatmulTuning> tune(const TuneOptions &) {
    return failedPrecondition("only plans for CUDA have algorithms to choose; "
                              "compile with --target=cuda");
  }
};

struct ExecutorOptions {
  int threads = 0; ///< CPU: 0 is all hardware threads.
  int device = 0;  ///< CUDA ordinal.
};

/// Fails with FailedPrecondition where this machine cannot run the plan (other
/// CPU features or architecture, no GPU) and with ResourceExhausted, before
/// allocating, where it lacks the memory.
Result<std::unique_ptr<Executor>> createCpuExecutor(const Plan &plan,
                                                    const ExecutorOptions &);
Result<std::unique_ptr<Executor>> createCudaExecutor(const Plan &plan,
                                                     const ExecutorOptions &);

} // namespace gpt2rt

#endif // GPT2_RUNTIME_DEVICE_EXECUTOR_H
