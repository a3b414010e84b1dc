//===- FakeBlas.cpp - A cuBLASLt whose algorithms a test makes up ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/unit/CUDA/FakeBlas.h"

#include <cstring>

using namespace gpt2rt;
using namespace gpt2rt::test;

namespace {

FakeBlas *blas = nullptr;
int object; // what every handle points to

template <typename Handle>
cublasStatus_t make(Handle *handle) {
  *handle = reinterpret_cast<Handle>(&object);
  return CUBLAS_STATUS_SUCCESS;
}
template <typename Handle>
cublasStatus_t drop(Handle) {
  return CUBLAS_STATUS_SUCCESS;
}

const FakeBlas::Algorithm *find(const cublasLtMatmulAlgo_t *algorithm) {
  for (const FakeBlas::Algorithm &each : blas->algorithms)
    if (each.id == algorithm->data[0])
      return &each;
  return nullptr;
}

cublasStatus_t heuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                         cublasLtMatmulPreference_t, int most,
                         cublasLtMatmulHeuristicResult_t *answers, int *found) {
  *found = std::min<int>(most, static_cast<int>(blas->algorithms.size()));
  for (int i = 0; i < *found; ++i) {
    answers[i] = {};
    answers[i].algo.data[0] = blas->algorithms[i].id;
    answers[i].workspaceSize = blas->algorithms[i].workspace;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t check(cublasLtHandle_t, cublasLtMatmulDesc_t,
                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                     const cublasLtMatmulAlgo_t *algorithm,
                     cublasLtMatmulHeuristicResult_t *answer) {
  const FakeBlas::Algorithm *known = find(algorithm);
  if (!known || known->isRefused)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  *answer = {};
  answer->workspaceSize = known->workspace;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t configOf(const cublasLtMatmulAlgo_t *algorithm,
                        cublasLtMatmulAlgoConfigAttributes_t, void *out, size_t,
                        size_t *written) {
  const FakeBlas::Algorithm *known = find(algorithm);
  if (!known)
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(out, &known->reduction, sizeof(known->reduction));
  *written = sizeof(known->reduction);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t multiply(cublasLtHandle_t, cublasLtMatmulDesc_t, const void *,
                        const void *, cublasLtMatrixLayout_t, const void *,
                        cublasLtMatrixLayout_t, const void *, const void *,
                        cublasLtMatrixLayout_t, void *d, cublasLtMatrixLayout_t,
                        const cublasLtMatmulAlgo_t *algorithm, void *, size_t,
                        cudaStream_t) {
  const FakeBlas::Algorithm known = *find(algorithm);
  blas->gpu.enqueue([known, d] {
    blas->gpu.clock += known.milliseconds;
    blas->runs.push_back(known.id);
    auto result = known.isStable ? 1.0f : float(blas->runs.size());
    std::memcpy(d, &result, sizeof(result));
  });
  return CUBLAS_STATUS_SUCCESS;
}

} // namespace

FakeBlas::FakeBlas(FakeGpu &gpu) : gpu(gpu) { blas = this; }
FakeBlas::~FakeBlas() { blas = nullptr; }

cuda::BlasLtTable FakeBlas::table() {
  cuda::BlasLtTable t;
  t.cublasLtCreate = make<cublasLtHandle_t>;
  t.cublasLtDestroy = drop<cublasLtHandle_t>;
  t.cublasLtMatmul = multiply;
  t.cublasLtMatmulDescCreate = [](cublasLtMatmulDesc_t *desc,
                                  cublasComputeType_t,
                                  cudaDataType_t) { return make(desc); };
  t.cublasLtMatmulDescDestroy = drop<cublasLtMatmulDesc_t>;
  t.cublasLtMatmulDescSetAttribute =
      [](cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void *,
         size_t) { return CUBLAS_STATUS_SUCCESS; };
  t.cublasLtMatrixLayoutCreate = [](cublasLtMatrixLayout_t *layout,
                                    cudaDataType, uint64_t, uint64_t,
                                    int64_t) { return make(layout); };
  t.cublasLtMatrixLayoutDestroy = drop<cublasLtMatrixLayout_t>;
  t.cublasLtMatmulPreferenceCreate =
      [](cublasLtMatmulPreference_t *preference) { return make(preference); };
  t.cublasLtMatmulPreferenceDestroy = drop<cublasLtMatmulPreference_t>;
  t.cublasLtMatmulPreferenceSetAttribute =
      [](cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
         const void *, size_t) { return CUBLAS_STATUS_SUCCESS; };
  t.cublasLtMatmulAlgoGetHeuristic = heuristic;
  t.cublasLtMatmulAlgoCheck = check;
  t.cublasLtMatmulAlgoConfigGetAttribute = configOf;
  t.cublasLtGetVersion = [] { return static_cast<size_t>(blas->version); };
  return t;
}
