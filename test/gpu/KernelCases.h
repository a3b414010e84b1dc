//===- KernelCases.h - Template instances that GPU tests run ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by kernel_cubins, which compiles them where the compiler is, and
// kernel_tests, which runs them where a GPU is.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/DType.h"
#include "runtime/Support/StrCat.h"

#include <string>
#include <vector>

namespace gpt2rt::gputest {

inline constexpr const char *testArch = "sm_90a";

struct KernelCase {
  std::string kind;
  DType dtype = DType::F16;
  int64_t heads = 12, headSize = 64, positions = 1024;
  bool cached = false;
  int64_t vocab = 0, paddedVocab = 0;
  bool prefill = false;
  /// decode_attention: merge through the workspace where clusters could.
  bool noClusters = false;
  /// Multiplied in tf32; dtype is F32.
  bool tf32 = false;
  float dropout = 0;

  std::string name() const {
    if (kind == "sample")
      return strCat(kind, "_", vocab, prefill ? "_prefill" : "");
    return strCat(kind, "_", tf32 ? "tf32" : gpt2rt::name(dtype), "_h", heads,
                  "_d", headSize, "_p", positions, cached ? "_cached" : "",
                  noClusters ? "_noclusters" : "", dropout != 0 ? "_drop" : "");
  }
  float scale() const;
  bool isTraining() const {
    return kind == "flash_forward" || kind.starts_with("flash_backward");
  }
};

/// 1/sqrt(head size), rounded as the compiler's attribute is.
inline float KernelCase::scale() const {
  return static_cast<float>(1.0 /
                            __builtin_sqrt(static_cast<double>(headSize)));
}

inline std::vector<KernelCase> attentionCases(const std::string &kind,
                                              int64_t positions, bool cached) {
  std::vector<KernelCase> cases;
  for (DType dtype : {DType::F16, DType::BF16, DType::F32}) {
    cases.push_back({kind, dtype, 12, 64, 1024, cached});
    for (int64_t headSize : {32, 80, 96, 128})
      cases.push_back({kind, dtype, 3, headSize, positions, cached});
  }
  // Heads that no vector load of 16 bytes divides.
  for (int64_t headSize : {20, 25, 34})
    cases.push_back({kind, DType::F16, 3, headSize, positions, cached});
  cases.push_back({kind, DType::F32, 3, 25, positions, cached});
  // GPT-2 XL.
  cases.push_back({kind, DType::F16, 25, 64, 1024, cached});
  return cases;
}

/// The same in tf32, for kernels that multiply on tensor cores.
inline std::vector<KernelCase> tf32Cases(int64_t positions, bool cached) {
  std::vector<KernelCase> cases;
  for (int64_t headSize : {64, 25, 80, 128}) {
    cases.push_back({"flash_attention", DType::F32, headSize == 64 ? 12 : 3,
                     headSize, headSize == 64 ? 1024 : positions, cached});
    cases.back().tf32 = true;
  }
  return cases;
}

/// Attention of training; each is three kernels of the same config.
inline std::vector<KernelCase> trainingCases() {
  std::vector<KernelCase> cases;
  auto add = [&](DType dtype, int64_t headSize, float dropout) {
    for (const char *kind :
         {"flash_forward", "flash_backward_query", "flash_backward_key"}) {
      cases.push_back({kind, dtype, 4, headSize, 1024});
      cases.back().tf32 = dtype == DType::F32;
      cases.back().dropout = dropout;
    }
  };
  for (float dropout : {0.0f, 0.1f}) {
    add(DType::F32, 64, dropout);
    add(DType::BF16, 64, dropout);
  }
  for (int64_t headSize : {25, 80, 128})
    add(DType::F32, headSize, 0);
  return cases;
}

inline std::vector<KernelCase> allKernelCases() {
  std::vector<KernelCase> all;
  auto add = [&](std::vector<KernelCase> cases) {
    all.insert(all.end(), cases.begin(), cases.end());
  };
  add(attentionCases("decode_attention", 1000, false));
  for (KernelCase c : attentionCases("decode_attention", 1000, false))
    if (c.headSize == 64) {
      c.noClusters = true;
      all.push_back(c);
    }
  add(attentionCases("flash_attention", 1000, true));
  add(attentionCases("flash_attention", 333, false));
  add(tf32Cases(1000, true));
  add(tf32Cases(333, false));
  add(trainingCases());
  add({{"cache_append", DType::F16, 12, 64, 1024},
       {"cache_append", DType::BF16, 3, 80, 1000},
       {"cache_append", DType::F32, 3, 25, 1000}});
  for (bool prefill : {false, true})
    for (int64_t vocab : {50257, 1000}) {
      KernelCase sample = {"sample"};
      sample.positions = 1024;
      sample.vocab = vocab;
      sample.paddedVocab = (vocab + 127) / 128 * 128;
      sample.prefill = prefill;
      all.push_back(sample);
    }
  return all;
}

} // namespace gpt2rt::gputest
