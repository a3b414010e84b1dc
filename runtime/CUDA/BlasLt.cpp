//===- BlasLt.cpp - Matrix products through cuBLASLt ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/BlasLt.h"

#include <bit>
#include <cstdlib>
#include <dlfcn.h>
#include <utility>
#include <vector>

using namespace gpt2rt;
using namespace gpt2rt::cuda;

namespace {

// What cuBLASLt asks of its workspace.
constexpr uint64_t workspaceAlignment = 256;

Status blasStatus(cublasStatus_t result, const char *call,
                  const std::string &what) {
  if (result == CUBLAS_STATUS_SUCCESS)
    return Status();
  return internalError(call, " for ", what, " failed with cuBLAS status ",
                       static_cast<int>(result));
}

#define GPT2_CUBLAS(FUNCTION, WHAT, ...)                                       \
  GPT2_RETURN_IF_ERROR(                                                        \
      blasStatus(library.table.FUNCTION(__VA_ARGS__), #FUNCTION, (WHAT)))

constexpr const char *notFoundText =
    "libcublasLt.so.13 (or .12) cannot be loaded: install the CUDA toolkit's "
    "cuBLAS or add its folder to LD_LIBRARY_PATH";

void *openLibrary() {
  std::vector<std::string> folders = {""};
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *home = std::getenv(variable)) {
      folders.push_back(strCat(home, "/lib64/"));
      folders.push_back(strCat(home, "/lib/"));
    }
  folders.push_back("/usr/local/cuda/lib64/");
  folders.push_back("/usr/local/cuda/lib/");
  for (const std::string &folder : folders)
    for (const char *file : {"libcublasLt.so.13", "libcublasLt.so.12"})
      if (void *library =
              dlopen((folder + file).c_str(), RTLD_LAZY | RTLD_LOCAL))
        return library;
  return nullptr;
}

cudaDataType_t dataType(DType type) {
  switch (type) {
  case DType::F16:
    return CUDA_R_16F;
  case DType::BF16:
    return CUDA_R_16BF;
  default:
    return CUDA_R_32F;
  }
}

/// Bytes that an address is aligned to, as far as the library cares.
uint32_t alignmentOf(CUdeviceptr address) {
  uint64_t lowest = address & (~address + 1);
  return static_cast<uint32_t>(
      lowest == 0 || lowest > workspaceAlignment ? workspaceAlignment : lowest);
}

} // namespace

std::string MatmulShape::text() const {
  auto size = [](uint64_t rows, uint64_t columns, bool isTransposed) {
    return isTransposed ? strCat("[", columns, ", ", rows, "]^T")
                        : strCat("[", rows, ", ", columns, "]");
  };
  return strCat("matmul ", size(m, k, transposeA), " x ", size(k, n, weightNk),
                " ", name(input), accumulate ? " added to " : " -> ",
                name(output));
}

std::string cuda::missingCublasLt() {
  return openLibrary() ? std::string() : notFoundText;
}

Result<std::unique_ptr<BlasLt>> BlasLt::create() {
  void *loaded = openLibrary();
  if (!loaded)
    return unavailable(notFoundText);
  BlasLtTable table;
#define GPT2_CUBLASLT_BIND(NAME)                                               \
  table.NAME = reinterpret_cast<decltype(table.NAME)>(dlsym(loaded, #NAME));   \
  if (!table.NAME)                                                             \
    return unavailable("libcublasLt lacks " #NAME ": update the CUDA "         \
                       "toolkit");
  GPT2_CUBLASLT_FUNCTIONS(GPT2_CUBLASLT_BIND)
#undef GPT2_CUBLASLT_BIND
  return create(table);
}

Result<std::unique_ptr<BlasLt>> BlasLt::create(const BlasLtTable &table) {
  std::unique_ptr<BlasLt> result(new BlasLt(table));
  BlasLt &library = *result;
  GPT2_CUBLAS(cublasLtCreate, "the library", &library.handle);
  return result;
}

BlasLt::~BlasLt() {
  if (handle)
    table.cublasLtDestroy(handle);
}

Result<std::unique_ptr<MatmulCall>>
BlasLt::plan(const MatmulShape &shape, const MatmulBuffers &buffers) const {
  std::unique_ptr<MatmulCall> call(new MatmulCall(*this, shape, buffers));
  MatmulBuffers &own = call->buffers;
  uint64_t skipped = (~own.workspace + 1) % workspaceAlignment;
  if (own.workspaceBytes > skipped) {
    own.workspace += skipped;
    own.workspaceBytes -= skipped;
  } else {
    own.workspace = own.workspaceBytes = 0;
  }
  GPT2_RETURN_IF_ERROR(call->describe());
  // The first guess may be one whose sums have no fixed order.
  constexpr int guesses = 16;
  GPT2_ASSIGN_OR_RETURN(std::vector<AlgorithmWords> best,
                        call->candidates(guesses));
  if (best.empty())
    call.reset();
  else
    call->chosen = std::bit_cast<cublasLtMatmulAlgo_t>(best.front());
  return call;
}

MatmulCall::~MatmulCall() {
  for (cublasLtMatrixLayout_t layout : {layoutA, layoutB, layoutD})
    if (layout)
      library.table.cublasLtMatrixLayoutDestroy(layout);
  if (operation)
    library.table.cublasLtMatmulDescDestroy(operation);
}

// The library thinks in columns: a row-major matrix is its transpose, so it
// computes D^T[N,M] = op(W)[N,K] * op(A)[K,M], and the bias runs along its
// rows.
Status MatmulCall::describe() {
  std::string what = shape.text();
  GPT2_CUBLAS(cublasLtMatmulDescCreate, what, &operation,
              shape.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
              CUDA_R_32F);
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto &value) {
    return blasStatus(library.table.cublasLtMatmulDescSetAttribute(
                          operation, attribute, &value, sizeof(value)),
                      "cublasLtMatmulDescSetAttribute", what);
  };
  auto operationOf = [](bool isTransposed) -> int32_t {
    return isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  GPT2_RETURN_IF_ERROR(
      set(CUBLASLT_MATMUL_DESC_TRANSA, operationOf(shape.weightNk)));
  GPT2_RETURN_IF_ERROR(
      set(CUBLASLT_MATMUL_DESC_TRANSB, operationOf(shape.transposeA)));
  if (buffers.bias) {
    uint32_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    GPT2_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
    GPT2_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, buffers.bias));
    int32_t type = dataType(shape.bias);
    GPT2_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type));
  }
  auto create = [&](cublasLtMatrixLayout_t &layout, DType type, uint64_t rows,
                    uint64_t columns, bool isTransposed) {
    if (isTransposed)
      std::swap(rows, columns);
    return blasStatus(
        library.table.cublasLtMatrixLayoutCreate(
            &layout, dataType(type), rows, columns, static_cast<int64_t>(rows)),
        "cublasLtMatrixLayoutCreate", what);
  };
  GPT2_RETURN_IF_ERROR(
      create(layoutA, shape.input, shape.n, shape.k, shape.weightNk));
  GPT2_RETURN_IF_ERROR(
      create(layoutB, shape.input, shape.k, shape.m, shape.transposeA));
  return create(layoutD, shape.output, shape.n, shape.m, false);
}

