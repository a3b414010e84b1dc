//===- BothTargets.cpp - Kernels of one module on both targets ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "BothTargets.h"

#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace gpt2test;

BothTargets::BothTargets(const std::string &text) {
  KernelContext context;
  auto module = context.parse(text);
  auto code = context.compile(text, {{runnableArchs().back()}});
  if (!module || !code) {
    ADD_FAILURE() << context.diagnostics() << text;
    return;
  }
  std::string kernels;
  llvm::raw_string_ostream(kernels) << *module;
  cuda.emplace(kernels);
  EXPECT_EQ(cuda->error(), "");
  if (cuda->error().empty())
    cpu.emplace(code->modules[0].bytes);
}

void BothTargets::run(const std::string &kernel, Tensors inputs,
                      const Tensors &outputs, int64_t rows) {
  onCuda = onCpu = outputs;
  if (!cpu)
    return;
  std::vector<void *> addresses;
  std::vector<Buffer> buffers;
  for (Tensors *tensors : {&inputs, &onCpu})
    for (Tensor &tensor : *tensors) {
      addresses.push_back(tensor.bytes.data());
      Buffer &copy =
          buffers.emplace_back(tensor.rows * tensor.columns, tensor.type);
      std::memcpy(copy.bytes.data(), tensor.bytes.data(), copy.bytes.size());
    }
  std::vector<Buffer *> pointers;
  for (Buffer &buffer : buffers)
    pointers.push_back(&buffer);
  cuda->run(kernel, pointers, static_cast<int>(rows));
  cpu->call(kernel, addresses, 0, rows);
  for (size_t i = 0; i < onCuda.size(); ++i) {
    const Buffer &result = buffers[inputs.size() + i];
    std::memcpy(onCuda[i].bytes.data(), result.bytes.data(),
                result.bytes.size());
  }
}

static bool isSame(double a, double b) {
  return std::isnan(a) ? std::isnan(b)
                       : a == b && std::signbit(a) == std::signbit(b);
}

void BothTargets::expectEqualRounding(const std::string &what) const {
  int64_t elements = 0, different = 0;
  for (size_t k = 0; k < onCpu.size(); ++k)
    for (int64_t i = 0; i < onCpu[k].rows; ++i)
      for (int64_t j = 0; j < onCpu[k].columns; ++j) {
        double a = onCuda[k].at(i, j), b = onCpu[k].at(i, j);
        ++elements;
        if (isSame(a, b))
          continue;
        ++different;
        // Half precision has no more digits below 6e-5; where exp overflows,
        // the CPU's stays finite.
        double floor = onCpu[k].type == DType::F16 ? 0x1p-24 : 1e-25;
        ASSERT_TRUE(onCpu[k].type != DType::F32 &&
                    std::abs(a - b) <=
                        2 * onCpu[k].roundingError() * std::abs(b) + floor)
            << what << ", output " << k << " at " << i << ", " << j << ": " << a
            << " on CUDA, " << b << " on the CPU";
      }
  ASSERT_LE(different, elements / 50) << what;
}

void BothTargets::expectEqualBits(const std::string &what) const {
  for (size_t k = 0; k < onCpu.size(); ++k)
    for (int64_t i = 0; i < onCpu[k].rows; ++i)
      for (int64_t j = 0; j < onCpu[k].columns; ++j) {
        double a = onCuda[k].at(i, j), b = onCpu[k].at(i, j);
        ASSERT_TRUE(isSame(a, b))
            << what << ", output " << k << " at " << i << ", " << j << ": " << a
            << " on CUDA, " << b << " on the CPU";
      }
}
