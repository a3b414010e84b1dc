//===- BlasLt.h - Matrix products through cuBLASLt --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The library is loaded with dlopen when a plan has its first matmul. An
// algorithm is chosen once, when the plan is loaded: the one that `gpt2-run
// tune` wrote into the plan, or the heuristic's first answer for the shape, the
// pointers' real alignment and the planned workspace, with split-k sums in fp32
// only. Nothing is chosen in the loop.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/Context.h"
#include "runtime/Plan/Tuning.h"
#include "runtime/Support/DType.h"

#include <cublasLt.h>

namespace gpt2rt::cuda {

/// D[M,N] = A[M,K] * W^T (+ bias, or + D), row-major, accumulated in fp32.
struct MatmulShape {
  uint64_t m = 0, n = 0, k = 0;
  bool weightNk = true;    ///< W is [N,K], else [K,N].
  bool transposeA = false; ///< A lies as [K,M].
  bool accumulate = false; ///< Adds to D, which is fp32.
  bool tf32 = false;       ///< fp32 operands may be rounded to tf32.
  DType input = DType::F32;
  DType output = DType::F32;
  DType bias = DType::F32;

  std::string text() const;
};

struct MatmulBuffers {
  CUdeviceptr a = 0, weight = 0, d = 0;
  CUdeviceptr bias = 0; ///< 0: none.
  CUdeviceptr workspace = 0;
  uint64_t workspaceBytes = 0;
};

#define GPT2_CUBLASLT_FUNCTIONS(X)                                             \
  X(cublasLtCreate)                                                            \
  X(cublasLtDestroy)                                                           \
  X(cublasLtMatmul)                                                            \
  X(cublasLtMatmulDescCreate)                                                  \
  X(cublasLtMatmulDescDestroy)                                                 \
  X(cublasLtMatmulDescSetAttribute)                                            \
  X(cublasLtMatrixLayoutCreate)                                                \
  X(cublasLtMatrixLayoutDestroy)                                               \
  X(cublasLtMatmulPreferenceCreate)                                            \
  X(cublasLtMatmulPreferenceDestroy)                                           \
  X(cublasLtMatmulPreferenceSetAttribute)                                      \
  X(cublasLtMatmulAlgoGetHeuristic)                                            \
  X(cublasLtMatmulAlgoCheck)                                                   \
  X(cublasLtMatmulAlgoConfigGetAttribute)                                      \
  X(cublasLtGetVersion)

struct BlasLtTable {
#define GPT2_CUBLASLT_MEMBER(NAME) decltype(&::NAME) NAME = nullptr;
  GPT2_CUBLASLT_FUNCTIONS(GPT2_CUBLASLT_MEMBER)
#undef GPT2_CUBLASLT_MEMBER
};

/// Empty where the library can be loaded, else what is missing and how to get
/// it.
std::string missingCublasLt();

class BlasLt;

/// One product with its algorithm and addresses.
class MatmulCall {
public:
  MatmulCall(const MatmulCall &) = delete;
  MatmulCall &operator=(const MatmulCall &) = delete;
  ~MatmulCall();

  /// Enqueues (or captures) the product.
  Status run(CUstream stream) const;

  /// What the heuristic names, its best guess first: at most `most` algorithms
  /// that add up in one order and need no more than the planned workspace.
  /// Empty where the library has none for this combination.
  Result<std::vector<AlgorithmWords>> candidates(int most) const;
  /// Takes an algorithm. False, with nothing changed, where the library refuses
  /// it for this product or it is none that candidates() would name.
  bool use(const AlgorithmWords &words);
  AlgorithmWords algorithm() const;

  /// Equal for products that the same algorithms serve.
  std::string identity() const;
  std::string text() const;
  CUdeviceptr result() const { return buffers.d; }
  uint64_t resultBytes() const {
    return shape.m * shape.n * sizeOf(shape.output);
  }

private:
  friend class BlasLt;
  MatmulCall(const BlasLt &library, const MatmulShape &shape,
             const MatmulBuffers &buffers)
      : library(library), shape(shape), buffers(buffers) {}
  Status describe();
  Status prefer(cublasLtMatmulPreference_t preference) const;
  /// Whether its sums have one order and are rounded once.
  bool isFixed(const cublasLtMatmulAlgo_t &algorithm) const;

  const BlasLt &library;
  MatmulShape shape;
  MatmulBuffers buffers;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t layoutA = nullptr, layoutB = nullptr,
                         layoutD = nullptr;
  cublasLtMatmulAlgo_t chosen = {};
};

class BlasLt {
public:
  /// Unavailable where the library is not found.
  static Result<std::unique_ptr<BlasLt>> create();
  /// With functions that the caller brings.
  static Result<std::unique_ptr<BlasLt>> create(const BlasLtTable &table);
  ~BlasLt();
  BlasLt(const BlasLt &) = delete;
  BlasLt &operator=(const BlasLt &) = delete;

  /// Null where the library has no algorithm for this combination.
  Result<std::unique_ptr<MatmulCall>> plan(const MatmulShape &shape,
                                           const MatmulBuffers &buffers) const;

  /// 130100 is 13.1.0; algorithms' words mean the same in one version alone.
  uint64_t version() const { return table.cublasLtGetVersion(); }

private:
  friend class MatmulCall;
  explicit BlasLt(const BlasLtTable &table) : table(table) {}

  BlasLtTable table;
  cublasLtHandle_t handle = nullptr;
};

} // namespace gpt2rt::cuda
