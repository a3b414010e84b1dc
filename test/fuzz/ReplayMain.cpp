//===- ReplayMain.cpp - Runs a fuzzer's saved inputs ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Stands in for libFuzzer in builds without it: every input that once found a
// bug, and every seed, runs in the ordinary test suite too.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/FuzzSupport.h"

#include "runtime/Support/File.h"

#include <cstdio>
#include <filesystem>

using namespace gpt2rt;

static bool replay(const std::string &path) {
  Result<std::string> input = readTextFile(path);
  if (!input.ok()) {
    std::fprintf(stderr, "error: %s\n", input.status().message().c_str());
    return false;
  }
  // A block of its own, so that a sanitizer sees reads past its end.
  std::vector<uint8_t> bytes(input->begin(), input->end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  // Cut short, as a download that failed.
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size() / 2);
  return true;
}

int main(int argc, char **argv) {
  size_t count = 0;
  for (int i = 1; i < argc; ++i)
    for (auto &entry : std::filesystem::directory_iterator(argv[i])) {
      if (!replay(entry.path()))
        return 1;
      ++count;
    }
  std::printf("%zu inputs\n", count);
  return count ? 0 : 1;
}
