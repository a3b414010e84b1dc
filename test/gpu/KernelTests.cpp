//===- KernelTests.cpp - Template kernels on a real GPU -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// kernel_tests FOLDER [FILTER]: checks every case of KernelCases.h whose name
// holds FILTER against fp64 or the host's sampling, and times those of GPT-2's
// sizes; "matmul" are the products of cuBLASLt. FOLDER is what kernel_cubins
// wrote. Needs a driver and nothing else.
//
//===----------------------------------------------------------------------===//
#include "test/gpu/GpuKernel.h"
#include "test/gpu/MatmulChecks.h"

#include <cstdio>

using namespace gpt2rt;
using namespace gpt2rt::gputest;

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: kernel_tests FOLDER [FILTER]\n");
    return 2;
  }
  std::string filter = argc == 3 ? argv[2] : "";
  const cuda::Driver *driver = require(cuda::loadDriver());
  std::unique_ptr<cuda::Context> context =
      require(cuda::Context::create(*driver, 0));
  Bench bench = {*context, argv[1]};
  int cases = 0;
  for (const KernelCase &c : allKernelCases()) {
    // The kernels of a backward pass run behind their forward pass.
    if (c.name().find(filter) == std::string::npos ||
        (c.isTraining() && c.kind != "flash_forward"))
      continue;
    ++cases;
    if (c.kind == "decode_attention")
      checkDecodeAttention(bench, c);
    else if (c.kind == "flash_attention")
      checkFlashAttention(bench, c);
    else if (c.isTraining())
      checkTraining(bench, c);
    else if (c.kind == "cache_append")
      checkCacheAppend(bench, c);
    else
      checkSample(bench, c);
  }
  if (std::string("matmul").find(filter) != std::string::npos) {
    ++cases;
    checkMatmuls(bench);
  }
  std::printf("%s: %d cases, %d failures\n", context->name().c_str(), cases,
              bench.failures);
  return cases == 0 || bench.failures ? 1 : 0;
}
