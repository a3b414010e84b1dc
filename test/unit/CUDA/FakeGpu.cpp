//===- FakeGpu.cpp - A CUDA driver that runs on host memory ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/unit/CUDA/FakeGpu.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

using namespace gpt2rt;
using namespace gpt2rt::test;

namespace {

FakeGpu *gpu = nullptr;
std::mutex mutex; // uploads come from several threads

using Graph = std::vector<std::function<void()>>;

void *pointer(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

template <typename Handle>
CUresult make(Handle *handle, int &count) {
  std::lock_guard<std::mutex> lock(mutex);
  *handle = reinterpret_cast<Handle>(++count + 1000);
  return CUDA_SUCCESS;
}
CUresult drop(int &count) {
  std::lock_guard<std::mutex> lock(mutex);
  --count;
  return CUDA_SUCCESS;
}

CUresult attribute(int *value, CUdevice_attribute which, CUdevice) {
  switch (which) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = gpu->major;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = gpu->minor;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 100;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    *value = 1500000;
    return CUDA_SUCCESS;
  default:
    *value = 227 << 10;
    return CUDA_SUCCESS;
  }
}

CUresult allocate(CUdeviceptr *address, size_t bytes) {
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0xff, bytes); // nothing may rely on zeros
  gpu->allocations.push_back(bytes);
  gpu->device[memory] = bytes;
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr address) {
  if (!gpu->device.erase(pointer(address)))
    return CUDA_ERROR_INVALID_VALUE;
  std::free(pointer(address));
  return CUDA_SUCCESS;
}

CUresult addressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr address) {
  auto found = gpu->device.find(pointer(address));
  if (found == gpu->device.end())
    return CUDA_ERROR_INVALID_VALUE;
  *base = address;
  *bytes = found->second;
  return CUDA_SUCCESS;
}

CUresult copyToHost(void *to, CUdeviceptr from, size_t bytes, CUstream) {
  if (!gpu->capturing)
    ++gpu->copiesToHost;
  gpu->enqueue([=] { std::memcpy(to, pointer(from), bytes); });
  return CUDA_SUCCESS;
}

template <typename T>
CUresult fill(CUdeviceptr to, T value, size_t count, CUstream) {
  gpu->enqueue([=] {
    for (size_t i = 0; i < count; ++i)
      std::memcpy(static_cast<char *>(pointer(to)) + i * sizeof(T), &value,
                  sizeof(T));
  });
  return CUDA_SUCCESS;
}

CUresult launch(const CUlaunchConfig *config, CUfunction function,
                void **arguments, void **) {
  std::string name = reinterpret_cast<const char *>(function);
  gpu->launches.push_back(
      {name,
       {config->gridDimX, config->gridDimY, config->gridDimZ},
       config->blockDimX,
       config->numAttrs > 0,
       config->hStream});
  if (gpu->onLaunch)
    gpu->enqueue(gpu->onLaunch(name, arguments));
  return CUDA_SUCCESS;
}

// A gate that waits for the host would never open here: the host is busy.
CUresult hostFunction(CUstream, CUhostFn, void *) { return CUDA_SUCCESS; }

CUresult beginCapture(CUstream, CUstreamCaptureMode) {
  gpu->capturing = true;
  gpu->recording.clear();
  return CUDA_SUCCESS;
}

CUresult endCapture(CUstream, CUgraph *graph) {
  gpu->capturing = false;
  *graph = reinterpret_cast<CUgraph>(new Graph(gpu->recording));
  ++gpu->graphs;
  return CUDA_SUCCESS;
}

CUresult instantiate(CUgraphExec *executable, CUgraph graph,
                     unsigned long long) {
  *executable = reinterpret_cast<CUgraphExec>(
      new Graph(*reinterpret_cast<Graph *>(graph)));
  ++gpu->graphs;
  return CUDA_SUCCESS;
}

CUresult launchGraph(CUgraphExec executable, CUstream) {
  ++gpu->graphLaunches;
  for (auto &work : *reinterpret_cast<Graph *>(executable))
    work();
  return CUDA_SUCCESS;
}

template <typename Handle>
CUresult destroyGraph(Handle graph) {
  delete reinterpret_cast<Graph *>(graph);
  --gpu->graphs;
  return CUDA_SUCCESS;
}

CUresult errorText(CUresult, const char **text) {
  *text = "fake error";
  return CUDA_SUCCESS;
}

