//===- RowKernelChecks.h - What row and matvec kernels compute --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The kernels of test/Codegen/CUDA against references in double, wherever they
// run: on the host, threads as lanes (HostRunTest.cpp), or on a GPU
// (test/gpu/RowKernelTests.cpp). Needs neither MLIR nor GoogleTest.
//
//===----------------------------------------------------------------------===//
#ifndef GPT2_TEST_UNIT_CODEGENCUDA_ROWKERNELCHECKS_H
#define GPT2_TEST_UNIT_CODEGENCUDA_ROWKERNELCHECKS_H

#include "runtime/Support/DType.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace gpt2test {

/// A buffer on the host and how its elements are stored.
struct Buffer {
  /// `count` elements that are NaN (floats) or -1 until written.
  Buffer(size_t count, gpt2rt::DType type);
  static Buffer random(size_t count, gpt2rt::DType type, unsigned seed,
                       float mean = 0);
  static Buffer integers(const std::vector<int> &values);

  size_t size() const { return bytes.size() / sizeOf(type); }
  float get(size_t i) const;
  /// Rounds to the type.
  void set(size_t i, float value);

  gpt2rt::DType type;
  std::vector<std::byte> bytes;
};

/// Runs kernels of one file of test/Codegen/CUDA.
/// What kernels get for the number of the dropout op that they belong to.
inline constexpr int dropoutNumber = 7;

class KernelRunner {
public:
  virtual ~KernelRunner() = default;
  /// `buffers` are the inputs, then the outputs; all come back as they are
  /// after the run. Two may be the same object, and are then the same memory.
  virtual void run(const std::string &kernel, std::vector<Buffer *> buffers,
                   int rows) = 0;
};

struct RowKernelCheck {
  std::string name;
  std::string file; // "layer_norm.mlir"
  /// Empty, or the first thing that is wrong.
  std::function<std::string(KernelRunner &)> run;
};

const std::vector<RowKernelCheck> &allRowKernelChecks();

/// Those of TrainingKernelChecks.cpp.
void addTrainingKernelChecks(std::vector<RowKernelCheck> &checks);

} // namespace gpt2test

#endif // GPT2_TEST_UNIT_CODEGENCUDA_ROWKERNELCHECKS_H
