//===- MatmulStep.cpp - Matmuls of a CPU program --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A few rows stream the weights once through the matvec loop, which is bound
// by memory; more rows go to oneDNN. Both read the weights where the plan put
// them, [N, K]: a copy in the library's own blocked layout would make prefill
// about 5% faster and double the weights' memory, since decode needs this one.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/Step.h"
#include "runtime/Plan/CpuWorkspace.h"

#include <algorithm>
#include <omp.h>

namespace gpt2rt::cpu {
namespace {

// Row counts of a dynamic matmul are rounded up to this, so that a chunk of
// 256 rows needs 8 primitives and not 256. The extra rows are computed and
// never read.
constexpr int64_t rowStep = 32;

class MatmulStep : public Step {
public:
  MatmulStep(const StepContext &context, const fb::Matmul &op)
      : a(context.address(op.a())), weight(context.address(op.weight())),
        bias(context.address<float>(op.bias())), d(context.address(op.d())),
        workspace(context.address(op.workspace())),
        workspaceBytes(context.bytes(op.workspace())), rows(op.m()), n(op.n()),
        k(op.k()), weightNk(op.weight_nk()), transposeA(op.transpose_a()),
        accumulate(op.accumulate()), dynamicRows(op.dynamic_rows()),
        inputType(context.dtype(op.a())), outputType(context.dtype(op.d())),
        threads(context.threads), simd(context.simd), matmuls(context.matmuls) {
  }

  /// Creates the primitive of the full row count.
  Status prepare() {
    if (useMatvec(rows))
      return Status();
    return primitiveFor(rows).status();
  }

  Status run(int64_t count) override {
    int64_t live = liveRows(rows, dynamicRows, count);
    if (useMatvec(live)) {
      runMatvec(live);
      return Status();
    }
    int64_t rounded = std::min((live + rowStep - 1) / rowStep * rowStep, rows);
    GPT2_ASSIGN_OR_RETURN(OneDnnMatmul * matmul, primitiveFor(rounded));
    matmul->execute(a, weight, bias, d, workspace);
    return Status();
  }

private:
  bool useMatvec(int64_t live) const {
    return weightNk && !transposeA && !accumulate &&
           live <= static_cast<int64_t>(maxMatvecRows);
  }

  Result<OneDnnMatmul *> primitiveFor(int64_t m) {
    MatmulShape shape = {m,
                         n,
                         k,
                         transposeA ? 1 : k,
                         transposeA ? rows : 1,
                         weightNk ? 1 : n,
                         weightNk ? k : 1,
                         n,
                         inputType,
                         outputType,
                         bias != nullptr,
                         accumulate};
    return matmuls.find(shape, workspaceBytes);
  }

  void runMatvec(int64_t live) {
    MatvecArgs args = {a, weight, bias, d, live, n, k, inputType, outputType};
    // Pieces of whole blocks of weight rows.
    int64_t blocks = (n + 7) / 8;
#pragma omp parallel num_threads(threads)
    {
      int64_t pieces = omp_get_num_threads(), i = omp_get_thread_num();
      int64_t begin = blocks * i / pieces * 8;
      int64_t end = std::min(blocks * (i + 1) / pieces * 8, n);
      simd.matvec(args, begin, end);
    }
  }

  const std::byte *a, *weight;
  const float *bias;
  std::byte *d, *workspace;
  uint64_t workspaceBytes;
  int64_t rows, n, k;
  bool weightNk, transposeA, accumulate, dynamicRows;
  DType inputType, outputType;
  int threads;
  const SimdKernels &simd;
  OneDnnPool &matmuls;
};

} // namespace

StepOrError makeMatmulStep(const StepContext &context, const fb::Matmul &op) {
  auto step = std::make_unique<MatmulStep>(context, op);
  GPT2_RETURN_IF_ERROR(step->prepare());
  return std::unique_ptr<Step>(std::move(step));
}

} // namespace gpt2rt::cpu
