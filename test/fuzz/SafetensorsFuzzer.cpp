//===- SafetensorsFuzzer.cpp - Weight files from anywhere -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "test/fuzz/FuzzSupport.h"

#include "runtime/Formats/Safetensors.h"

using namespace gpt2rt;

/// What a successful parse promises: every byte of every tensor is there.
static void checkFile(std::span<const std::byte> file) {
  Result<SafetensorsFile> parsed = SafetensorsFile::parse(file, "fuzz");
  if (!parsed.ok())
    return fuzz::checkMessage(parsed.status());
  unsigned sum = 0;
  for (auto &[tensorName, view] : parsed->tensors()) {
    uint64_t elements = 1;
    for (uint64_t dim : view.shape)
      elements *= dim;
    fuzz::require(view.bytes == elements * sizeOf(view.dtype));
    for (size_t i = 0; i < view.bytes; ++i)
      sum += static_cast<unsigned>(view.data[i]);
  }
  fuzz::keep(sum);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  checkFile(std::as_bytes(std::span(data, size)));

  // Random bytes hardly ever hold their own length: also take the input as a
  // header, with some tensor bytes after it. A copy of the exact size lets the
  // sanitizer see any read past the end.
  constexpr size_t dataBytes = 16;
  std::vector<std::byte> file(8 + size + dataBytes);
  uint64_t length = size;
  std::memcpy(file.data(), &length, 8);
  if (size)
    std::memcpy(file.data() + 8, data, size);
  checkFile(file);
  return 0;
}
