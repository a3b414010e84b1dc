//===- GpuKernel.cpp - One kernel on a GPU, checked and timed -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/gpu/GpuKernel.h"

#include "runtime/CUDA/GraphProgram.h"
#include "runtime/Support/File.h"
#include "test/unit/CodegenCUDA/RowKernelChecks.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace gpt2rt;
using namespace gpt2rt::gputest;

namespace {

class TestLaunch : public cuda::Step {
public:
  TestLaunch(CUfunction function, const LaunchShape &shape,
             GpuKernel::Arguments pointers, int rows)
      : function(function), shape(shape), pointers(std::move(pointers)),
        rows(rows) {}

  bool isKernel() const override { return true; }

  Status enqueue(const cuda::Context &context, CUstream stream,
                 bool afterKernel) override {
    std::vector<void *> arguments;
    for (CUdeviceptr &pointer : pointers)
      arguments.push_back(&pointer);
    arguments.push_back(&rows);
    // Read by kernels that drop out only.
    arguments.push_back(&number);
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config = {};
    config.gridDimX = shape.grid[0];
    config.gridDimY = shape.grid[1];
    config.gridDimZ = shape.grid[2];
    config.blockDimX = shape.blockThreads;
    config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = shape.dynamicSharedBytes;
    config.hStream = stream;
    config.attrs = &attribute;
    config.numAttrs = afterKernel;
    GPT2_CU(context.driver(), cuLaunchKernelEx, &config, function,
            arguments.data(), nullptr);
    return Status();
  }

private:
  CUfunction function;
  LaunchShape shape;
  GpuKernel::Arguments pointers;
  int rows;
  int number = gpt2test::dropoutNumber;
};

} // namespace

void gputest::require(const Status &status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "kernel_tests: %s\n", status.message().c_str());
  std::exit(1);
}

void Bench::report(const std::string &what, bool passed,
                   const std::string &detail) {
  failures += !passed;
  std::printf("%-4s %-46s %s\n", passed ? "ok" : "FAIL", what.c_str(),
              detail.c_str());
  std::fflush(stdout);
}

DeviceArray::DeviceArray(Bench &bench, std::span<const std::byte> data)
    : bench(bench), bytes(data.size()),
      memory(require(cuda::DeviceMemory::allocate(bench.context, bytes))) {
  const cuda::Driver &driver = bench.context.driver();
  require(
      cuda::toStatus(driver,
                     driver.cuMemcpyHtoDAsync(memory.address(), data.data(),
                                              bytes, bench.context.stream()),
                     "cuMemcpyHtoDAsync"));
  require(bench.context.synchronize());
}

void DeviceArray::readBytes(void *to) const {
  const cuda::Driver &driver = bench.context.driver();
  require(cuda::toStatus(driver,
                         driver.cuMemcpyDtoHAsync(to, memory.address(), bytes,
                                                  bench.context.stream()),
                         "cuMemcpyDtoHAsync"));
  require(bench.context.synchronize());
}

GpuKernel::GpuKernel(Bench &bench, const KernelCase &kernelCase)
    : GpuKernel(bench, bench.cubins + "/" + kernelCase.name() + ".cubin",
                "kernel") {}

GpuKernel::GpuKernel(Bench &bench, const std::string &path,
                     const std::string &entry)
    : bench(bench) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)),
                   std::istreambuf_iterator<char>());
  if (text.empty())
    require(notFound(path, ": run kernel_cubins first"));
  const cuda::Driver &driver = bench.context.driver();
  require(cuda::toStatus(driver, driver.cuModuleLoadData(&module, text.data()),
                         "cuModuleLoadData"));
  require(cuda::toStatus(
      driver, driver.cuModuleGetFunction(&function, module, entry.c_str()),
      "cuModuleGetFunction"));
  // What TemplateGeometry.h asks for may be above the 48 KiB that need no
  // opting in.
  (void)driver.cuFuncSetAttribute(
      function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
      bench.context.maxSharedBytes() - (26 << 10));
}

GpuKernel::~GpuKernel() { (void)bench.context.driver().cuModuleUnload(module); }

void GpuKernel::run(const LaunchShape &shape, const Arguments &arguments,
                    int rows) {
  TestLaunch launch(function, shape, arguments, rows);
  require(launch.enqueue(bench.context, bench.context.stream(), false));
  require(bench.context.synchronize());
}

double GpuKernel::time(const LaunchShape &shape, int rows, int launches,
                       const std::function<Arguments(int)> &of) {
  cuda::Steps steps;
  for (int i = 0; i < launches; ++i)
    steps.push_back(std::make_unique<TestLaunch>(function, shape, of(i), rows));
  cuda::GraphProgram graph = require(cuda::GraphProgram::capture(
      bench.context, steps, std::vector<int>(steps.size(), -1), nullptr));
  // Ten replays a sample, so that the host's part is hidden.
  constexpr int replays = 10;
  std::vector<double> samples;
  for (int sample = 0; sample < 15; ++sample) {
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < replays; ++i)
      require(graph.launch());
    require(bench.context.synchronize());
    std::chrono::duration<double, std::micro> passed =
        std::chrono::steady_clock::now() - begin;
    samples.push_back(passed.count() / (replays * launches));
  }
  std::nth_element(samples.begin(), samples.begin() + 7, samples.end());
  return samples[7];
}

std::vector<std::byte> gputest::encode(DType dtype,
                                       const std::vector<float> &values) {
  std::vector<std::byte> bytes(values.size() * sizeOf(dtype));
  require(convertElements(DType::F32, values.data(), dtype, bytes.data(),
                          values.size()));
  return bytes;
}

std::vector<float> gputest::decode(DType dtype,
                                   const std::vector<std::byte> &bytes) {
  std::vector<float> values(bytes.size() / sizeOf(dtype));
  require(convertElements(dtype, bytes.data(), DType::F32, values.data(),
                          values.size()));
  return values;
}

std::vector<float> gputest::randomValues(DType dtype, size_t count,
                                         uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(engine);
  return decode(dtype, encode(dtype, values));
}

double gputest::tolerance(DType dtype, bool tf32) {
  if (dtype == DType::BF16)
    return 8e-3;
  return dtype == DType::F16 || tf32 ? 0x1p-10 : 2e-6;
}

mlir::gpt2c::cuda::AttentionShape gputest::shapeOf(const KernelCase &c) {
  return {static_cast<unsigned>(sizeOf(c.dtype)), c.heads, c.headSize,
          c.positions, c.tf32};
}

std::string gputest::percent(double error) {
  char text[32];
  std::snprintf(text, sizeof(text), "error %.1e", error);
  return text;
}

std::string gputest::microseconds(const char *what, double time) {
  char text[64];
  std::snprintf(text, sizeof(text), "  %s %.2f us", what, time);
  return text;
}
