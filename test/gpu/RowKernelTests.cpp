//===- RowKernelTests.cpp - Row and matvec kernels on a real GPU ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// row_kernel_tests FOLDER ARCH: the checks of RowKernelChecks.h on the first
// GPU. FOLDER holds, for every file of test/Codegen/CUDA, a folder FILE that
// `plan-to-cuda FILE --arch=... --out=FOLDER/FILE` wrote: cubins and the
// geometry of every kernel. Needs a driver and nothing else.
//
//===----------------------------------------------------------------------===//
#include "test/gpu/GpuKernel.h"
#include "test/gpu/KernelShapes.h"
#include "test/unit/CodegenCUDA/RowKernelChecks.h"

#include <cstdio>
#include <map>

using namespace gpt2rt;
using namespace gpt2rt::gputest;
using gpt2test::Buffer;

namespace {

class GpuRunner : public gpt2test::KernelRunner {
public:
  GpuRunner(Bench &bench, std::string folder, std::string arch)
      : bench(bench), folder(std::move(folder)), arch(std::move(arch)),
        shapes(this->folder) {}

  void run(const std::string &kernel, std::vector<Buffer *> buffers,
           int rows) override {
    const LaunchShape &shape = shapes.at(kernel, rows);
    std::map<Buffer *, DeviceArray> arrays;
    GpuKernel::Arguments arguments;
    for (Buffer *buffer : buffers)
      arguments.push_back(
          arrays
              .try_emplace(buffer, bench,
                           std::span<const std::byte>(buffer->bytes))
              .first->second.address());
    GpuKernel(bench, folder + "/" + kernel + "." + arch + ".cubin", kernel)
        .run(shape, arguments, rows);
    for (auto &[buffer, array] : arrays)
      buffer->bytes = array.read<std::byte>();
  }

private:
  Bench &bench;
  std::string folder, arch;
  KernelShapes shapes;
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: row_kernel_tests FOLDER ARCH\n");
    return 2;
  }
  const cuda::Driver *driver = require(cuda::loadDriver());
  std::unique_ptr<cuda::Context> context =
      require(cuda::Context::create(*driver, 0));
  Bench bench = {*context, argv[1]};
  for (const gpt2test::RowKernelCheck &check : gpt2test::allRowKernelChecks()) {
    GpuRunner runner(bench, std::string(argv[1]) + "/" + check.file, argv[2]);
    std::string wrong = check.run(runner);
    bench.report(check.name, wrong.empty(), wrong);
  }
  return bench.failures ? 1 : 0;
}