Status MatmulCall::prefer(cublasLtMatmulPreference_t preference) const {
  auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                 const auto &value) {
    return blasStatus(library.table.cublasLtMatmulPreferenceSetAttribute(
                          preference, attribute, &value, sizeof(value)),
                      "cublasLtMatmulPreferenceSetAttribute", shape.text());
  };
  GPT2_RETURN_IF_ERROR(
      set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, buffers.workspaceBytes));
  // Partial sums of a split k stay in fp32: one rounding, at the end.
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  GPT2_RETURN_IF_ERROR(
      set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions));
  uint32_t alignA = alignmentOf(buffers.weight),
           alignB = alignmentOf(buffers.a), alignD = alignmentOf(buffers.d);
  GPT2_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignA));
  GPT2_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignB));
  GPT2_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignD));
  return set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignD);
}

bool MatmulCall::isFixed(const cublasLtMatmulAlgo_t &algorithm) const {
  uint32_t scheme = 0;
  size_t written = 0;
  return library.table.cublasLtMatmulAlgoConfigGetAttribute(
             &algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme,
             sizeof(scheme), &written) == CUBLAS_STATUS_SUCCESS &&
         (scheme == CUBLASLT_REDUCTION_SCHEME_NONE ||
          scheme == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
}

Result<std::vector<AlgorithmWords>> MatmulCall::candidates(int most) const {
  std::string what = shape.text();
  cublasLtMatmulPreference_t preference = nullptr;
  GPT2_CUBLAS(cublasLtMatmulPreferenceCreate, what, &preference);
  auto destroy = [this](cublasLtMatmulPreferenceOpaque_t *p) {
    library.table.cublasLtMatmulPreferenceDestroy(p);
  };
  std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, decltype(destroy)> owner(
      preference, destroy);
  GPT2_RETURN_IF_ERROR(prefer(preference));
  std::vector<cublasLtMatmulHeuristicResult_t> answers(most);
  int found = 0;
  cublasStatus_t result = library.table.cublasLtMatmulAlgoGetHeuristic(
      library.handle, operation, layoutA, layoutB, layoutD, layoutD, preference,
      most, answers.data(), &found);
  std::vector<AlgorithmWords> words;
  // Both codes say that there is no kernel for these types.
  if (result == CUBLAS_STATUS_NOT_SUPPORTED ||
      result == CUBLAS_STATUS_INVALID_VALUE)
    return words;
  GPT2_RETURN_IF_ERROR(
      blasStatus(result, "cublasLtMatmulAlgoGetHeuristic", what));
  answers.resize(found);
  for (const cublasLtMatmulHeuristicResult_t &answer : answers)
    if (answer.state == CUBLAS_STATUS_SUCCESS &&
        answer.workspaceSize <= buffers.workspaceBytes && isFixed(answer.algo))
      words.push_back(std::bit_cast<AlgorithmWords>(answer.algo));
  return words;
}

bool MatmulCall::use(const AlgorithmWords &words) {
  auto wanted = std::bit_cast<cublasLtMatmulAlgo_t>(words);
  cublasLtMatmulHeuristicResult_t answer = {};
  if (library.table.cublasLtMatmulAlgoCheck(library.handle, operation, layoutA,
                                            layoutB, layoutD, layoutD, &wanted,
                                            &answer) != CUBLAS_STATUS_SUCCESS ||
      answer.state != CUBLAS_STATUS_SUCCESS ||
      answer.workspaceSize > buffers.workspaceBytes || !isFixed(wanted))
    return false;
  chosen = wanted;
  return true;
}

AlgorithmWords MatmulCall::algorithm() const {
  return std::bit_cast<AlgorithmWords>(chosen);
}

std::string MatmulCall::text() const {
  return strCat(shape.text(), buffers.bias ? " + bias" : "");
}

std::string MatmulCall::identity() const {
  return strCat(text(), shape.tf32 ? " tf32" : "", " aligned to ",
                alignmentOf(buffers.a), ", ", alignmentOf(buffers.weight), ", ",
                alignmentOf(buffers.d), " with ", buffers.workspaceBytes);
}

Status MatmulCall::run(CUstream stream) const {
  float one = 1.0f, beta = shape.accumulate ? 1.0f : 0.0f; // of what D holds
  auto pointer = [](CUdeviceptr address) {
    return reinterpret_cast<void *>(address);
  };
  return blasStatus(
      library.table.cublasLtMatmul(
          library.handle, operation, &one, pointer(buffers.weight), layoutA,
          pointer(buffers.a), layoutB, &beta, pointer(buffers.d), layoutD,
          pointer(buffers.d), layoutD, &chosen, pointer(buffers.workspace),
          buffers.workspaceBytes, stream),
      "cublasLtMatmul", "a planned matmul");
}
