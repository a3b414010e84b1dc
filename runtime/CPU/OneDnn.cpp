//===- OneDnn.cpp - oneDNN matmuls with planned memory --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The library's C++ interface throws; nothing gets out of this file but a
// Status.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/OneDnn.h"

#include <omp.h>

namespace gpt2rt::cpu {

static dnnl::engine &engine() {
  static dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

static dnnl::stream &stream() {
  thread_local dnnl::stream instance(engine());
  return instance;
}

static dnnl::memory::data_type toDnnl(DType type) {
  using Type = dnnl::memory::data_type;
  return type == DType::BF16 ? Type::bf16 : Type::f32;
}

static dnnl::matmul::primitive_desc describe(const MatmulShape &s) {
  using Desc = dnnl::memory::desc;
  Desc a({s.m, s.k}, toDnnl(s.inputType), {s.aStrideM, s.aStrideK});
  Desc b({s.k, s.n}, toDnnl(s.inputType), {s.bStrideK, s.bStrideN});
  Desc d({s.m, s.n}, toDnnl(s.outputType), {s.dStride, 1});
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (s.accumulate) {
    dnnl::post_ops add;
    add.append_sum(1.0f);
    attributes.set_post_ops(add);
  }
  if (!s.bias)
    return {{a, b, d}, attributes, engine()};
  Desc bias({1, s.n}, dnnl::memory::data_type::f32, {s.n, 1});
  return {{a, b, bias, d}, attributes, engine()};
}

Result<std::unique_ptr<OneDnnMatmul>>
OneDnnMatmul::create(const MatmulShape &shape, int threads,
                     uint64_t workspaceBytes) {
  int outerThreads = omp_get_max_threads();
  std::unique_ptr<OneDnnMatmul> matmul(new OneDnnMatmul());
  matmul->hasBias = shape.bias;
  Status status;
  try {
    for (;; threads /= 2) {
      // oneDNN blocks for the threads it sees at this point.
      omp_set_num_threads(threads);
      dnnl::matmul::primitive_desc desc = describe(shape);
      matmul->scratchBytes = desc.scratchpad_desc().get_size();
      if (matmul->scratchBytes > workspaceBytes && threads > 1)
        continue;
      if (matmul->scratchBytes > workspaceBytes) {
        status = internalError("oneDNN wants ", matmul->scratchBytes,
                               " bytes of scratch for a matmul of ", shape.m,
                               " x ", shape.n, " x ", shape.k,
                               ", the plan reserves ", workspaceBytes);
        break;
      }
      matmul->threads = threads;
      matmul->primitive = dnnl::matmul(desc);
      auto add = [&](int name, const dnnl::memory::desc &memory) {
        matmul->arguments.emplace(name,
                                  dnnl::memory(memory, engine(), nullptr));
      };
      add(DNNL_ARG_SRC, desc.src_desc());
      add(DNNL_ARG_WEIGHTS, desc.weights_desc());
      add(DNNL_ARG_DST, desc.dst_desc());
      add(DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc());
      if (shape.bias)
        add(DNNL_ARG_BIAS, desc.bias_desc());
      break;
    }
  } catch (const dnnl::error &error) {
    status = error.status == dnnl_unimplemented
                 ? failedPrecondition("oneDNN has no ", name(shape.inputType),
                                      " matmul for this CPU: compile the plan "
                                      "with --precision=fp32")
                 : internalError("oneDNN refuses a matmul of ", shape.m, " x ",
                                 shape.n, " x ", shape.k);
  }
  omp_set_num_threads(outerThreads);
  if (!status.ok())
    return status;
  return matmul;
}

void OneDnnMatmul::execute(const void *a, const void *b, const void *bias,
                           void *d, void *workspace) {
  auto set = [&](int name, const void *data) {
    arguments.at(name).set_data_handle(const_cast<void *>(data), stream());
  };
  set(DNNL_ARG_SRC, a);
  set(DNNL_ARG_WEIGHTS, b);
  set(DNNL_ARG_DST, d);
  set(DNNL_ARG_SCRATCHPAD, workspace);
  if (hasBias)
    set(DNNL_ARG_BIAS, bias);
  // Inside a parallel region the library runs on the calling thread alone.
  bool inside = omp_in_parallel();
  int outerThreads = omp_get_max_threads();
  if (!inside && outerThreads != threads)
    omp_set_num_threads(threads);
  primitive.execute(stream(), arguments);
  if (!inside && outerThreads != threads)
    omp_set_num_threads(outerThreads);
}

static Result<OneDnnMatmul *>
findOrCreate(std::map<MatmulShape, std::unique_ptr<OneDnnMatmul>> &matmuls,
             const MatmulShape &shape, int threads, uint64_t workspaceBytes) {
  auto &entry = matmuls[shape];
  if (!entry || entry->workspaceBytes() > workspaceBytes) {
    GPT2_ASSIGN_OR_RETURN(entry,
                          OneDnnMatmul::create(shape, threads, workspaceBytes));
  }
  return entry.get();
}

OneDnnPool::OneDnnPool(int threads) : perThread(static_cast<size_t>(threads)) {
  // A thread may get its first work late: each makes its stream now.
#pragma omp parallel num_threads(threads)
  stream();
}

Result<OneDnnMatmul *> OneDnnPool::find(const MatmulShape &shape,
                                        uint64_t workspaceBytes) {
  return findOrCreate(shared, shape, static_cast<int>(perThread.size()),
                      workspaceBytes);
}

Result<OneDnnMatmul *> OneDnnPool::findForThread(int thread,
                                                 const MatmulShape &shape,
                                                 uint64_t workspaceBytes) {
  return findOrCreate(perThread[static_cast<size_t>(thread)], shape, 1,
                      workspaceBytes);
}

} // namespace gpt2rt::cpu
