//===- OneDnn.h - oneDNN matmuls with planned memory ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/DType.h"
#include "runtime/Support/Status.h"

#include <map>
#include <memory>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

namespace gpt2rt::cpu {

/// D[m, n] (+)= A[m, k] * B[k, n] (+ bias[n]); strides in elements.
struct MatmulShape {
  int64_t m, n, k;
  int64_t aStrideM, aStrideK; ///< Of A; one of them is 1.
  int64_t bStrideK, bStrideN; ///< Of B; one of them is 1.
  int64_t dStride;            ///< Between rows of D.
  DType inputType;            ///< A and B.
  DType outputType;           ///< D.
  bool bias = false;          ///< f32.
  bool accumulate = false;    ///< D, then f32, is added to.
  auto operator<=>(const MatmulShape &) const = default;
};

/// One matmul primitive and the memory descriptors it is called with. execute()
/// only sets pointers. Not thread safe: one object a thread.
class OneDnnMatmul {
public:
  /// Prepares for at most `threads` threads and for no more than
  /// `workspaceBytes` of scratch memory: fewer threads are used where the
  /// library would want more.
  static Result<std::unique_ptr<OneDnnMatmul>>
  create(const MatmulShape &shape, int threads, uint64_t workspaceBytes);

  void execute(const void *a, const void *b, const void *bias, void *d,
               void *workspace);

  uint64_t workspaceBytes() const { return scratchBytes; }

private:
  OneDnnMatmul() = default;

  dnnl::matmul primitive;
  std::unordered_map<int, dnnl::memory> arguments;
  uint64_t scratchBytes = 0;
  int threads = 1;
  bool hasBias = false;
};

/// The matmuls of all steps: layers have the same shapes and share them. Each
/// thread of a parallel region has its own.
class OneDnnPool {
public:
  explicit OneDnnPool(int threads);

  /// For use outside parallel regions; may use every thread.
  Result<OneDnnMatmul *> find(const MatmulShape &shape,
                              uint64_t workspaceBytes);

  /// For use by one thread of a parallel region.
  Result<OneDnnMatmul *> findForThread(int thread, const MatmulShape &shape,
                                       uint64_t workspaceBytes);

private:
  using Matmuls = std::map<MatmulShape, std::unique_ptr<OneDnnMatmul>>;
  Matmuls shared;
  std::vector<Matmuls> perThread;
};

} // namespace gpt2rt::cpu
