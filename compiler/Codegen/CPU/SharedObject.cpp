//===- SharedObject.cpp - Link an object in process -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/SharedObject.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;

static Error fileError(StringRef what, std::error_code code) {
  return createStringError(
      code,
      "cannot " + what + " a temporary file for linking: " + code.message());
}

/// lld takes its input and gives its output as files.
static Expected<SmallString<128>> createTemporary(StringRef suffix,
                                                  ArrayRef<char> content) {
  SmallString<128> path;
  int descriptor = -1;
  if (std::error_code code = sys::fs::createTemporaryFile(
          "gpt2c-kernels", suffix, descriptor, path))
    return fileError("create", code);
  raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream.write(content.data(), content.size());
  stream.close();
  if (stream.has_error()) {
    std::error_code code = stream.error();
    stream.clear_error();
    sys::fs::remove(path);
    return fileError("write", code);
  }
  return path;
}

/// lld keeps its state in globals and may not run again after a crash.
static Error runLinker(StringRef input, StringRef output) {
  static std::mutex mutex;
  static bool usable = true;
  std::lock_guard<std::mutex> lock(mutex);
  if (!usable)
    return createStringError("lld failed before and cannot run again");
  std::string in(input), out(output);
  // No path, date or build id goes into the output.
  const char *arguments[] = {"ld.lld",
                             "-shared",
                             "--no-undefined",
                             "--strip-all",
                             "--build-id=none",
                             "--hash-style=gnu",
                             "--threads=1",
                             "-z",
                             "noexecstack",
                             "-z",
                             "now",
                             "-soname",
                             "gpt2-kernels.so",
                             in.c_str(),
                             "-o",
                             out.c_str()};
  std::string messages;
  raw_string_ostream stream(messages);
  lld::Result result =
      lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  if (result.retCode == 0)
    return Error::success();
  return createStringError("lld failed: " + StringRef(messages).rtrim());
}

Expected<std::string> mlir::gpt2c::linkSharedObject(ArrayRef<char> object) {
  Expected<SmallString<128>> input = createTemporary("o", object);
  if (!input)
    return input.takeError();
  FileRemover removeInput(*input);
  Expected<SmallString<128>> output = createTemporary("so", {});
  if (!output)
    return output.takeError();
  FileRemover removeOutput(*output);
  if (Error error = runLinker(*input, *output))
    return error;
  ErrorOr<std::unique_ptr<MemoryBuffer>> linked = MemoryBuffer::getFile(
      *output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!linked)
    return fileError("read", linked.getError());
  return (*linked)->getBuffer().str();
}
