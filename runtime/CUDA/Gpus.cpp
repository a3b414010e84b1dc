//===- Gpus.cpp - What GPUs this machine has ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Gpus.h"

#include "runtime/CUDA/BlasLt.h"
#include "runtime/CUDA/Context.h"

using namespace gpt2rt;
using namespace gpt2rt::cuda;

static Result<GpuInfo> describeGpu(const Driver &driver, int ordinal) {
  CUdevice device = 0;
  GPT2_CU(driver, cuDeviceGet, &device, ordinal);
  char text[256] = {};
  GPT2_CU(driver, cuDeviceGetName, text, sizeof(text) - 1, device);
  GPT2_ASSIGN_OR_RETURN(GpuSpeed speed, readSpeed(driver, device, text));
  size_t bytes = 0;
  GPT2_CU(driver, cuDeviceTotalMem, &bytes, device);
  GpuInfo info = {text, speed.arch.text(), bytes};
  info.peakLow = peakFlops(speed, fb::Precision::BF16);
  info.peakTf32 = peakFlops(speed, fb::Precision::TF32);
  info.peakFull = peakFlops(speed, fb::Precision::FP32);
  return info;
}

Result<GpuReport> gpt2rt::findGpus() {
  GPT2_ASSIGN_OR_RETURN(const Driver *driver, loadDriver());
  GpuReport report;
  report.driver =
      strCat(driver->version / 1000, ".", driver->version % 1000 / 10);
  int count = 0;
  GPT2_CU(*driver, cuDeviceGetCount, &count);
  for (int i = 0; i < count; ++i) {
    GPT2_ASSIGN_OR_RETURN(GpuInfo info, describeGpu(*driver, i));
    report.gpus.push_back(std::move(info));
  }
  report.cublas = missingCublasLt();
  return report;
}