void bindMemory(cuda::Driver &d) {
  d.cuMemGetInfo = [](size_t *free, size_t *total) {
    *free = gpu->freeBytes;
    for (auto [memory, bytes] : gpu->device)
      *free -= bytes;
    *total = gpu->freeBytes;
    return CUDA_SUCCESS;
  };
  d.cuMemAlloc = allocate;
  d.cuMemFree = release;
  d.cuMemGetAddressRange = addressRange;
  d.cuMemAllocHost = [](void **memory, size_t bytes) {
    *memory = std::malloc(bytes);
    ++gpu->pinned;
    return CUDA_SUCCESS;
  };
  d.cuMemFreeHost = [](void *memory) {
    std::free(memory);
    return drop(gpu->pinned);
  };
  d.cuMemcpyHtoDAsync = [](CUdeviceptr to, const void *from, size_t bytes,
                           CUstream) {
    std::memcpy(pointer(to), from, bytes);
    return CUDA_SUCCESS;
  };
  d.cuMemcpyDtoHAsync = copyToHost;
  d.cuMemcpyDtoDAsync = [](CUdeviceptr to, CUdeviceptr from, size_t bytes,
                           CUstream) {
    gpu->enqueue([=] { std::memcpy(pointer(to), pointer(from), bytes); });
    return CUDA_SUCCESS;
  };
  d.cuMemsetD8Async = fill<unsigned char>;
  d.cuMemsetD16Async = fill<unsigned short>;
  d.cuMemsetD32Async = fill<unsigned>;
}

void bindWork(cuda::Driver &d) {
  d.cuStreamCreate = [](CUstream *s, unsigned) {
    return make(s, gpu->streams);
  };
  d.cuStreamDestroy = [](CUstream) { return drop(gpu->streams); };
  d.cuStreamSynchronize = [](CUstream) {
    ++gpu->synchronizations;
    return CUDA_SUCCESS;
  };
  d.cuStreamWaitEvent = [](CUstream, CUevent, unsigned) {
    return CUDA_SUCCESS;
  };
  d.cuStreamBeginCapture = beginCapture;
  d.cuStreamEndCapture = endCapture;
  d.cuEventCreate = [](CUevent *e, unsigned) { return make(e, gpu->events); };
  d.cuEventDestroy = [](CUevent) { return drop(gpu->events); };
  d.cuEventRecord = [](CUevent event, CUstream) {
    std::lock_guard<std::mutex> lock(mutex);
    gpu->times[event] = gpu->clock += gpu->tick;
    return CUDA_SUCCESS;
  };
  d.cuEventSynchronize = [](CUevent) { return CUDA_SUCCESS; };
  d.eventElapsedTime = [](float *ms, CUevent begin, CUevent end) {
    *ms = static_cast<float>(gpu->times[end] - gpu->times[begin]);
    return CUDA_SUCCESS;
  };
  d.cuModuleLoadData = [](CUmodule *m, const void *) {
    return make(m, gpu->modules);
  };
  d.cuModuleUnload = [](CUmodule) { return drop(gpu->modules); };
  d.cuModuleGetFunction = [](CUfunction *f, CUmodule, const char *name) {
    // Plans outlive executors, so their names serve as handles.
    *f = reinterpret_cast<CUfunction>(const_cast<char *>(name));
    return CUDA_SUCCESS;
  };
  d.cuFuncSetAttribute = [](CUfunction, CUfunction_attribute, int) {
    return CUDA_SUCCESS;
  };
  d.cuLaunchKernelEx = launch;
  d.cuLaunchHostFunc = hostFunction;
  d.cuGraphInstantiate = instantiate;
  d.cuGraphUpload = [](CUgraphExec, CUstream) { return CUDA_SUCCESS; };
  d.cuGraphLaunch = launchGraph;
  d.cuGraphDestroy = destroyGraph<CUgraph>;
  d.cuGraphExecDestroy = destroyGraph<CUgraphExec>;
}

} // namespace

FakeGpu::FakeGpu() { gpu = this; }
FakeGpu::~FakeGpu() { gpu = nullptr; }

void FakeGpu::enqueue(std::function<void()> work) {
  if (capturing)
    recording.push_back(std::move(work));
  else
    work();
}

cuda::Driver FakeGpu::driver() {
  cuda::Driver d;
  d.version = 13000;
  d.cuGetErrorName = errorText;
  d.cuGetErrorString = errorText;
  d.cuDeviceGetCount = [](int *count) {
    *count = 1;
    return CUDA_SUCCESS;
  };
  d.cuDeviceGet = [](CUdevice *device, int) {
    *device = 0;
    return CUDA_SUCCESS;
  };
  d.cuDeviceGetName = [](char *text, int length, CUdevice) {
    std::strncpy(text, gpu->name.c_str(), length);
    return CUDA_SUCCESS;
  };
  d.cuDeviceGetAttribute = attribute;
  d.cuDeviceGetPCIBusId = [](char *text, int length, CUdevice) {
    std::strncpy(text, "0000:17:00.0", length);
    return CUDA_SUCCESS;
  };
  d.usedBytes = [](const char *address) -> std::optional<uint64_t> {
    if (!gpu->contextBytes || std::strcmp(address, "0000:17:00.0"))
      return std::nullopt;
    return 1000 + gpu->contexts * *gpu->contextBytes;
  };
  d.cuDevicePrimaryCtxSetFlags = [](CUdevice, unsigned) {
    return CUDA_SUCCESS;
  };
  d.cuDevicePrimaryCtxRetain = [](CUcontext *context, CUdevice) {
    return make(context, gpu->contexts);
  };
  d.cuDevicePrimaryCtxRelease = [](CUdevice) { return drop(gpu->contexts); };
  d.cuCtxSetCurrent = [](CUcontext) { return CUDA_SUCCESS; };
  bindMemory(d);
  bindWork(d);
  return d;
}
