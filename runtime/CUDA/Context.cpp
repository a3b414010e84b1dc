//===- Context.cpp - One GPU as an executor holds it ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/Context.h"

#include <utility>

using namespace gpt2rt;
using namespace gpt2rt::cuda;

Result<GpuSpeed> cuda::readSpeed(const Driver &driver, CUdevice device,
                                 std::string_view name) {
  GpuSpeed speed;
  speed.name = name;
  int kilohertz = 0;
  struct {
    int *value;
    CUdevice_attribute attribute;
  } wanted[] = {
      {&speed.arch.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {&speed.arch.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {&speed.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
      {&kilohertz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE}};
  for (auto [value, attribute] : wanted)
    GPT2_CU(driver, cuDeviceGetAttribute, value, attribute, device);
  speed.clock = 1e3 * kilohertz;
  return speed;
}

Result<std::unique_ptr<Context>> Context::create(const Driver &driver,
                                                 int ordinal) {
  std::unique_ptr<Context> context(new Context(driver));
  GPT2_RETURN_IF_ERROR(context->open(ordinal));
  return context;
}

Status Context::open(int ordinal) {
  int count = 0;
  GPT2_CU(table, cuDeviceGetCount, &count);
  if (ordinal < 0 || ordinal >= count)
    return unavailable("there is no CUDA device ", ordinal,
                       ": this machine has ", count);
  GPT2_CU(table, cuDeviceGet, &device, ordinal);
  char text[256] = {};
  GPT2_CU(table, cuDeviceGetName, text, sizeof(text) - 1, device);
  deviceName = text;
  GPT2_ASSIGN_OR_RETURN(deviceSpeed, readSpeed(table, device, deviceName));
  GPT2_CU(table, cuDeviceGetAttribute, &sharedBytes,
          CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
  // The host waits for one token at a time: spinning answers microseconds
  // sooner than sleeping. Another user of the context may have set its own
  // flags already, which is no error.
  (void)table.cuDevicePrimaryCtxSetFlags(device, CU_CTX_SCHED_SPIN);
  std::optional<uint64_t> before = usedBytes();
  GPT2_CU(table, cuDevicePrimaryCtxRetain, &context, device);
  GPT2_RETURN_IF_ERROR(enter());
  GPT2_CU(table, cuStreamCreate, &mainStream, CU_STREAM_NON_BLOCKING);
  // Another process may have given back more meanwhile.
  if (std::optional<uint64_t> after = usedBytes();
      before && after && *after > *before)
    contextBytes = *after - *before;
  return Status();
}

std::optional<uint64_t> Context::usedBytes() const {
  char address[32] = {};
  if (!table.usedBytes || table.cuDeviceGetPCIBusId(address, sizeof(address),
                                                    device) != CUDA_SUCCESS)
    return std::nullopt;
  return table.usedBytes(address);
}

Context::~Context() {
  if (!context)
    return;
  (void)table.cuCtxSetCurrent(context);
  if (mainStream)
    (void)table.cuStreamDestroy(mainStream);
  (void)table.cuDevicePrimaryCtxRelease(device);
}

Status Context::enter() const {
  GPT2_CU(table, cuCtxSetCurrent, context);
  return Status();
}

Status Context::synchronize() const {
  GPT2_CU(table, cuStreamSynchronize, mainStream);
  return Status();
}

double Context::memoryRate() const {
  int kilohertz = 0, bits = 0;
  if (table.cuDeviceGetAttribute(&kilohertz,
                                 CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
                                 device) != CUDA_SUCCESS ||
      table.cuDeviceGetAttribute(&bits,
                                 CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH,
                                 device) != CUDA_SUCCESS)
    return 0;
  // A wire moves two bits a clock.
  return kilohertz * 1e3 * 2 * bits / 8;
}

Result<uint64_t> Context::freeBytes() const {
  size_t free = 0, total = 0;
  GPT2_CU(table, cuMemGetInfo, &free, &total);
  return static_cast<uint64_t>(free);
}

Result<DeviceMemory> DeviceMemory::allocate(const Context &context,
                                            uint64_t bytes) {
  DeviceMemory memory(context.driver());
  if (bytes == 0) // the driver refuses empty allocations
    return memory;
  GPT2_CU(context.driver(), cuMemAlloc, &memory.pointer, bytes);
  CUdeviceptr base = 0;
  size_t size = 0;
  GPT2_CU(context.driver(), cuMemGetAddressRange, &base, &size, memory.pointer);
  memory.size = size;
  return memory;
}

DeviceMemory::DeviceMemory(DeviceMemory &&other) noexcept
    : driver(other.driver), pointer(std::exchange(other.pointer, 0)),
      size(std::exchange(other.size, 0)) {}

DeviceMemory &DeviceMemory::operator=(DeviceMemory &&other) noexcept {
  std::swap(driver, other.driver);
  std::swap(pointer, other.pointer);
  std::swap(size, other.size);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (pointer)
    (void)driver->cuMemFree(pointer);
}

Result<PinnedMemory> PinnedMemory::allocate(const Context &context,
                                            uint64_t bytes) {
  PinnedMemory memory(context.driver());
  void *data = nullptr;
  GPT2_CU(context.driver(), cuMemAllocHost, &data, bytes);
  memory.bytes = static_cast<std::byte *>(data);
  return memory;
}

PinnedMemory::PinnedMemory(PinnedMemory &&other) noexcept
    : driver(other.driver), bytes(std::exchange(other.bytes, nullptr)) {}

PinnedMemory &PinnedMemory::operator=(PinnedMemory &&other) noexcept {
  std::swap(driver, other.driver);
  std::swap(bytes, other.bytes);
  return *this;
}

PinnedMemory::~PinnedMemory() {
  if (bytes)
    (void)driver->cuMemFreeHost(bytes);
}
