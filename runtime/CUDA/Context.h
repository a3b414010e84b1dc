//===- Context.h - One GPU as an executor holds it --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/CUDA/Arch.h"
#include "runtime/CUDA/Driver.h"
#include "runtime/CUDA/PeakRate.h"

#include <memory>

namespace gpt2rt::cuda {

/// What decides on a device's peak rate; `name` must outlive the result.
Result<GpuSpeed> readSpeed(const Driver &driver, CUdevice device,
                           std::string_view name);

/// The device's primary context and the one stream that everything runs on.
class Context {
public:
  /// Unavailable where there is no such device. The driver must outlive it.
  static Result<std::unique_ptr<Context>> create(const Driver &driver,
                                                 int ordinal);
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  const Driver &driver() const { return table; }
  CUstream stream() const { return mainStream; }
  Arch arch() const { return deviceSpeed.arch; }
  const std::string &name() const { return deviceName; }
  const GpuSpeed &speed() const { return deviceSpeed; }
  /// Shared memory that one block can get, with opting in.
  int maxSharedBytes() const { return sharedBytes; }

  /// Makes the context current in the calling thread.
  Status enter() const;
  /// Waits for everything on the stream.
  Status synchronize() const;
  /// Bytes a second of its memory at the highest clock; 0 where the driver does
  /// not say.
  double memoryRate() const;
  /// Device memory that the driver took for the context itself, by what was in
  /// use before and after; nothing where that cannot be seen.
  std::optional<uint64_t> ownBytes() const { return contextBytes; }
  /// Bytes of device memory that are free now.
  Result<uint64_t> freeBytes() const;

private:
  explicit Context(const Driver &table) : table(table) {}
  Status open(int ordinal);
  std::optional<uint64_t> usedBytes() const;

  const Driver &table;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream mainStream = nullptr;
  std::string deviceName;
  GpuSpeed deviceSpeed;
  int sharedBytes = 0;
  std::optional<uint64_t> contextBytes;
};

/// Device memory that is freed with its owner.
class DeviceMemory {
public:
  /// No bytes have the address 0.
  static Result<DeviceMemory> allocate(const Context &context, uint64_t bytes);
  DeviceMemory(DeviceMemory &&other) noexcept;
  DeviceMemory &operator=(DeviceMemory &&other) noexcept;
  ~DeviceMemory();

  CUdeviceptr address() const { return pointer; }
  /// What the driver says that the allocation has.
  uint64_t bytes() const { return size; }

private:
  explicit DeviceMemory(const Driver &driver) : driver(&driver) {}

  const Driver *driver;
  CUdeviceptr pointer = 0;
  uint64_t size = 0;
};

/// Page-locked host memory: copies from and to it are asynchronous.
class PinnedMemory {
public:
  static Result<PinnedMemory> allocate(const Context &context, uint64_t bytes);
  PinnedMemory(PinnedMemory &&other) noexcept;
  PinnedMemory &operator=(PinnedMemory &&other) noexcept;
  ~PinnedMemory();

  std::byte *data() const { return bytes; }

private:
  explicit PinnedMemory(const Driver &driver) : driver(&driver) {}

  const Driver *driver;
  std::byte *bytes = nullptr;
};

} // namespace gpt2rt::cuda
