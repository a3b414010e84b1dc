//===- Driver.h - The CUDA driver, loaded with dlopen -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A table of libcuda's functions, so that this program starts on machines
// without a GPU. Only runtime/CUDA includes this: it needs the toolkit's cuda.h
// (types and names, no library).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Support/Status.h"

#include <cuda.h>

#include <optional>

namespace gpt2rt::cuda {

// cuda.h maps some of these to a versioned symbol (cuMemAlloc is
// cuMemAlloc_v2); members and lookups follow it, since the mapping is a macro.
#define GPT2_CUDA_DRIVER_FUNCTIONS(X)                                          \
  X(cuInit)                                                                    \
  X(cuDriverGetVersion)                                                        \
  X(cuGetErrorName)                                                            \
  X(cuGetErrorString)                                                          \
  X(cuDeviceGetCount)                                                          \
  X(cuDeviceGet)                                                               \
  X(cuDeviceGetName)                                                           \
  X(cuDeviceTotalMem)                                                          \
  X(cuDeviceGetAttribute)                                                      \
  X(cuDeviceGetPCIBusId)                                                       \
  X(cuDevicePrimaryCtxRetain)                                                  \
  X(cuDevicePrimaryCtxRelease)                                                 \
  X(cuDevicePrimaryCtxSetFlags)                                                \
  X(cuCtxSetCurrent)                                                           \
  X(cuMemGetInfo)                                                              \
  X(cuMemAlloc)                                                                \
  X(cuMemFree)                                                                 \
  X(cuMemGetAddressRange)                                                      \
  X(cuMemAllocHost)                                                            \
  X(cuMemFreeHost)                                                             \
  X(cuMemcpyHtoDAsync)                                                         \
  X(cuMemcpyDtoHAsync)                                                         \
  X(cuMemcpyDtoDAsync)                                                         \
  X(cuMemsetD8Async)                                                           \
  X(cuMemsetD16Async)                                                          \
  X(cuMemsetD32Async)                                                          \
  X(cuStreamCreate)                                                            \
  X(cuStreamDestroy)                                                           \
  X(cuStreamSynchronize)                                                       \
  X(cuStreamWaitEvent)                                                         \
  X(cuStreamBeginCapture)                                                      \
  X(cuStreamEndCapture)                                                        \
  X(cuEventCreate)                                                             \
  X(cuEventDestroy)                                                            \
  X(cuEventRecord)                                                             \
  X(cuEventSynchronize)                                                        \
  X(cuModuleLoadData)                                                          \
  X(cuModuleUnload)                                                            \
  X(cuModuleGetFunction)                                                       \
  X(cuFuncSetAttribute)                                                        \
  X(cuLaunchKernelEx)                                                          \
  X(cuLaunchHostFunc)                                                          \
  X(cuGraphInstantiate)                                                        \
  X(cuGraphUpload)                                                             \
  X(cuGraphLaunch)                                                             \
  X(cuGraphDestroy)                                                            \
  X(cuGraphExecDestroy)

struct Driver {
#define GPT2_CUDA_MEMBER(NAME) decltype(&::NAME) NAME = nullptr;
  GPT2_CUDA_DRIVER_FUNCTIONS(GPT2_CUDA_MEMBER)
#undef GPT2_CUDA_MEMBER
  // Renamed to _v2 by CUDA 13 headers with the same signature; older drivers
  // have only this symbol.
  CUresult (*eventElapsedTime)(float *milliseconds, CUevent start,
                               CUevent end) = nullptr;
  /// Bytes in use on the device with this PCI address, by all processes; needs
  /// no context. Nothing where the management library is missing.
  std::optional<uint64_t> (*usedBytes)(const char *address) = nullptr;
  int version = 0; ///< Newest CUDA that it supports: 12040 is 12.4.
};

/// Finds one symbol of libcuda, or null.
using SymbolResolver = void *(*)(const char *symbol);

/// Fills a table. Fails with Unavailable where a symbol is missing.
Result<Driver> makeDriver(SymbolResolver resolve);

/// The process's driver, loaded and initialised once. Unavailable where there
/// is no libcuda or it finds no GPU.
Result<const Driver *> loadDriver();

/// "cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
Status toStatus(const Driver &driver, CUresult result, const char *call);

/// Calls a function of the table; returns its error from the enclosing one.
#define GPT2_CU(DRIVER, FUNCTION, ...)                                         \
  GPT2_RETURN_IF_ERROR(::gpt2rt::cuda::toStatus(                               \
      (DRIVER), (DRIVER).FUNCTION(__VA_ARGS__), #FUNCTION))

} // namespace gpt2rt::cuda
